"""How fast, and in how much memory, posts go through the formats; pandas does the same beside us.

JSONL → Parquet → CSV → Parquet → JSONL, each step in a process of its own, whose
time and peak memory the system measures. Then the last file is compared with
the first, row by row, value by value and type by type.

    python -m benchmarks.files [--rows 1000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEPS = (("a.jsonl", "b.parquet"), ("b.parquet", "c.csv"), ("c.csv", "d.parquet"), ("d.parquet", "e.jsonl"))
GOAL_SPEED = 5.0
GOAL_MEMORY = 1000.0
WORDS = [
    *(
        "the",
        "lamp",
        "warms",
        "a",
        "quiet",
        "room",
        "and",
        "nobody",
        "minds",
        "over",
        "there",
        "again",
        "because",
        "we",
    ),
    *("🙂", "👩‍👧", "❤️", "Grüße", "straße", "naïve", ",", '"', "'", "\\", ";", "12", "true", "null", "#tag", "@user"),
    *("walked", "home", "slowly", "https://example.org/x?y=z&a=b"),
]


def posts(rows: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield made-up posts: emoji, nested meta, null and empty texts, quotes, bare CRs, numbers, yes and no."""
    chance = random.Random(seed)  # noqa: S311
    for i in range(rows):
        text: str | None = " ".join(chance.choices(WORDS, k=chance.randint(3, 35)))
        if i % 50 == 7:
            text = ""
        elif i % 50 == 8:
            text = None
        elif i % 20 == 3:
            text = f"{text}\rafter a bare CR\r\nnext line\n"
        yield {
            "id": f"p{i:07}",
            "text": text,
            "lang": ("en", "de", None, "")[i % 4],
            "source": "bench",
            "meta": {"user": {"n": chance.randint(0, 999), "tags": chance.choices(WORDS, k=2)}, "z": None, "i": i},
            "likes": None if i % 3 else chance.randint(0, 10**6),
            "share": chance.random(),
            "seen": (True, False, None)[i % 3],
            "code": f"{i % 1000:04}",
            "hate.gold": ("hateful", "not hateful", None)[i % 3],
        }


def make(path: Path, rows: int) -> None:
    """Write the posts as JSONL."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for post in posts(rows):
            file.write(json.dumps(post, ensure_ascii=False) + "\n")


def ours(source: str, out: str) -> None:
    """Convert with Davy."""
    from davy.files import tables

    tables.convert(source, out)


def with_pandas(source: str, out: str) -> None:
    """Convert with pandas, told all that it needs to lose as little as it can.

    Its pyarrow engines read three to four times as fast as those it takes by itself, but no longer tell null from
    empty text in CSV, nor whole numbers from others in JSON: that would not be the same work.
    """
    import pandas as pd

    texts = dict.fromkeys(("id", "text", "lang", "source", "meta", "code", "hate.gold"), "str")
    types = {**texts, "likes": "Int64", "share": "float64", "seen": "boolean"}
    if source.endswith(".jsonl"):
        frame = pd.read_json(source, lines=True, dtype=types, precise_float=True)
        frame["meta"] = [json.dumps(meta, ensure_ascii=False) for meta in frame["meta"]]
    elif source.endswith(".csv"):
        frame = pd.read_csv(source, dtype=types, keep_default_na=False, na_values=["\\N"], lineterminator="\n")
    else:
        frame = pd.read_parquet(source)
    if out.endswith(".jsonl"):
        frame["meta"] = [json.loads(meta) for meta in frame["meta"]]
        frame.to_json(out, orient="records", lines=True, force_ascii=False, double_precision=15)
    elif out.endswith(".csv"):
        frame.to_csv(out, index=False, na_rep="\\N")
    else:
        frame.to_parquet(out, index=False)


def measured(who: str, source: Path, out: Path) -> tuple[float, float, float]:
    """Run one step in a child process; return its seconds, its processor seconds and its peak memory in MB."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "benchmarks.files", "--step", who, str(source), str(out)])
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{who}: {source.name} → {out.name} failed")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def differences(one: Path, other: Path) -> int:
    """Return in how many rows two JSONL files differ; keys, their order, and types count."""
    wrong = 0
    with one.open("rb") as left, other.open("rb") as right:
        for before, after in zip(left, right, strict=False):
            a, b = json.loads(before), json.loads(after)
            wrong += json.dumps(a) != json.dumps(b)
        wrong += sum(1 for _ in left) + sum(1 for _ in right)
    return wrong


def main() -> int:
    """Run both chains, print the table, and return 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        who, source, out = options.step
        (ours if who == "davy" else with_pandas)(source, out)
        return 0
    with tempfile.TemporaryDirectory(prefix="bench-files-") as name:
        folder = Path(name)
        make(folder / "a.jsonl", options.rows)
        print(f"{options.rows:,} posts, {(folder / 'a.jsonl').stat().st_size / 1e6:.0f} MB of JSONL")
        figures: dict[str, list[tuple[float, float, float]]] = {}
        lost: dict[str, int] = {}
        for who in ("davy", "pandas"):
            (folder / who).mkdir()
            (folder / who / "a.jsonl").symlink_to(folder / "a.jsonl")
            figures[who] = []
        for source, out in STEPS:  # one right after the other: whatever else the machine does hits both
            for who, steps in figures.items():
                steps.append(measured(who, folder / who / source, folder / who / out))
        for who in figures:
            lost[who] = differences(folder / "a.jsonl", folder / who / "e.jsonl")
    return report(options.rows, figures, lost, options.json)


def report(
    rows: int, figures: dict[str, list[tuple[float, float, float]]], lost: dict[str, int], path: Path | None
) -> int:
    """Print the table of steps and ratios; return 1 where a goal is missed."""
    print(f"{'':<18}{'seconds':>16}{'':>8}{'processor seconds':>20}{'peak MB':>16}")
    print(f"{'step':<18}{'davy':>8}{'pandas':>8}{'ratio':>8}{'davy':>10}{'pandas':>10}{'davy':>8}{'pandas':>8}")
    steps = [f"{source.split('.')[1]} → {out.split('.')[1]}" for source, out in STEPS]
    whole = {who: (sum(s[0] for s in f), sum(s[1] for s in f), max(s[2] for s in f)) for who, f in figures.items()}
    mine, theirs = [*figures["davy"], whole["davy"]], [*figures["pandas"], whole["pandas"]]
    for step, (a, b, c), (x, y, z) in zip([*steps, "all"], mine, theirs, strict=True):
        print(f"{step:<18}{a:>8.2f}{x:>8.2f}{x / a:>8.1f}{b:>10.2f}{y:>10.2f}{c:>8.0f}{z:>8.0f}")
    ratio = whole["pandas"][0] / whole["davy"][0]
    peak = whole["davy"][2]
    print(f"rows that came back different: davy {lost['davy']:,}, pandas {lost['pandas']:,} of {rows:,}")
    met = lost["davy"] == 0 and ratio >= GOAL_SPEED and peak < GOAL_MEMORY
    print(f"goals: nothing lost, ≥ {GOAL_SPEED:.0f}× pandas, < {GOAL_MEMORY:.0f} MB: {'met' if met else 'MISSED'}")
    if path:
        value = {"rows": rows, "figures": figures, "all": whole, "ratio": ratio, "different": lost, "met": met}
        path.write_text(json.dumps(value, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
