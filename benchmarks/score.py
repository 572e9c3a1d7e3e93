"""How fast a file of posts is scored, beside the same encoder in torch; and whether the cascade changes what is said.

`davy score` runs as a command, cold, from Parquet to Parquet. torch runs an encoder of the same shape in fp32, batch
64, sorted by length, which is its best (its weights play no part in its speed). Both see the same posts. Then labels
with and without the cascade are compared, one text is scored warm, and one from a cold shell.

    python -m benchmarks.score [--posts 100000] [--texts FILE] [--model embedded-en] [--compared 20000] [--json FILE]

`--texts` takes real posts, one a line (.xz too), and reads its last ones, which neither screen nor exit learnt from.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOALS = {"ratio": 10.0, "labels": 0.999, "flagged": 0.97, "one_ms": 6.0, "cold_s": 1.5, "peak_mb": 600.0}
ASKED = ("hate", "offensive", "sexist")
TORCH_POSTS = 4_000
WORDS = "the day was long and we went home after tea with cake while a small grumblefop sang of rain".split()  # noqa: SIM905


def posts(n: int, path: Path | None, seed: int = 0) -> list[str]:
    """Return the last posts of a file, or made-up ones of 3 to 60 words, each in an order of chance."""
    chance = random.Random(seed)  # noqa: S311
    if path is None:
        return [f"{' '.join(chance.choices(WORDS, k=chance.randint(3, 60)))} {i}" for i in range(n)]
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    lines = lines[-n:]
    chance.shuffle(lines)
    return lines


def command(source: Path, out: Path, model: str, *more: str) -> tuple[float, float]:
    """Return the seconds and the peak memory in MB of `davy score` on a file."""
    start = time.perf_counter()
    line = [sys.executable, "-m", "davy", "score", str(source), "--model", model, "--out", str(out), *more]
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(said.decode()[-2000:])
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def with_torch(source: Path) -> float:
    """Return the seconds that torch takes for the posts of a file, tokenising included; run in a process of its own."""
    import polars as pl
    import torch
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    from davy.detectors.embedded import WEIGHTS

    texts = pl.read_parquet(source)["text"].to_list()
    tokenizer = Tokenizer.from_file(str(WEIGHTS / "embedded-en" / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    shape = {"num_hidden_layers": 6, "hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 12}
    encoder = BertModel(BertConfig(vocab_size=tokenizer.get_vocab_size(), **shape)).eval()
    head = torch.nn.Linear(384, 66).eval()

    def run(rows: list[list[int]]) -> None:
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        head((states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)).sigmoid().numpy()

    with torch.inference_mode():
        run([encoding.ids for encoding in tokenizer.encode_batch(texts[:64])])
        start = time.perf_counter()
        rows = sorted((encoding.ids for encoding in tokenizer.encode_batch(texts)), key=len)
        for at in range(0, len(rows), 64):
            run(rows[at : at + 64])
    return time.perf_counter() - start


def one_text(model: str, texts: list[str]) -> float:
    """Return the median milliseconds for one text, warm."""
    from davy.detectors.load import load
    from davy.scoring.result import one_post

    scorer = load(model)
    took = []
    for text in texts[:220]:
        start = time.perf_counter()
        scorer.score(one_post(text))
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took[20:])


def cold(model: str) -> float:
    """Return the median seconds of `davy score --text` from a cold shell."""
    took = []
    for _ in range(5):
        start = time.perf_counter()
        line = [sys.executable, "-m", "davy", "score", "--text", "what a day", "--model", model]
        subprocess.run(line, check=True, capture_output=True)
        took.append(time.perf_counter() - start)
    return statistics.median(took)


def agreement(screened: Path, full: Path) -> dict[str, float]:
    """Return the share of labels that the cascade leaves as they are, of posts it clears, of flagged ones it keeps."""
    import polars as pl

    one, other = pl.read_parquet(screened), pl.read_parquet(full)
    same = {name: float((one[f"{name}.label"] == other[f"{name}.label"]).mean() or 0) for name in ASKED}
    yes = {"hate": "hateful", "offensive": "offensive", "sexist": "sexist"}
    flags = [pl.DataFrame({name: frame[f"{name}.label"] == yes[name] for name in ASKED}) for frame in (one, other)]
    kept, all_of_them = (frame.select(pl.any_horizontal(ASKED)).to_series() for frame in flags)
    cleared = float(one["cleared"].mean() or 0) if "cleared" in one.columns else 0.0
    n = int(all_of_them.sum())
    return {**same, "flagged_posts": n, "flagged": int((kept & all_of_them).sum()) / max(1, n), "cleared": cleared}


def main() -> int:
    """Print the table; return 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--compared", type=int, default=20_000)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--model", default="embedded-en")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--torch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch:
        print(with_torch(options.torch))
        return 0
    import polars as pl

    texts = posts(options.posts, options.texts)
    with tempfile.TemporaryDirectory(prefix="bench-score-") as name:
        folder = Path(name)
        for file, part in (("all", texts), ("few", texts[:TORCH_POSTS]), ("compared", texts[: options.compared])):
            pl.DataFrame({"text": part}).write_parquet(folder / f"{file}.parquet")
        line = [sys.executable, "-m", "benchmarks.score", "--torch", str(folder / "few.parquet")]
        torch_seconds = float(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        seconds, peak = command(folder / "all.parquet", folder / "all.scored.parquet", options.model)
        few = folder / "compared.parquet"
        command(few, folder / "screened.parquet", options.model)
        full, _ = command(few, folder / "full.parquet", options.model, "--no-cascade")
        again = float(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        same = agreement(folder / "screened.parquet", folder / "full.parquet")
    torch_rate = min(TORCH_POSTS, len(texts)) / min(torch_seconds, again)
    rate = len(texts) / seconds
    found = {
        "ratio": rate / torch_rate,
        "labels": min(same[name] for name in ASKED),
        "flagged": same["flagged"],
        "one_ms": one_text(options.model, texts),
        "cold_s": cold(options.model),
        "peak_mb": peak,
    }
    return report(options, rate, torch_rate, options.compared / full, same, found)


def report(
    options: argparse.Namespace, rate: float, torch_rate: float, full: float, same: dict[str, float], found: Any
) -> int:
    """Print what was measured beside its goal."""
    kind = "real posts" if options.texts else "made-up posts"
    print(f"{options.model}, {options.posts:,} {kind}")
    print(f"davy score                    {rate:>10,.0f} posts/s, {same['cleared']:.1%} cleared")
    print(f"davy score --no-cascade       {full:>10,.0f} posts/s, on {options.compared:,}")
    print(f"torch fp32, batch 64, sorted  {torch_rate:>10,.0f} posts/s, on {TORCH_POSTS:,}, the better of two")
    for name in ASKED:
        print(f"{name + ' labels unchanged':<30}{same[name]:>10.2%}")
    at_most = ("one_ms", "cold_s", "peak_mb")
    names = {
        "ratio": "times torch",
        "labels": "labels unchanged, at least",
        "flagged": f"of {same['flagged_posts']:,} flagged posts kept",
        "one_ms": "one text warm, median ms",
        "cold_s": "one text from a cold shell, s",
        "peak_mb": "peak memory, MB",
    }
    missed = []
    for name, goal in GOALS.items():
        met = found[name] <= goal if name in at_most else found[name] >= goal
        missed += [] if met else [name]
        sign = "≤" if name in at_most else "≥"
        print(f"{names[name]:<30}{found[name]:>10.3f}   goal {sign} {goal:g}: {'met' if met else 'MISSED'}")
    if options.json:
        options.json.write_text(json.dumps({"rate": rate, "torch": torch_rate, "full": full, **same, **found}) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
