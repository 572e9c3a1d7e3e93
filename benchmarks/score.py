"""Scoring a file: what the stage itself costs, and how fast the detectors are that need no weights of ours.

100,000 made-up posts, a fifth of them repeats. `DAVY_BENCH_MODEL=folder` adds a model folder, on the first 2,000 posts,
with the median time for one text.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from davy.models.load import load
from davy.score.batch import score_frames

POSTS = 100_000
FOLDER_POSTS = 2_000
WORDS = "the day was long and we went home after tea with cake while a small grumblefop sang of rain".split()  # noqa: SIM905


def posts(n: int, seed: int = 0) -> pl.DataFrame:
    """Return posts of 3 to 60 words, every fifth a repeat of an earlier one."""
    rng = random.Random(seed)  # noqa: S311
    texts: list[str] = []
    for i in range(n):
        again = i % 5 == 4
        texts.append(rng.choice(texts) if again else f"{' '.join(rng.choices(WORDS, k=rng.randint(3, 60)))} {i}")
    return pl.DataFrame({"id": [str(i) for i in range(n)], "text": texts})


def stage(name: str, frame: pl.DataFrame) -> float:
    """Return posts a second through the scoring stage, with labels, verdicts and repeats."""
    scorer = load(name)
    start = time.perf_counter()
    for _ in score_frames([frame], scorer):
        pass
    return len(frame) / (time.perf_counter() - start)


def one_text(name: str, frame: pl.DataFrame) -> float:
    """Return the median milliseconds for one text, warm."""
    scorer = load(name)
    singles = [frame[i : i + 1] for i in range(120)]
    took = []
    for single in singles:
        start = time.perf_counter()
        scorer.score(single)
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took[20:])


def command(frame: pl.DataFrame, words: Path) -> tuple[float, float]:
    """Return posts a second and peak memory in MB of `davy score` from a cold shell, Parquet to CSV."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "posts.parquet", Path(folder) / "out.csv"
        frame.write_parquet(source)
        line = [sys.executable, "-m", "davy", "score", source, "--model", f"keywords:{words}", "--out", out]
        measured = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
        )
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", measured, *line], check=True, capture_output=True, text=True)
        return len(frame) / (time.perf_counter() - start), float(done.stdout)


def main() -> None:
    """Print the table."""
    frame = posts(POSTS)
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words.txt"
        words.write_text("grumblefop\nzworp\n")
        print(f"{'posts/s':>10}  {'one text':>9}  what")
        for name in ("majority@embedded-en", "uniform@embedded-en", f"keywords:{words}", "keywords:en"):
            print(f"{stage(name, frame):>10,.0f}  {one_text(name, frame):>6.2f} ms  {name.replace(folder, '…')}")
        rate, peak = command(frame, words)
        print(f"{rate:>10,.0f}  {'':>9}  davy score, {POSTS:,} posts, Parquet to CSV, peak {peak:.0f} MB")
    if model := os.environ.get("DAVY_BENCH_MODEL"):
        print(f"{stage(model, frame[:FOLDER_POSTS]):>10,.0f}  {one_text(model, frame):>6.2f} ms  {model}")


if __name__ == "__main__":
    main()
