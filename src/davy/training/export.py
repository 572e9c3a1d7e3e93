"""A trained model as an ONNX folder that loads without torch.

A `transformer` folder in; an `onnx` folder out, and a comparison of the scores before and after on posts that the user
gives. Or a `meme` folder of the rows text, concat, mmbt-grid or mmbt-region in; a `meme-onnx` folder out: the network
in int8, the image encoder with weights in 16 bits, the object detector if regions are looked at, the tokenizer, and the
card.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.detectors import folder as folders
from davy.detectors.encoder import TextTokenizer
from davy.detectors.image_encoder import load_image_encoder
from davy.detectors.meme_model import MemeModel
from davy.detectors.meme_scorer import BOX_GRAPH, ENGINE, PICTURE_GRAPH
from davy.detectors.network import columns_of
from davy.detectors.onnx import OnnxScorer
from davy.detectors.transformer import TransformerScorer, heads_of, parent_gates
from davy.files.atomic import make_folder, require_empty_folder
from davy.training.onnx.activation_ranges import fix_ranges, measure_ranges
from davy.training.onnx.box_graph import write_box_graph
from davy.training.onnx.meme_graphs import write_answer_graph, write_picture_graph
from davy.training.onnx.write import write_onnx

if TYPE_CHECKING:
    import polars as pl
    import torch


RANGE_POSTS = 1000
"""How many posts of dev the ranges of activations are measured on."""


def export_onnx(
    source: Path,
    out: Path,
    *,
    dev: pl.DataFrame | None = None,
    int8: bool = True,
    table_bits: int = 8,
    matrix_bits: int = 8,
) -> dict[str, Any]:
    """Write the ONNX folder and return how its scores compare with the source's."""
    manifest = folders.read(source)
    if manifest.engine != "transformer":
        raise UserError(
            f"{source} is a {manifest.engine!r} model; `davy export` takes what `davy train` or `davy meme train` made."
        )
    require_empty_folder(out)
    make_folder(out)
    scorer = TransformerScorer.open(source, manifest)
    columns = columns_of(heads_of(scorer.questions))
    places = [list(range(columns[q.name].start, columns[q.name].stop)) for q in scorer.questions]
    posts = _posts(scorer, dev) if int8 and dev is not None else []
    if posts:
        measure_ranges(scorer.network, posts)
    write_onnx(
        scorer.network,
        [q.name for q in scorer.questions],
        places,
        out / "model.onnx",
        int8=int8,
        table_bits=table_bits,
        matrix_bits=matrix_bits,
        within=parent_gates(scorer.questions),
    )
    if posts:
        fix_ranges(out / "model.onnx", posts)
    save_tokenizer(scorer.reading, out / "tokenizer.json")
    for name in folders.BESIDE:
        if (source / name).is_file():
            shutil.copy(source / name, out / name)
    kept = ("max_length", "truncate", "prepare", folders.DATA)
    settings = {key: manifest.settings[key] for key in kept if key in manifest.settings}
    folders.write(out, replace(manifest, engine="onnx", settings=settings))
    if dev is None:
        return {"model": str(out), "engine": "onnx", "bytes": folder_bytes(out)}
    before, after = scorer.score(dev), OnnxScorer(out, folders.read(out)).score(dev)
    gaps = {q.name: _gap(q, before.probabilities[q.name], after.probabilities[q.name]) for q in scorer.questions}
    return {"model": str(out), "engine": "onnx", "bytes": folder_bytes(out), "posts": len(dev), "gaps": gaps}


def _posts(scorer: TransformerScorer, dev: pl.DataFrame) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return ids and mask of some posts of dev, for the ranges of activations."""
    import torch

    rows = scorer.reading.ids(dev["text"].fill_null("").head(RANGE_POSTS).to_list())
    posts = [torch.tensor([ids]) for ids in rows if ids]
    return [(ids, torch.ones_like(ids)) for ids in posts]


def save_tokenizer(reading: TextTokenizer, path: Path) -> None:
    """Write a tokenizer with its padding named, so that any reader pads as in training."""
    tokenizer = reading.tokenizer
    token = tokenizer.id_to_token(reading.pad)
    tokenizer.enable_padding(pad_id=reading.pad, pad_token=token or "[PAD]")
    tokenizer.save(str(path))
    tokenizer.no_padding()


def _gap(question: Question, before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    """Return how far scores moved and how many labels with them."""
    difference = np.abs(before - after)
    moved = (before >= 0.5) != (after >= 0.5) if question.multilabel else before.argmax(1) != after.argmax(1)
    return {
        "mean": round(float(difference.mean()), 5),
        "largest": round(float(difference.max()), 5),
        "labels moved": round(float(moved.mean()), 5),
    }


def folder_bytes(folder: Path) -> int:
    """Return the bytes of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def export_meme(source: Path, out: Path, *, int8: bool = True) -> dict[str, Any]:
    """Write the folder and return where it is, its engine and its size."""
    manifest = folders.read(source)
    model = MemeModel.open(source, manifest)
    require_empty_folder(out)
    make_folder(out)
    write_answer_graph(model.network.eval(), out / "model.onnx", bits=8 if int8 else 32)  # type: ignore[arg-type]
    side, seen = 0, model.preset.network
    if model.looks:
        encoder = load_image_encoder(model.preset.image_encoder)
        write_picture_graph(encoder, out / PICTURE_GRAPH, half=int8)
        side = encoder.side
    if seen.features == "region":
        write_box_graph(out / BOX_GRAPH, exact=not int8)
    save_tokenizer(model.reading, out / "tokenizer.json")
    for name in folders.BESIDE:
        if (source / name).is_file():
            shutil.copy(source / name, out / name)
    kept = {name: it for name, it in manifest.settings.items() if name in ("row", "max_length", folders.DATA)}
    regions = model.preset.regions if seen.features == "region" else 0
    settings = {**kept, "side": side, "cells": seen.cells, "regions": regions}
    draft = folders.Manifest(
        ENGINE, manifest.name, manifest.questions, "", manifest.languages, manifest.temperatures, manifest.thresholds,
        settings,
    )  # fmt: skip
    folders.write(out, draft)
    return {"model": str(out), "engine": ENGINE, "bytes": folder_bytes(out)}
