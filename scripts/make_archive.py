"""Make an archive to try sampling on: real texts with made-up platforms and boards, and judges' scores by chance.

    python scripts/make_archive.py TEXTS --out archive.parquet [--posts 200000] [--seed 0]

TEXTS has a post a line (.xz too). Half of the posts are said to be Gab's, half Reddit's, on the boards of the `edos`
plan. The columns `toxicity`, `sexism` and `attack` are no detector's scores: `--judge toxicity=column:toxicity`.
"""

from __future__ import annotations

import argparse
import lzma
import random
from pathlib import Path

import polars as pl

from davy.files.yaml_nodes import load_values

BOARDS = Path(__file__).parent.parent / "src" / "davy" / "plans" / "sampling" / "edos.yaml"


def main() -> None:
    """Write the archive."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with lzma.open(args.texts, "rt", encoding="utf-8") if args.texts.suffix == ".xz" else args.texts.open() as file:
        texts = [line.strip() for line in file if line.strip()][: args.posts]
    chance = random.Random(args.seed)
    categories = load_values(BOARDS, str(BOARDS))["pools"]["reddit"]["categories"]
    boards = [board for category in categories.values() for board in category]
    platforms = [chance.choice(("gab", "reddit")) for _ in texts]
    frame = pl.DataFrame(
        {
            "id": [f"a{number:07}" for number in range(len(texts))],
            "text": texts,
            "lang": ["en"] * len(texts),
            "platform": platforms,
            "community": [chance.choice(boards) if it == "reddit" else None for it in platforms],
            **{name: [chance.betavariate(0.5, 2) for _ in texts] for name in ("toxicity", "sexism", "attack")},
        }
    )
    frame.write_parquet(args.out)
    print(f"{len(frame):,} posts: {args.out}")


if __name__ == "__main__":
    main()
