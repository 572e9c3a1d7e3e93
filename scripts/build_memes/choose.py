"""Choose what ships: text alone, or picture and text, by HarMeme.

    python choose.py --results results.jsonl --harmeme HARMEME [--pairs pairs.csv]

`results.jsonl` and `predictions.npz` are job.py's. The rule was set before the results were seen: a fusion ships where
its AUROC in cross-validation on HarMeme's train part is above the text row's, by a paired interval (memes resampled)
that lies above zero; val then measures it. `pairs.csv` (`davy split HARMEME --corpus harmeme --check --images … --out`)
names memes of val that have a near copy in train: figures are given without them too.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from davy.actions.meme_data import load_memes
from davy.collect import corpora
from davy.compare.papers.memes import mean_draws
from davy.measure.intervals import Bootstrap
from davy.measure.ranking import auroc

FOLDS = 5
RESAMPLES = Bootstrap(2000)


def fold_labels(labels: np.ndarray) -> np.ndarray:
    """Return the fold of each meme of HarMeme's train part, as job.py cuts them."""
    rng = np.random.default_rng(1)
    fold = np.zeros(len(labels), np.int64)
    for label in (0, 1):
        places = rng.permutation(np.flatnonzero(labels == label))
        fold[places] = np.arange(len(places)) % FOLDS
    return fold


def figure(labels: np.ndarray, logits: list[np.ndarray]) -> str:
    """Return the mean AUROC over seeds with its interval."""
    value = float(np.mean([auroc(labels == 1, one) for one in logits]))
    low, high = np.percentile(mean_draws("auroc", labels, logits, RESAMPLES), [2.5, 97.5])
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def difference(labels: np.ndarray, logits: list[np.ndarray], text: list[np.ndarray]) -> str:
    """Return how far a row's AUROC is above the text row's, with a paired interval."""
    both = [mean_draws("auroc", labels, each, RESAMPLES) for each in (logits, text)]
    value = np.mean([auroc(labels == 1, one) for one in logits]) - np.mean([auroc(labels == 1, one) for one in text])
    low, high = np.percentile(both[0] - both[1], [2.5, 97.5])
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


def logits_of(records: list[dict[str, Any]], kept: dict[str, np.ndarray], data: str) -> dict[str, list[np.ndarray]]:
    """Return row → the test logits of each seed, on one set of data."""
    found: dict[str, list[np.ndarray]] = {}
    for record in records:
        name = f"{str(record.get('predictions', '')).removesuffix('.npz')}:test"
        if record["data"] == data and record.get("chosen", True) and name in kept:
            found.setdefault(record["row"], []).append(kept[name].astype(np.float64))
    return found


def show(title: str, labels: np.ndarray, found: dict[str, list[np.ndarray]], rows: np.ndarray | None = None) -> None:
    """Print each row's AUROC and how far it is above the text row's."""
    rows = np.arange(len(labels)) if rows is None else rows
    print(f"\n{title}: {len(rows)} memes, {int(labels[rows].sum())} harmful")
    text = [one[rows] for one in found.get("text", [])]
    for row, logits in found.items():
        some = [one[rows] for one in logits]
        above = difference(labels[rows], some, text) if text and row != "text" else ""
        print(f"  {row:16} {len(some)} seeds  {figure(labels[rows], some)}  {above}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--harmeme", type=Path, required=True)
    parser.add_argument("--pairs", type=Path)
    args = parser.parse_args()
    records = [json.loads(line) for line in args.results.read_text().splitlines()]
    with np.load(args.results.parent / "predictions.npz") as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    val = load_memes(args.harmeme).parts["test"]
    labels = np.array(val["yes"].to_list(), dtype=np.int64)
    clean = np.arange(len(labels))
    if args.pairs:
        with args.pairs.open() as file:
            copied = {row[end] for row in csv.DictReader(file) for end in ("one", "other")}
        clean = np.flatnonzero([name not in copied for name in val["id"]])
    for data in ("harmeme", "both"):
        found = logits_of(records, kept, data)
        if data == "both" and "text" not in found:
            found = {"text": logits_of(records, kept, "harmeme").get("text", []), **found}
        show(f"HarMeme val, trained on {data}", labels, found)
        show(f"HarMeme val without near copies of train, trained on {data}", labels, found, clean)
    train = corpora.load("harmeme", args.harmeme).posts.collect().filter(split="train")
    gold = np.array([label != "not harmful" for label in train["harm.gold"]], dtype=np.int64)
    folds = fold_labels(gold)
    crossed: dict[str, dict[int, np.ndarray]] = {}
    for number in range(FOLDS):
        for row, logits in logits_of(records, kept, f"fold-{number}").items():
            crossed.setdefault(row, {})[number] = logits[0]
    show_folds(gold, folds, {row: found for row, found in crossed.items() if len(found) == FOLDS})


def show_folds(labels: np.ndarray, folds: np.ndarray, found: dict[str, dict[int, np.ndarray]]) -> None:
    """Print each row's AUROC in cross-validation: the mean over folds, memes resampled within each."""
    print(f"\nCross-validation on HarMeme train, {FOLDS} folds: {len(labels)} memes, {int(labels.sum())} harmful")
    draws, values = {}, {}
    for row, logits in found.items():
        parts = [(labels[folds == number], logits[number].astype(np.float64)) for number in range(FOLDS)]
        values[row] = np.mean([auroc(gold == 1, each) for gold, each in parts])
        draws[row] = np.mean(
            [mean_draws("auroc", gold, [each], Bootstrap(2000, n)) for n, (gold, each) in enumerate(parts)], axis=0
        )
    for row in found:
        low, high = np.percentile(draws[row], [2.5, 97.5])
        line = f"  {row:16} {values[row]:.3f} [{low:.3f}, {high:.3f}]"
        if row != "text" and "text" in draws:
            under, over = np.percentile(draws[row] - draws["text"], [2.5, 97.5])
            line += f"  {values[row] - values['text']:+.3f} [{under:+.3f}, {over:+.3f}]"
        print(line)


if __name__ == "__main__":
    main()
