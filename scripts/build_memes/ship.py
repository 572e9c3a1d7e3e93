"""Make the detector that ships: the chosen row's model as a folder that needs no torch, with its card.

    python ship.py --folds DIR --harmeme HARMEME --row text --seed 1 --out embedded-memes

DIR is folds.py's. Temperature and threshold come from cross-validation, where every meme of train was scored by a
network that had not seen it; val is measured through the written folder, as a user would, beside the text row's. Prints
the figures for the card, docs/detectors/cards/embedded-memes.md, which goes into the folder.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from choose import FOLDS, difference, figure, new_in_val, test_logits

from davy.actions.meme_data import HARMFUL, MemeParts, load_memes
from davy.collect import corpora
from davy.files.data_hash import rows_hash
from davy.measure.calibration import fit_temperature
from davy.measure.intervals import wilson
from davy.measure.thresholds import choose_threshold
from davy.models import folder as folders
from davy.models.learnt_rows import write_learnt
from davy.models.load import open_folder
from davy.train.meme_export import export_meme

NAME = "embedded-memes"
CARD = Path(__file__).parents[2] / "docs" / "detectors" / "cards" / f"{NAME}.md"


def yes_or_no(memes: pl.DataFrame) -> np.ndarray:
    """Return 1 for harmful memes, 0 for others."""
    return np.array(memes["yes"].to_list(), dtype=np.int64)


def calibrate(run: Path, row: str, seed: int, labels: np.ndarray) -> tuple[float, float]:
    """Return temperature and threshold (best macro-F1) by the logits that cross-validation gave."""
    with np.load(run / "groups.npz") as arrays:
        folds = arrays["folds"][: len(labels)]
    logits = np.zeros(len(labels))
    for n in range(FOLDS):
        logits[folds == n] = test_logits(run, f"fold-{n}", row, seed)
    temperature = round(float(fit_temperature(logits, labels)), 4)
    chance = 1 / (1 + np.exp(-logits / temperature))
    return temperature, round(float(choose_threshold(chance, labels == 1)), 2)


def write_folder(source: Path, out: Path, train: pl.DataFrame, temperature: float, threshold: float) -> None:
    """Write the model folder with its name, its calibration, what it learnt from, and its card where there is one."""
    export_meme(source, out)
    write_learnt(out, train["text"].to_list())
    if CARD.is_file():
        (out / folders.CARD).write_text(CARD.read_text(encoding="utf-8"), encoding="utf-8")
    manifest = folders.read(out, check=False)
    data = rows_hash(train.select("text", "image", pl.col("yes").cast(pl.String)))
    folders.write(
        out,
        replace(
            manifest,
            name=NAME,
            questions=(HARMFUL,),
            languages=("en",),
            temperatures={HARMFUL.name: temperature},
            thresholds={HARMFUL.name: threshold},
            settings={**manifest.settings, folders.DATA: data},
        ),
    )


def measure(out: Path, memes: MemeParts, text: np.ndarray, exact: np.ndarray, clean: np.ndarray) -> dict[str, Any]:
    """Return the figures on val, through the folder: AUROC beside the text row's, and how often its yes is right."""
    val = memes.parts["test"]
    labels = yes_or_no(val)
    manifest = folders.read(out)
    scored = open_folder(out, memes.pictures).score(val.select("id", "text", "image"))
    chance = scored.probabilities[HARMFUL.name][:, 1]
    logits = np.log(chance / (1 - chance)) * manifest.temperatures[HARMFUL.name]
    yes = chance >= manifest.thresholds[HARMFUL.name]
    found: dict[str, Any] = {"version": manifest.version, "thresholds": manifest.thresholds}
    found["bytes"] = sum(path.stat().st_size for path in out.iterdir())
    for title, rows in (("val", np.arange(len(val))), ("without near copies", clean)):
        mine, its = [logits[rows]], [text[rows]]
        found[title] = {
            "memes, harmful": [len(rows), int(labels[rows].sum())],
            "auroc": figure(labels[rows], mine),
            "text": figure(labels[rows], its),
            "above text": difference(labels[rows], mine, its),
            "accuracy": share(yes[rows] == (labels[rows] == 1)),
            "macro-F1": macro_f1(labels[rows], yes[rows]),
            "accuracy, macro-F1 of always no": [share(labels[rows] == 0), macro_f1(labels[rows], yes[rows] & False)],
            "right of its yes": share(labels[rows][yes[rows]] == 1),
            "found of the harmful": share(yes[rows][labels[rows] == 1]),
        }
    gaps = np.abs(logits - exact)
    found["int8 against exact, logits: mean, most"] = [round(float(gaps.mean()), 4), round(float(gaps.max()), 4)]
    gold = corpora.load("harmeme", memes.folder).posts.collect().select("id", "harm.gold", "harmed.gold")
    gold = val.join(gold, on="id", how="left", maintain_order="left")
    for column in ("harm.gold", "harmed.gold"):
        kinds = gold[column].to_numpy()
        found[f"right by {column}"] = {
            kind: share(yes[kinds == kind] == (kind != "not harmful"))
            for kind in sorted({kind for kind in kinds.tolist() if kind})
        }
    return found


def macro_f1(labels: np.ndarray, yes: np.ndarray) -> str:
    """Return the mean of both labels' F1 with its interval (memes resampled)."""
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(labels), (2000, len(labels)))

    def mean(gold: np.ndarray, said: np.ndarray) -> np.ndarray:
        parts = []
        for label in (0, 1):
            right = ((gold == label) & (said == label)).sum(-1)
            parts.append(2 * right / np.maximum((gold == label).sum(-1) + (said == label).sum(-1), 1))
        return np.asarray(sum(parts) / 2)

    low, high = np.percentile(mean(labels[draws], yes[draws]), [2.5, 97.5])
    return f"{mean(labels, yes):.3f} [{low:.3f}, {high:.3f}]"


def share(right: np.ndarray) -> str:
    """Return the share of what is right with its interval (Wilson) and n."""
    low, high = wilson(int(right.sum()), len(right))
    return f"{right.mean():.3f} [{low:.3f}, {high:.3f}] of {len(right)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("folds", "harmeme", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--row", default="text")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    memes = load_memes(args.harmeme)
    train = pl.concat([memes.parts["train"], memes.parts["dev"]]).sort("id")
    temperature, threshold = calibrate(args.folds, args.row, args.seed, yes_or_no(train))
    write_folder(args.folds / "models" / f"{args.row}-{args.seed}", args.out, train, temperature, threshold)
    text, exact = (test_logits(args.folds, "whole", row, args.seed) for row in ("text", args.row))
    found = measure(args.out, memes, text, exact, new_in_val(args.folds))
    print(json.dumps({"temperature": temperature, **found}, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
