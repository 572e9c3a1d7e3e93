"""`davy distil`: a small model learns from one or several large ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions import distil as action
from davy.actions.posts import PostSource
from davy.actions.train import parse_changes
from davy.cli import console
from davy.cli.options import Encoding, GoldColumns


def distil(
    files: Annotated[list[str], typer.Argument(metavar="F…", help="Posts, labelled or not; several are joined.")],
    teacher: Annotated[list[str], typer.Option("--teacher", metavar="M", help="A model; again for more.")],
    encoder: Annotated[str, typer.Option(metavar="NAME", help="What the student starts from: a folder or hub name.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The run's folder; give it again to go on.")],
    dev: Annotated[str | None, typer.Option(metavar="F", help="Labelled posts to choose the checkpoint by.")] = None,
    gold: GoldColumns = None,
    encoding: Encoding = None,
    hard: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How much settled answers count beside the teachers'.")
    ] = 0.3,
    seed: Annotated[int, typer.Option(help="The seed.")] = 1,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="epochs, rate, batch, emoji …")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Distil teachers into a student, on labelled and unlabelled posts.

    The student learns the teachers' mean probabilities for the questions that they share.

    Examples:

      davy distil train.csv reddit.csv --teacher runs/a/seed-1/model --teacher runs/a/seed-2/model
      --encoder ./minilm --dev dev.csv --out runs/student --set epochs=8 --set rate=3e-4
    """

    with console.ShellReporter() as reporter:
        run = action.distil(
            [PostSource(file, encoding=encoding) for file in files],
            teacher,
            encoder,
            out,
            dev=PostSource(dev, encoding=encoding) if dev else None,
            gold=gold or (),
            hard_share=hard,
            seed=seed,
            changes=parse_changes(set_ or ()),
            command=console.command_line(),
            reporter=reporter,
        )
    if json:
        console.json(run.record)
    else:
        console.note(f"Written: {run.model}. Make it small and fast: davy export {run.model} --out my-model")
