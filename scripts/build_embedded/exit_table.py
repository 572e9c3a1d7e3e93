"""What screen and exit clear of posts that neither learnt from, by the marks that a folder has: its card's table.

    python exit_table.py --data DIR --folder DIR --layer 2 --learnt 92254 > exit.json

For a folder whose network changed after its exit was made; `exit.py` prints the same when it makes one. `card.py
--screen` takes it. Nothing is chosen here. `--learnt` is how many posts the exit's head learnt from.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl
from exit_states import held_posts
from screen_nets import QUESTIONS

from davy.core.scorer import Scores
from davy.detectors.onnx import OnnxScorer
from davy.detectors.token_batches import cut_windows


def flagged(scores: Scores) -> np.ndarray:
    """Return which posts a question is answered with yes for."""
    return np.any([scores.positive(name) >= scores.thresholds[name] for name in QUESTIONS], axis=0)


def passes_screen(scorer: OnnxScorer, texts: list[str]) -> np.ndarray:
    """Return which posts the screen alone lets through: those with a window that it does."""
    assert scorer._screen is not None
    windows, owners = cut_windows(scorer._encoded(texts), scorer._length, scorer._ends)
    passed = np.zeros(len(texts), dtype=bool)
    passed[owners[scorer._screen.read(windows)[0]]] = True
    return passed


def shares(screen: np.ndarray, both: np.ndarray, yes: np.ndarray) -> dict[str, float]:
    """Return how much of some posts is cleared, and how much of those that the network flags."""
    return {
        "posts": len(yes),
        "cleared by the screen": round(float(screen.mean()), 4),
        "cleared": round(float(both.mean()), 4),
        "flagged": int(yes.sum()),
        "flagged and cleared by the screen": round(float(screen[yes].sum() / max(1, yes.sum())), 4),
        "flagged and cleared": round(float(both[yes].sum() / max(1, yes.sum())), 4),
    }


def main() -> None:
    """Read the posts held back, whole and by the cascade, and print what is cleared, by kind of post."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--folder"):
        parser.add_argument(option, type=Path, required=True)
    for option in ("--layer", "--learnt"):
        parser.add_argument(option, type=int, required=True)
    args = parser.parse_args()
    everything, held, used = held_posts(args.data)
    posts = [everything[i] for i in np.flatnonzero(held & used)]
    kinds, texts = np.array([post.corpus for post in posts]), pl.DataFrame({"text": [post.text for post in posts]})
    whole = OnnxScorer(args.folder)
    yes, screen = flagged(whole.score(texts)), ~passes_screen(whole, texts["text"].to_list())
    both = whole.cascade().score(texts).read
    assert both is not None
    found = {
        str(kind): shares(screen[rows], ~both[rows], yes[rows])
        for kind, rows in ((kind, kinds == kind) for kind in np.unique(kinds))
    }
    print(json.dumps({"layer": args.layer, "learnt": args.learnt, "held back": found}, indent=2))


if __name__ == "__main__":
    main()
