"""`davy export`: a trained model as an ONNX folder that runs without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions.export_model import export_model
from davy.actions.posts import PostSource, load_posts, select_split
from davy.cli import console
from davy.cli.calibrate import show_calibration
from davy.cli.options import Encoding, GoldColumns, TextColumn


def export(
    model: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A model that davy train, davy distil or davy meme train made.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The new folder.")],
    dev: Annotated[
        str | None, typer.Option(metavar="F", help="Posts to compare on; their answers set thresholds and calibration.")
    ] = None,
    split: Annotated[str | None, typer.Option(metavar="[C=]NAME", help="Use this split of --dev only.")] = None,
    gold: GoldColumns = None,
    text_column: TextColumn = None,
    encoding: Encoding = None,
    threshold: Annotated[
        str,
        typer.Option(metavar="RULE", help="How --dev sets thresholds: macro-f1, precision=0.9, recall=0.9, cost=5."),
    ] = "macro-f1",
    exact: Annotated[bool, typer.Option("--exact", help="Keep 32 bits instead of rounding to int8.")] = False,
    table_bits: Annotated[int, typer.Option(help="Bits of the word vectors in int8 models: 8 or 4.")] = 8,
    matrix_bits: Annotated[
        int, typer.Option(help="Bits of the encoder's matrices in int8 models: 8 or 4. They run at the same speed.")
    ] = 8,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Export a trained model: ONNX, int8, with tokenizer, thresholds, calibration and card in one folder.

    With --dev, scores before and after are compared, and temperatures and thresholds are set as davy calibrate sets
    them; all of it is printed before and after.

    Examples:

      davy export runs/edos/seed-1/model --dev dev.csv --out my-model

      davy score posts.csv --model my-model --out scored.csv

      davy export memes/concat --out my-memes
    """

    judged = PostSource(dev, text=text_column, encoding=encoding) if dev else None
    found, calibration = export_model(
        model,
        out,
        dev=select_split(load_posts(judged).posts, split)[0] if judged else None,
        gold=gold or (),
        threshold=threshold,
        exact=exact,
        table_bits=table_bits,
        matrix_bits=matrix_bits,
    )
    if json:
        console.json({**found, **(calibration.to_dict() if calibration else {})})
        return
    if "gaps" in found:
        rows = [(name, it["mean"], it["largest"], it["labels moved"]) for name, it in found["gaps"].items()]
        title = f"Scores before and after, {found['posts']} posts"
        console.table(["question", "mean gap", "largest gap", "labels moved"], rows, title=title, right=["mean gap"])
    if calibration is not None:
        show_calibration(calibration)
    given = "--image meme.png" if found["engine"] == "meme-onnx" else "posts.csv"
    console.note(f"Written: {out}, {found['bytes'] / 1e6:.1f} MB. Use it: davy score {given} --model {out}")
