"""`davy export`: a trained model as an ONNX folder that runs without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions.export_model import export_model
from davy.cli import console


def export(
    model: Annotated[Path, typer.Argument(metavar="FOLDER", help="A model that davy train or davy distil made.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The new folder.")],
    dev: Annotated[
        str | None, typer.Option(metavar="F", help="Posts to compare on; their answers set thresholds and calibration.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Keep 32 bits instead of rounding to int8.")] = False,
    table_bits: Annotated[int, typer.Option(help="Bits of the word vectors in int8 models: 8 or 4.")] = 8,
    matrix_bits: Annotated[
        int, typer.Option(help="Bits of the encoder's matrices in int8 models: 8 or 4. They run at the same speed.")
    ] = 8,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Export a trained model: ONNX, int8, with tokenizer, thresholds, calibration and card in one folder.

    With --dev, scores before and after are compared and the difference is printed.

    Examples:

      davy export runs/edos/seed-1/model --dev dev.csv --out my-model

      davy score posts.csv --model my-model --out scored.csv
    """

    found = export_model(model, out, dev=dev, exact=exact, table_bits=table_bits, matrix_bits=matrix_bits)
    if json:
        console.json(found)
        return
    if "gaps" in found:
        rows = [(name, it["mean"], it["largest"], it["labels moved"]) for name, it in found["gaps"].items()]
        title = f"Scores before and after, {found['posts']} posts"
        console.table(["question", "mean gap", "largest gap", "labels moved"], rows, title=title, right=["mean gap"])
    console.note(f"Written: {out}, {found['bytes'] / 1e6:.1f} MB. Use it: davy score posts.csv --model {out}")
