"""`davy meme train`: one row of the Hateful Memes table as a detector of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from davy.core.options import Option
from davy.memes.meme_train import TrainedMemeRow, train_meme
from davy.shell import console
from davy.shell.verb_command import Run, verb_command


@verb_command(train_meme, "data out row size seed set captions json")
def train(
    run: Run[TrainedMemeRow],
    out: Path,
    row: str,
    size: str,
    seed: int,
    json: Annotated[bool, Option("Print the figures as JSON.")] = False,
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
    trained = run()
    if json:
        console.json(trained.to_dict())
        return
    rows = [(part, f"{each['auroc']:.3f}", f"{each['accuracy']:.3f}") for part, each in trained.figures.items()]
    console.table(["part", "AUROC", "accuracy"], rows, right=("AUROC", "accuracy"))
    console.note(f"{row}, {size}, seed {seed} → {out}")
