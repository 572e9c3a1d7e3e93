"""`davy reproduce hatemoji`: Tables 3, 4, 8 and 9 with our detectors as columns beside the paper's."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from davy.evaluation.reproduce.hatemoji import reproduce_hatemoji
from davy.measure.intervals import Bootstrap
from davy.shell import console
from davy.training.train import parse_changes


def hatemoji(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Folder with hatemojicheck, hatecheck, hatemojibuild, dynahate."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Detector; repeat it for several columns.")
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option("--encoder", metavar="ROW=NAME", help="Train B-D, B-F or R8-T here from this encoder."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of those rows' configs.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write report.html and CSV tables.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap resamples of the fairness ratios.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.")] = 0,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Use answers that were given before.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the Hatemoji paper's Tables 3, 4, 8 and 9 with our detectors as columns beside the paper's.

    With HatemojiCheck's file in the folder, figures compare; without it our own suite emoji-en is run instead, and
    the tables say so. Of Table 8, test sets that are not in the folder are left empty.

    Examples:

      davy reproduce hatemoji --data data/ --model embedded --model embedded-en-large

      davy reproduce hatemoji --model embedded --out report
    """
    with console.ShellReporter() as reporter:
        made = reproduce_hatemoji(
            data,
            model or ["embedded"],
            bootstrap=Bootstrap(resamples, seed),
            cached=cache,
            encoders=encoder or (),
            changes=parse_changes(set_ or ()),
            reporter=reporter,
        )
    if out is not None:
        made.write(out, command=shlex.join(["davy", *sys.argv[1:]]))
        console.note(f"Wrote {out}/report.html and four CSV tables")
    if json:
        console.json(made.to_dict())
        return
    for table in made.tables.values():
        console.out().print(table.rich())
