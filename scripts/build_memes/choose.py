"""Choose what ships: text alone, or picture and text, by HarMeme.

    python choose.py --folds DIR --harmeme HARMEME

DIR is folds.py's, or seeds.py's with `groups.npz` of folds.py. The rule is decision 70, written before the results of
seeds.py: MMBT-Region ships where its AUROC in cross-validation on HarMeme's train part is above the text row's by
paired intervals above zero, both with memes drawn each by itself and with those that are alike drawn together; then
Concat in its place, if it passes too and MMBT-Region is not above it. Val measures what ships; figures on val are given
without memes that are like one of train, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from davy.evaluation.reproduce.memes_table import ROWS, mean_draws
from davy.measure.intervals import Bootstrap
from davy.measure.ranking import auroc
from davy.memes.meme_data import load_memes
from davy.memes.reproduce import fuse_logits

FOLDS = 5
RESAMPLES = Bootstrap(2000)
Parts = Sequence[tuple[np.ndarray, list[np.ndarray], np.ndarray | None]]
"""Of each fold, or of val: labels, the logits of each seed, and which memes are drawn together (None: each alone)."""


def mean_auroc(parts: Parts) -> float:
    """Return the mean over parts and seeds."""
    return float(np.mean([auroc(labels == 1, one) for labels, logits, _ in parts for one in logits]))


def draws_of(parts: Parts) -> np.ndarray:
    """Return the mean AUROC of each resample; memes are resampled within their part."""
    return np.mean(
        [mean_draws("auroc", labels, logits, Bootstrap(RESAMPLES.resamples, n), groups)
         for n, (labels, logits, groups) in enumerate(parts)], axis=0)  # fmt: skip


def figure(labels: np.ndarray, logits: list[np.ndarray]) -> str:
    """Return the mean AUROC over seeds with its interval."""
    return figure_of([(labels, logits, None)])


def difference(labels: np.ndarray, logits: list[np.ndarray], text: list[np.ndarray]) -> str:
    """Return how far a row's AUROC is above the text row's, with a paired interval."""
    return difference_of([(labels, logits, None)], [(labels, text, None)])[0]


def figure_of(parts: Parts) -> str:
    """Return the mean AUROC with its interval."""
    low, high = np.percentile(draws_of(parts), [2.5, 97.5])
    return f"{mean_auroc(parts):.3f} [{low:.3f}, {high:.3f}]"


def difference_of(parts: Parts, text: Parts) -> tuple[str, bool]:
    """Return how far a row is above the text row, with a paired interval, and whether that lies above zero."""
    low, high = np.percentile(draws_of(parts) - draws_of(text), [2.5, 97.5])
    return f"{mean_auroc(parts) - mean_auroc(text):+.3f} [{low:+.3f}, {high:+.3f}]", bool(low > 0)


def logits_of(run: Path, part: str) -> dict[str, list[np.ndarray]]:
    """Return row → the test logits of each seed; Late Fusion is the mean of two rows' scores."""
    names = {(it["row"], it["seed"]) for it in map(json.loads, (run / "results.jsonl").open()) if it["data"] == part}
    found: dict[str, list[np.ndarray]] = {}
    for row, seed in sorted(names, key=lambda it: (list(ROWS).index(it[0]), it[1])):
        found.setdefault(row, []).append(test_logits(run, part, row, seed))
    if {"text", "image-grid"} <= set(found):
        pairs = zip(found["image-grid"], found["text"], strict=False)
        found["late-fusion"] = [fuse_logits(*pair) for pair in pairs]
    return found


def test_logits(run: Path, part: str, row: str, seed: int) -> np.ndarray:
    """Return the logits of one training on what it was measured on."""
    with np.load(run / "predictions" / f"{part}.{row}.{seed}.npz") as arrays:
        logits: np.ndarray = arrays["test"].astype(np.float64)
    return logits


def show_val(title: str, labels: np.ndarray, found: dict[str, list[np.ndarray]], rows: np.ndarray) -> None:
    """Print each row's AUROC and how far it is above the text row's."""
    print(f"\n{title}: {len(rows)} memes, {int(labels[rows].sum())} harmful")
    text = [one[rows] for one in found.get("text", [])]
    for row, logits in found.items():
        some = [one[rows] for one in logits]
        above = difference(labels[rows], some, text) if text and row != "text" else ""
        right = np.mean([np.mean((one >= 0) == (labels[rows] == 1)) for one in some])
        print(f"  {row:12} {len(some)} seed(s)  {figure(labels[rows], some)}  {above}  accuracy {right:.3f}")


def new_in_val(run: Path) -> np.ndarray:
    """Return the places of val's memes that are like none of train, by text or picture."""
    with np.load(run / "groups.npz") as arrays:
        groups, folds = arrays["groups"], arrays["folds"]
    return np.flatnonzero(~np.isin(groups[folds < 0], groups[folds >= 0]))


def show_folds(run: Path, labels: np.ndarray) -> None:
    """Print each row's AUROC in cross-validation, the mean over folds, and what the rule says."""
    with np.load(run / "groups.npz") as arrays:
        groups, folds = arrays["groups"][: len(labels)], arrays["folds"][: len(labels)]
    print(f"\nCross-validation on HarMeme train, {FOLDS} folds: {len(labels)} memes, {int(labels.sum())} harmful")
    logits = [logits_of(run, f"fold-{n}") for n in range(FOLDS)]
    rows = [row for row in logits[0] if all(row in each for each in logits)]
    draws = []
    for together in (None, groups):
        print("  memes alike drawn together:" if together is not None else "  each meme drawn by itself:")
        parts = {row: [(labels[folds == n], logits[n][row], None if together is None else together[folds == n])
                       for n in range(FOLDS)] for row in rows}  # fmt: skip
        draws.append(parts)
        for row in rows:
            above = "" if row == "text" else difference_of(parts[row], parts["text"])[0]
            each = " ".join(f"{mean_auroc([part]):.3f}" for part in parts[row])
            print(f"  {row:12} {figure_of(parts[row])}  {above}  folds {each}")
    print(f"\n{what_ships(draws)} ships.")


def what_ships(draws: Sequence[dict[str, Parts]]) -> str:
    """Return the row that the rule chooses; `draws` are the folds of each row, for both ways to draw memes."""

    def above(row: str, other: str) -> bool:
        ways = [difference_of(parts[row], parts[other]) for parts in draws]
        print(f"  {row} above {other}:", *(difference for difference, _ in ways))
        return all(positive for _, positive in ways)

    if "mmbt-region" not in draws[0] or not above("mmbt-region", "text"):
        return "text"
    if "concat" in draws[0] and above("concat", "text") and not above("mmbt-region", "concat"):
        return "concat"
    return "mmbt-region"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=Path, required=True)
    parser.add_argument("--harmeme", type=Path, required=True)
    args = parser.parse_args()
    memes = load_memes(args.harmeme)
    yes = {name: label for part in memes.parts.values() for name, label in part.select("id", "yes").iter_rows()}
    train = sorted({*memes.parts["train"]["id"], *memes.parts["dev"]["id"]})
    show_folds(args.folds, np.array([yes[name] for name in train], dtype=np.int64))
    val = memes.parts["test"]["id"].to_list()
    labels = np.array([yes[name] for name in val], dtype=np.int64)
    found = logits_of(args.folds, "whole")
    show_val("HarMeme val, trained on train", labels, found, np.arange(len(val)))
    show_val("HarMeme val without near copies of train", labels, found, new_in_val(args.folds))


if __name__ == "__main__":
    main()
