"""Make the detector that ships: the chosen row's model as a folder that needs no torch, with its card.

    python ship.py --folds DIR --harmeme HARMEME --row text --seed 1 --out embedded-memes
    python ship.py --folds RUN --harmeme HARMEME --row mmbt-region --seed 2 --out embedded-memes-pictures

DIR is folds.py's, RUN seeds.py's with `groups.npz` of folds.py and the model in models/ROW-SEED. Temperature and
threshold come from cross-validation, where every meme of train was scored by a network that had not seen it; val is
measured through the written folder, as a user would, beside `embedded-memes`, the text detector in the package. Prints
the figures for the card, docs/detectors/cards/NAME.md, which goes into the folder; NAME is that of the folder.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from choose import FOLDS, difference, figure, figure_of, new_in_val, test_logits

from davy.corpus.collect import corpora
from davy.detectors import folder as folders
from davy.detectors.embedded import WEIGHTS
from davy.detectors.load import open_folder
from davy.detectors.training_text_index import write_learnt
from davy.files.data_hash import rows_hash
from davy.image.picture_names import Pictures
from davy.measure.calibration import choose_threshold, fit_temperature
from davy.measure.intervals import wilson
from davy.memes.meme_data import MemeParts, load_memes
from davy.memes.meme_files import HARMFUL
from davy.training.export import export_meme

CARDS = Path(__file__).parents[2] / "docs" / "detectors" / "cards"
TEXT = "embedded-memes"


def yes_or_no(memes: pl.DataFrame) -> np.ndarray:
    """Return 1 for harmful memes, 0 for others."""
    return np.array(memes["yes"].to_list(), dtype=np.int64)


def calibrate(run: Path, row: str, seed: int, labels: np.ndarray) -> tuple[float, float, dict[str, str]]:
    """Return temperature and threshold (best macro-F1) by the logits that cross-validation gave, and its figures."""
    with np.load(run / "groups.npz") as arrays:
        folds = arrays["folds"][: len(labels)]
    logits = np.zeros(len(labels))
    for n in range(FOLDS):
        logits[folds == n] = test_logits(run, f"fold-{n}", row, seed)
    temperature = round(float(fit_temperature(logits, labels)), 4)
    chance = 1 / (1 + np.exp(-logits / temperature))
    threshold = round(float(choose_threshold(chance, labels == 1)), 2)
    yes = chance >= threshold
    figures = {
        "auroc, the mean over folds": figure_of(
            [(labels[folds == n], [logits[folds == n]], None) for n in range(FOLDS)]
        ),
        "accuracy": share(yes == (labels == 1)),
        "macro-F1": macro_f1(labels, yes),
        "right of its yes": share(labels[yes] == 1),
        "found of the harmful": share(yes[labels == 1]),
    }
    return temperature, threshold, figures


def write_folder(source: Path, out: Path, train: pl.DataFrame, temperature: float, threshold: float) -> None:
    """Write the model folder with its name, its calibration, what it learnt from, and its card where there is one."""
    export_meme(source, out)
    write_learnt(out, train["text"].to_list())
    card = CARDS / f"{out.name}.md"
    if card.is_file():
        (out / folders.CARD).write_text(card.read_text(encoding="utf-8"), encoding="utf-8")
    manifest = folders.read(out, check=False)
    data = rows_hash(train.select("text", "image", pl.col("yes").cast(pl.String)))
    folders.write(
        out,
        replace(
            manifest,
            name=out.name,
            questions=(HARMFUL,),
            languages=("en",),
            temperatures={HARMFUL.name: temperature},
            thresholds={HARMFUL.name: threshold},
            settings={**manifest.settings, folders.DATA: data},
        ),
    )


def score_folder(folder: Path, val: pl.DataFrame, pictures: Pictures) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits that a model folder gives memes, and which of them it calls harmful."""
    manifest = folders.read(folder)
    scored = open_folder(folder, pictures).score(val.select("id", "text", "image"))
    chance = scored.probabilities[HARMFUL.name][:, 1]
    logits = np.log(chance / (1 - chance)) * manifest.temperatures[HARMFUL.name]
    return logits, chance >= manifest.thresholds[HARMFUL.name]


def measure(out: Path, memes: MemeParts, exact: np.ndarray, clean: np.ndarray) -> dict[str, Any]:
    """Return the figures on val, through the folder: AUROC beside the text detector's, and how often it is right."""
    val = memes.parts["test"]
    labels = yes_or_no(val)
    manifest = folders.read(out)
    logits, yes = score_folder(out, val, memes.pictures)
    text, text_yes = score_folder(WEIGHTS / TEXT, val, memes.pictures)
    found: dict[str, Any] = {"version": manifest.version, "thresholds": manifest.thresholds}
    found["bytes"] = sum(path.stat().st_size for path in out.iterdir())
    for title, rows in (("val", np.arange(len(val))), ("without near copies", clean)):
        mine, its = [logits[rows]], [text[rows]]
        found[title] = {
            "memes, harmful": [len(rows), int(labels[rows].sum())],
            "auroc": figure(labels[rows], mine),
            f"auroc of {TEXT}": figure(labels[rows], its),
            f"above {TEXT}": difference(labels[rows], mine, its),
            "accuracy": share(yes[rows] == (labels[rows] == 1)),
            f"accuracy of {TEXT}": share(text_yes[rows] == (labels[rows] == 1)),
            "macro-F1": macro_f1(labels[rows], yes[rows]),
            f"macro-F1 of {TEXT}": macro_f1(labels[rows], text_yes[rows]),
            "accuracy, macro-F1 of always no": [share(labels[rows] == 0), macro_f1(labels[rows], yes[rows] & False)],
            "right of its yes": share(labels[rows][yes[rows]] == 1),
            "found of the harmful": share(yes[rows][labels[rows] == 1]),
        }
    gaps = np.abs(logits - exact)
    found["int8 against exact, logits: mean, most"] = [round(float(gaps.mean()), 4), round(float(gaps.max()), 4)]
    if "regions" in manifest.settings:
        found |= measure_sides(out, val, memes.pictures, logits)
    gold = corpora.load("harmeme", memes.folder).posts.collect().select("id", "harm.gold", "harmed.gold")
    gold = val.join(gold, on="id", how="left", maintain_order="left")
    for column in ("harm.gold", "harmed.gold"):
        kinds = gold[column].to_numpy()
        found[f"right by {column}"] = {
            kind: share(yes[kinds == kind] == (kind != "not harmful"))
            for kind in sorted({kind for kind in kinds.tolist() if kind})
        }
    return found


def measure_sides(out: Path, val: pl.DataFrame, pictures: Pictures, logits: np.ndarray) -> dict[str, str]:
    """Return the AUROC on val with another meme's picture or text, and with the text that our OCR reads."""
    labels = yes_or_no(val)
    order = np.random.default_rng(0).permutation(len(val))
    changed = {
        "pictures shuffled": val.with_columns(image=val["image"].gather(order)),
        "texts shuffled": val.with_columns(text=val["text"].gather(order)),
        "texts read by OCR": val.with_columns(text=pl.lit("")),  # a meme without a text has it read
    }
    found = {}
    for title, memes in changed.items():
        its, _ = score_folder(out, memes, pictures)
        found[f"val, {title}"] = f"{figure(labels, [its])}, and above that {difference(labels, [logits], [its])}"
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
    temperature, threshold, figures = calibrate(args.folds, args.row, args.seed, yes_or_no(train))
    write_folder(args.folds / "models" / f"{args.row}-{args.seed}", args.out, train, temperature, threshold)
    exact = test_logits(args.folds, "whole", args.row, args.seed)
    found = measure(args.out, memes, exact, new_in_val(args.folds))
    print(json.dumps({"temperature": temperature, "out of fold": figures, **found}, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
