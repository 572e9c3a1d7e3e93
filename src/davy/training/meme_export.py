"""A trained meme model as a folder that scores memes without torch.

A `meme` folder of the rows text, concat, mmbt-grid or mmbt-region in; a `meme-onnx` folder out: the network in int8,
the image encoder with weights in 16 bits, the object detector where regions are looked at, the tokenizer, and the card.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from davy.detectors import folder as folders
from davy.detectors.image_encoder import load_image_encoder
from davy.detectors.meme_model import MemeModel
from davy.detectors.meme_onnx import BOX_GRAPH, ENGINE, PICTURE_GRAPH
from davy.files.atomic import make_folder, require_empty_folder
from davy.training.export import folder_bytes, save_tokenizer
from davy.training.onnx.box_graph import write_box_graph
from davy.training.onnx.meme_graphs import write_answer_graph, write_picture_graph


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
