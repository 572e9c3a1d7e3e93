"""`davy reproduce memes`: the Hateful Memes paper's Table 1 with our rows beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.evaluation.cli.reproduce import show_reproduction
from davy.evaluation.reproduce.paper_table import reasons
from davy.files.atomic import check_folder
from davy.measure.intervals import Bootstrap
from davy.memes.reproduce import reproduce_memes
from davy.shell import console
from davy.shell.options import Latex
from davy.training.train import parse_changes


def memes(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Hateful Memes, HarMeme, or a drawn benchmark.")],
    row: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="ROW", help="Run only this row, as concat; again for more."),
    ] = None,
    size: Annotated[str, typer.Option(help="small: encoders that come with Davy; full: the paper's.")] = "small",
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Train each row with so many seeds.")] = 3,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the presets, such as updates=200."),
    ] = None,
    captions: Annotated[
        Path | None,
        typer.Option(metavar="DIR2", help="Captioned pictures for ViLBERT CC and Visual BERT COCO; else DIR's own."),
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(metavar="F", help="Rows that were trained elsewhere, a .jsonl; of several, the last counts."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the table here, as a page and as data.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Train again what an earlier run remembered.")] = False,
    resamples: Annotated[int, typer.Option(metavar="N", help="How many resamples an interval rests on.")] = 1000,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    latex: Latex = False,
) -> None:
    """Print the Hateful Memes paper's Table 1: eleven rows under three headings, beside ours.

    Each row is trained here, on train, with the checkpoint chosen on dev, and measured on dev and test; without a test
    part, dev is measured as test and a tenth of train chooses. A row that can't run says why. What a row reached is
    remembered. It needs the extras memes and train: small presets take minutes a row on a GPU, longer without.

    Examples:

      davy reproduce memes --data benchmark/ --out report

      davy reproduce memes --data harmeme/ --captions benchmark/ --row text --row concat

      davy reproduce memes --data harmeme/ --results results.jsonl
    """
    console.use_latex(latex, json=json)
    check_folder(out)
    with console.ShellReporter() as reporter:
        reproduction = reproduce_memes(
            data,
            rows=row or (),
            size=size,
            seeds=seeds,
            changes=parse_changes(set_ or ()),
            captions=captions,
            results=results or (),
            fresh=fresh,
            bootstrap=Bootstrap(resamples),
            reporter=reporter,
        )
    absent = [line for line in reasons(reproduction) if line.startswith("Not run")]
    show_reproduction(reproduction, out, absent, f"Data {reproduction.data}.", json=json)
