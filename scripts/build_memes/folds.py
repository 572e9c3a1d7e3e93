"""Cross-validation on HarMeme's train part, and the models that may ship: all on a CPU, in one command that goes on.

    python folds.py --harmeme HARMEME --run DIR [--rows text concat image-grid mmbt-region]

Five folds, cut by label; memes that are alike (text or picture, as `davy split` finds them) are in one fold. A tenth of
what is outside a fold chooses the checkpoint. Each row is also trained on all of train ("whole"; a
tenth is dev) and measured on val; Image-Grid is half of Late Fusion. What was done lies in DIR and is not done
again: features, each training's checkpoints, `results.jsonl`, `predictions/`. `choose.py --folds DIR` prints the
figures.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from prepare import cut_text_encoder

from davy.corpus.split.assign import assign
from davy.corpus.split.groups import find_links, group_rows
from davy.corpus.split.quality import read_picture_facts
from davy.detectors.image_encoder import load_image_encoder
from davy.detectors.image_features import REGIONS, WHOLE, box_weights
from davy.detectors.meme_model import MemeModel, PictureFeatures, new_meme_model
from davy.detectors.meme_presets import MemePreset, load_preset
from davy.detectors.meme_scorer import OnnxPictureReader
from davy.detectors.object_boxes import ObjectDetector
from davy.files.atomic import atomic_path
from davy.image.perceptual_hash import NEAR
from davy.memes.meme_data import MemeParts, load_memes
from davy.training.frozen_blocks import freeze_blocks, thaw_blocks
from davy.training.meme_trainer import MemeExamples, default_device, measure_logits, train_row
from davy.training.onnx.meme_graphs import write_picture_graph

FOLDS = 5
SEED = 1
SIDE = 224
NEAR_TEXTS = 0.8
SETTINGS = {"updates": "70", "warmup": "7", "every": "14", "batch": "64", "max_length": "96", "precision": "bf16",
            "rate": "1e-4", "new_rate": "5e-4"}  # fmt: skip
OWN = {
    "mmbt-region": {"updates": "50", "warmup": "5", "every": "10"},
    "image-grid": {"updates": "300", "warmup": "30", "every": "25"},
}
"""Settings of a row all of whose blocks learn, which takes four times as long, and of one that has none."""
FROZEN = {"text": 4, "concat": 4}
"""Blocks of the text encoder (of six) that don't learn, so that a CPU trains a network in two or three minutes."""
BATCH = 16


@dataclass(frozen=True)
class Memes:
    """HarMeme's labelled memes, train and then val, with the group and the fold of each (val: −1)."""

    frame: pl.DataFrame
    groups: np.ndarray
    folds: np.ndarray
    pictures: dict[str, PictureFeatures]

    @property
    def labels(self) -> np.ndarray:
        return np.array(self.frame["yes"].to_list(), dtype=np.int64)

    def examples(self, rows: np.ndarray) -> MemeExamples:
        """Return some memes as a trainer takes them."""
        whole = MemeExamples(self.frame["text"].to_list(), self.labels, self.pictures)
        return whole.rows(rows)

    def hold_back(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows to learn from and a tenth that chooses the checkpoint, memes that are alike together."""
        tenth = round(len(rows) / 10)
        parts = np.array(_parts(self.labels[rows], self.groups[rows], {"train": len(rows) - tenth, "dev": tenth}))
        return rows[parts == "train"], rows[parts == "dev"]


def _parts(labels: np.ndarray, groups: np.ndarray, sizes: dict[str, int]) -> list[str]:
    strata = pl.DataFrame({"label": labels.astype(str)})
    return assign(strata, np.unique(groups, return_inverse=True)[1], sizes, SEED)


def read_memes(folder: Path, run: Path, kinds: set[str]) -> Memes:
    """Return HarMeme with folds and features, from the run's folder where they lie."""
    parts = load_memes(folder)
    train = pl.concat([parts.parts["train"], parts.parts["dev"]]).sort("id")
    frame = pl.concat([train, parts.parts["test"]])
    kept = run / "groups.npz"
    if not kept.exists():
        facts = read_picture_facts(frame["image"].to_list(), parts.pictures)
        links = find_links(frame, (), NEAR_TEXTS, facts, NEAR)
        groups = group_rows(len(frame), links)
        sizes = {str(n): len(train) // FOLDS + (n < len(train) % FOLDS) for n in range(FOLDS)}
        labels = np.array(train["yes"].to_list(), dtype=np.int64)
        folds = np.full(len(frame), -1)
        folds[: len(train)] = [int(name) for name in _parts(labels, groups[: len(train)], sizes)]
        _save(kept, groups=groups, folds=folds, pairs=[len(link) for link in links])
    with np.load(kept) as arrays:
        groups, folds, pairs = (arrays[name] for name in ("groups", "folds", "pairs"))
    sizes_of = np.bincount(groups)
    print(f"{len(frame)} memes; alike by text {pairs[0]} pairs, by picture {pairs[1]}; in groups with others "
          f"{int(sizes_of[sizes_of > 1].sum())}, the largest {sizes_of.max()}; folds "
          f"{[int((folds == n).sum()) for n in range(FOLDS)]}", flush=True)  # fmt: skip
    pictures = {kind: read_features(parts, frame, run, kind) for kind in sorted(kinds)}
    return Memes(frame, groups, folds, pictures)


def read_features(parts: MemeParts, frame: pl.DataFrame, run: Path, kind: str) -> PictureFeatures:
    """Return the features that `davy meme train` would compute, by onnxruntime, which is several times quicker."""
    kept = run / f"{kind}.npz"
    if not kept.exists():
        began = time.time()
        graph = run / "picture.onnx"
        if not graph.exists():
            write_picture_graph(load_image_encoder(), graph)
        reader = OnnxPictureReader(graph, SIDE)
        detector = ObjectDetector() if kind == "region" else None
        names = frame["image"].to_list()
        blocks = [_look(parts, names[i : i + BATCH], reader, detector) for i in range(0, len(names), BATCH)]
        vectors, boxes = (np.concatenate(each) for each in zip(*blocks, strict=True))
        _save(kept, vectors=vectors, boxes=boxes)
        print(f"{kind} features of {len(names)} pictures: {time.time() - began:.0f} s", flush=True)
    with np.load(kept) as arrays:
        return PictureFeatures(arrays["vectors"], arrays["boxes"] if kind == "region" else None)


def _look(
    parts: MemeParts, names: list[str], reader: OnnxPictureReader, detector: ObjectDetector | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (n, k, d) and boxes (n, k, 4) of a batch: of the whole picture, or of its regions."""
    pictures = [parts.pictures(name) for name in names]
    if detector is None:
        boxes = np.tile(np.array(WHOLE, np.float32), (len(names), 1, 1))
        return reader.read(pictures).vectors.astype(np.float16)[:, None], boxes
    found = [[WHOLE, *(it.box for it in detector.find(picture, REGIONS - 1))] for picture in pictures]
    boxes = np.array([each + [WHOLE] * (REGIONS - len(each)) for each in found], np.float32)
    grid = reader.cells(pictures, 2 * SIDE).astype(np.float32)
    return (box_weights(boxes, round(grid.shape[1] ** 0.5)) @ grid).astype(np.float16), boxes


def _save(path: Path, **arrays: Any) -> None:
    with atomic_path(path) as hidden, hidden.open("wb") as file:
        np.savez(file, **arrays)


def preset_of(row: str, run: Path, changes: dict[str, str]) -> MemePreset:
    """Return a row's small preset with the settings of this run."""
    return load_preset(row, "small", {**SETTINGS, **OWN.get(row, {}), "text_encoder": str(run / "minilm"), **changes})


def begin(preset: MemePreset, known: dict[bytes, torch.Tensor]) -> MemeModel:
    """Return an untrained model; what frozen blocks make of a text is kept from one training to the next."""
    model = new_meme_model(preset)
    if preset.row in FROZEN:
        freeze_blocks(model.network, FROZEN[preset.row], known)
    return model


def train_one(
    memes: Memes, row: str, part: str, seed: int, run: Path, changes: dict[str, str], known: dict[bytes, torch.Tensor]
) -> dict[str, Any]:
    """Train a row outside a fold, or on all of train; write its logits and return its record."""
    began = time.time()
    inside = memes.folds == int(part.removeprefix("fold-")) if part != "whole" else memes.folds < 0
    rows, dev = memes.hold_back(np.flatnonzero(~inside & (memes.folds >= 0)))
    name = f"{part}.{row}.{seed}"
    preset = preset_of(row, run, changes)
    trained = train_row(preset, memes.examples(rows), memes.examples(dev), seed=seed, device=default_device(),
                        folder=run / "trainings" / name, start=partial(begin, known=known))  # fmt: skip
    model = trained.model
    if row in FROZEN:
        thaw_blocks(model.network)
        model = replace(model, preset=replace(model.preset, frozen_blocks=FROZEN[row]))
    logits, figures = {}, {}
    for what, places in (("valid", dev), ("test", np.flatnonzero(inside))):
        some = memes.examples(places)
        logits[what] = model.logits(some.texts, some.pictures.get(preset.network.features))
        figures[what] = {**measure_logits(some.labels, logits[what]), "n": len(places)}
    _save(run / "predictions" / f"{name}.npz", **logits, rows=np.flatnonzero(inside), dev=dev)
    if part == "whole":
        save_model(model, run / "models" / f"{row}-{seed}")
    curve = [[round(it["loss"], 3), round(it["auroc"], 3)] for it in trained.histories[-1].records]
    return {"row": row, "seed": seed, "data": part, "n": len(rows), **figures, "curve": curve,
            "seconds": round(time.time() - began, 1)}  # fmt: skip


def save_model(model: MemeModel, folder: Path) -> None:
    """Write a model's folder, which `ship.py` takes up."""
    if not folder.exists():
        replace(model, device="cpu", network=model.network.cpu()).save(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--harmeme", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--rows", nargs="+", default=["text", "concat", "image-grid", "mmbt-region"])
    parser.add_argument("--seeds", type=int, default=1, help="so many trainings of the models that may ship")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a setting of every training")
    parser.add_argument(
        "--only", metavar="PATTERN", default="*", help="some trainings, such as fold-0.text.1 or fold-*"
    )
    args = parser.parse_args()
    for folder in ("trainings", "predictions", "models"):
        (args.run / folder).mkdir(parents=True, exist_ok=True)
    changes = dict(each.split("=", 1) for each in args.set)
    kinds = {load_preset(row).network.features for row in args.rows} - {""}
    order = [(f"fold-{n}", row, SEED) for row in args.rows for n in range(FOLDS)]
    order += [("whole", row, seed) for seed in range(1, args.seeds + 1) for row in args.rows]
    order.sort(key=lambda task: "region" in task[1])
    log = args.run / "results.jsonl"
    done = {f"{it['data']}.{it['row']}.{it['seed']}" for it in map(json.loads, log.open())} if log.exists() else set()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    made = f"commit {commit.stdout.strip()}, Python {platform.python_version()}, torch {torch.__version__}"
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {made}, {torch.get_num_threads()} thread(s), {args.rows}, {changes}, "
          f"{len(done)} trainings done before", flush=True)  # fmt: skip
    memes = read_memes(args.harmeme, args.run, kinds)
    if not (args.run / "minilm").exists():
        print("pieces kept:", cut_text_encoder(memes.frame["text"].to_list()[: int((memes.folds >= 0).sum())],
                                               args.run / "minilm"), flush=True)  # fmt: skip
    known: dict[bytes, torch.Tensor] = {}
    for part, row, seed in order:
        name = f"{part}.{row}.{seed}"
        if name in done or not fnmatch(name, args.only):
            continue
        record = train_one(memes, row, part, seed, args.run, changes, known)
        with log.open("a") as file:
            file.write(json.dumps(record) + "\n")
        figures = {what: record[what]["auroc"] for what in ("valid", "test")}
        print(
            f"{time.strftime('%H:%M:%S')} {name:24} {figures} {record['seconds']} s, curve {record['curve']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
