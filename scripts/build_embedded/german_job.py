"""The German detector on a GPU: teachers grown from a language model, posts that it writes, and the small network.

    python german_job.py bridge              the English detector's body learns to read multilingual pieces
    python german_job.py unpack              the language model's weights, ready to load
    python german_job.py english             it learns to find hate in English posts, and offence in GermEval
    python german_job.py writer              a copy learns German posts by heart and writes new ones
    python german_job.py compose             it translates English posts and writes short sentences about groups
    python german_job.py gather              what was written, once each, some about other groups; as tokens
    python german_job.py cv --folds 0        a teacher that has not seen a fold, and its opinion of all posts
    python german_job.py distil --folds 0    the small network learns from that teacher
    python german_job.py total | mean        figures over all folds | the mean of small networks, packed to travel

Every step reads and writes `--keep`, where `german.py` put its files. `--folds` is a fold of GMHP7k, or `all`: with a
fold, its posts, GAHD's dev and GermEval's test part are kept from every network. The writer has seen GMHP7k's texts,
so what repeats one of them is thrown away.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from german_figures import total
from german_students import bridge, distil, mean
from german_teachers import cv, english
from german_writing import compose, gather, writer
from qwen import unpack


def each_fold(step: Callable[[argparse.Namespace, str], None]) -> Callable[[argparse.Namespace], None]:
    """Return a step that does this for every fold of `--folds`."""

    def steps(args: argparse.Namespace) -> None:
        for label in args.folds.split(","):
            step(args, label)

    return steps


def parser() -> argparse.ArgumentParser:
    """Return the options of all steps."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("step", choices=JOBS)
    found.add_argument("--keep", type=Path, required=True)
    for name, value in (("name", ""), ("folds", "all"), ("of", "teacher"), ("start", "")):
        found.add_argument(f"--{name}", default=value)
    for name, number in (("seed", 1), ("epochs", 3), ("batch", 64), ("rank", 32), ("more", 25_000)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, number in (("posts", 90_000), ("at-once", 2048), ("longest", 80), ("write-seconds", 150)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, real in (("rate", 1e-4), ("head-rate", 1e-3), ("average", 0.99), ("warmth", 1.0)):
        found.add_argument(f"--{name}", type=float, default=real)
    for name, number in (("each", 30), ("swaps", 40_000), ("passes", 2)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, real in (("thin", 0.15), ("mix", 0.1), ("hard", 0.3), ("follow", 0.5), ("dropout", 0.2)):
        found.add_argument(f"--{name}", type=float, default=real)
    found.add_argument("--layers", type=int, help="use so many layers of the language model only")
    found.add_argument("--seconds", type=float)
    return found


JOBS = {"bridge": bridge, "unpack": lambda args: unpack(args.keep), "english": english, "writer": writer}
JOBS |= {
    "compose": compose,
    "gather": gather,
    "cv": each_fold(cv),
    "distil": each_fold(distil),
    "total": total,
    "mean": mean,
}


def main() -> None:
    """Run one step."""
    args = parser().parse_args()
    torch.set_float32_matmul_precision("high")
    JOBS[args.step](args)


if __name__ == "__main__":
    main()
