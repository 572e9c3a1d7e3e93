"""`davy meme train`: one row of the Hateful Memes table as a detector of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions.meme_train import train_meme
from davy.actions.train import parse_changes
from davy.cli import console


def train(
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Hateful Memes, HarMeme, or a drawn benchmark.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The new model folder.")],
    row: Annotated[
        str, typer.Option(metavar="ROW", help="image-grid, text, late-fusion, concat, mmbt-grid, vilbert, visualbert …")
    ] = "concat",
    size: Annotated[str, typer.Option(help="small: minutes on two cores; full: the paper's networks.")] = "small",
    seed: Annotated[int, typer.Option(help="The seed of weights and order.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the preset, such as updates=200."),
    ] = None,
    captions: Annotated[
        Path | None,
        typer.Option(metavar="DIR2", help="Captioned pictures for vilbert-cc and visualbert-coco; else DIR's own."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train a meme model: picture and text in, hateful or not out.

    The rows are those of the Hateful Memes paper's Table 1. The checkpoint with the best AUROC on dev is kept; where a
    corpus has no test part, dev is measured and a tenth of train chooses. A training that was stopped goes on when the
    same command is given again. It needs the extras memes and train.

    Examples:

      davy meme benchmark --out benchmark/ --size 4000

      davy meme train benchmark/ --row concat --out memes/concat

      davy score --image meme.png --text "what it says" --model memes/concat
    """
    with console.ShellReporter() as reporter:
        trained = train_meme(
            data,
            out,
            row=row,
            size=size,
            seed=seed,
            changes=parse_changes(set_ or ()),
            captions=captions,
            reporter=reporter,
        )
    if json:
        console.json(trained.to_dict())
        return
    rows = [(part, f"{each['auroc']:.3f}", f"{each['accuracy']:.3f}") for part, each in trained.figures.items()]
    console.table(["part", "AUROC", "accuracy"], rows, right=("AUROC", "accuracy"))
    console.note(f"{row}, {size}, seed {seed} → {out}")
