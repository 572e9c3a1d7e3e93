"""`davy pretrain`: teach an encoder the language of unlabelled posts before it is fine-tuned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions import distil as action
from davy.actions.posts import PostSource
from davy.actions.train import parse_changes
from davy.cli import console
from davy.cli.options import Encoding


def pretrain(
    files: Annotated[list[str], typer.Argument(metavar="F…", help="Posts; only their text is read.")],
    encoder: Annotated[str, typer.Option(metavar="NAME", help="A folder or hub name.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The encoder's folder; give it again to go on.")],
    encoding: Encoding = None,
    hide: Annotated[float, typer.Option(min=0.01, max=0.9, help="The share of words that are hidden.")] = 0.15,
    seed: Annotated[int, typer.Option(help="The seed.")] = 1,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="epochs, rate, batch, emoji …")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Continue an encoder's pre-training: it guesses whole words that are hidden in your posts.

    The folder it writes is an encoder for davy train. A killed run goes on when the same command is given again.

    Examples:

      davy pretrain reddit.csv --encoder ./minilm --out runs/minilm-reddit --set epochs=2 --set rate=1e-4

      davy train train.csv --encoder runs/minilm-reddit --scheme edos --out runs/edos
    """

    with console.ShellReporter() as reporter:
        record = action.pretrain(
            [PostSource(file, encoding=encoding) for file in files],
            encoder,
            out,
            hide=hide,
            seed=seed,
            changes=parse_changes(set_ or ()),
            command=console.command_line(),
            reporter=reporter,
        )
    if json:
        console.json(record)
    else:
        console.note(f"Written: {out}. Fine-tune it: davy train F --encoder {out} --out runs/mine")
