"""What scoring and cleaning shards costs on Ray and in one process, on the same cores and posts.

Start-up is left out on both sides: the clock runs from the start of the first slice to the end of the last. One
process uses a thread for each core, Ray a process for each.

    python -m benchmarks.cluster [--rows 200000] [--shards 16] [--posts FILE] [--json FILE]

`--posts` takes real posts, one a line (.xz too), in place of made-up sentences.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOAL = 1.3


def make(folder: Path, rows: int, shards: int, lines: list[str]) -> None:
    """Write the posts as shards."""
    import polars as pl

    from benchmarks.clean import texts

    posts = list(texts(rows, lines))
    size = -(-rows // shards)
    folder.mkdir()
    for number in range(shards):
        part = posts[number * size : (number + 1) * size]
        ids = [f"p{number * size + i:07}" for i in range(len(part))]
        pl.DataFrame({"id": ids, "text": part}).write_parquet(folder / f"part-{number:05}.parquet")


def score(source: Path, out: Path, engine: Any) -> dict[str, float]:
    """Return the seconds of a run without its start, and the core-seconds of its work."""
    from davy.corpus.post_source import PostSource
    from davy.scoring.score_shards import MANIFEST, score_shards

    began = time.perf_counter()
    score_shards(PostSource(str(source)), str(out), "embedded-en", engine=engine)
    whole = time.perf_counter() - began
    notes = json.loads((out / MANIFEST).read_text())["done"].values()
    working = max(note["started"] + note["seconds"] for note in notes) - min(note["started"] for note in notes)
    return {"seconds": working, "with_start": whole, "core_seconds": sum(note["cpu_seconds"] for note in notes)}


def clean(source: Path, out: Path, engine: Any) -> dict[str, float]:
    """Return the seconds of cleaning, start and all."""
    from davy.corpus.clean.clean_shards import clean_shards
    from davy.corpus.post_source import PostSource

    began = time.perf_counter()
    clean_shards(PostSource(str(source)), str(out), "edos", engine=engine)
    return {"with_start": time.perf_counter() - began}


def main() -> None:
    """Measure, print and, where the goal is missed, exit with 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--posts", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    from benchmarks.clean import real
    from davy.engines.ray_cluster import open_cluster
    from davy.engines.unit_work import LocalEngine

    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="davy-bench-") as name:
        folder = Path(name)
        make(folder / "in", given.rows, given.shards, real(given.posts) if given.posts else [])
        print(f"{given.rows:,} posts in {given.shards} shards, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        figures["local score"] = score(folder / "in", folder / "local", LocalEngine())
        figures["local clean"] = clean(folder / "in", folder / "local-clean", LocalEngine())
        began = time.perf_counter()
        with open_cluster(None) as cluster:
            figures["ray start"] = {"with_start": time.perf_counter() - began}
            figures["ray score"] = score(folder / "in", folder / "ray", cluster)
            figures["ray clean"] = clean(folder / "in", folder / "ray-clean", cluster)
    for what, values in figures.items():
        print(f"{what:12} " + "  ".join(f"{key} {value:8.1f}" for key, value in values.items()))
    ratio = figures["ray score"]["seconds"] / figures["local score"]["seconds"]
    millions = given.rows / 1e6
    print(f"Ray over local, a post, start-up aside: {ratio:.2f} (goal: at most {GOAL})")
    ray_cost, local_cost = (figures[f"{who} score"]["core_seconds"] / millions for who in ("ray", "local"))
    print(f"core-seconds a million posts: {ray_cost:,.0f} on Ray, {local_cost:,.0f} in one process")
    print(f"load at the end: {os.getloadavg()[0]:.1f}")
    if given.json:
        given.json.write_text(json.dumps({"rows": given.rows, "ratio": ratio, **figures}, indent=1))
    if ratio > GOAL:
        sys.exit(f"Ray takes {ratio:.2f} times as long as one process")


if __name__ == "__main__":
    main()
