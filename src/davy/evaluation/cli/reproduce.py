"""`davy reproduce`: the papers' tables beside ours, on the splits that are present."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from davy.evaluation.reproduce import reproduce as action
from davy.evaluation.reproduce.hatemoji import reproduce_hatemoji
from davy.evaluation.reproduce.paper_table import Reproduction, reasons, record, tables
from davy.evaluation.reproduce.reproduce_all import reproduce_all, write_all
from davy.files.atomic import check_folder
from davy.measure.intervals import Bootstrap
from davy.report import Table
from davy.shell import console
from davy.shell.options import Latex
from davy.training.train import parse_changes

app = typer.Typer(
    no_args_is_help=True,
    help="Regenerate a paper's table beside ours.\n\n"
    "Rows that this machine can't run say why. Answers are remembered, so that a second run takes seconds.\n\n"
    "Examples:\n\n  davy reproduce edos --data edos/\n\n"
    "  davy reproduce gmhp7k --data gmhp7k/ --encoder deepset/gbert-base",
)

Data = Annotated[Path, typer.Option("--data", metavar="DIR", help="The folder with the corpus's published files.")]
Encoders = Annotated[
    list[str] | None,
    typer.Option(
        "--encoder",
        metavar="[ROW=]NAME",
        help="The encoder to fine-tune for a transformer's row, or a model folder that is fine-tuned already.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the fine-tuning config, such as epochs=1."),
]
Unlabelled = Annotated[
    list[Path] | None,
    typer.Option(metavar="F", help="Posts that B4's and B6's encoders read before fine-tuning; again for more."),
]
Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", metavar="M", help="One more detector as a row; again for more.")
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Write report.html, table.csv and results.json here.")]
PredictionsOut = Annotated[
    Path | None,
    typer.Option(
        "--predictions-out", metavar="DIR", help="Write what each row answered here, for a challenge's board."
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute again what an earlier run remembered.")]
Seed = Annotated[int, typer.Option(help="The seed of fitting, chance and resamples.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
def edos(
    data: Data,
    encoder: Encoders = None,
    unlabelled: Unlabelled = None,
    set_: Set = None,
    model: Models = None,
    likely: Annotated[
        bool, typer.Option("--likely", help="Add B2 as the paper may have run it: words numbered anew when scoring.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--row", metavar="ROW", help="Run this row and no other; again for more.")
    ] = None,
    out: Out = None,
    predictions: PredictionsOut = None,
    fresh: Fresh = False,
    seed: Seed = 0,
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print EDOS's baselines B0 to B6 beside Table 3: macro-F1 for tasks A, B and C.

    Fitted on train, measured on test where DIR has it, else on dev. The embedded detectors are extra rows. A
    transformer's row is fine-tuned here where its encoder is on this machine, which takes minutes on a GPU and hours
    without; it is kept, so that the next run only reads it.

    Examples:

      davy reproduce edos --data edos/ --out report

      davy reproduce edos --data edos/ --encoder B3=./minilm --unlabelled reddit.csv --set epochs=2
    """
    console.use_latex(latex, json=json)
    given = (data, out, encoder, set_, unlabelled, model, fresh, seed)
    _reproduce("edos", *given, json=json, predictions=predictions, likely=likely, only=only)


@app.command()
def gmhp7k(
    data: Data,
    encoder: Encoders = None,
    set_: Set = None,
    model: Models = None,
    out: Out = None,
    fresh: Fresh = False,
    seed: Seed = 0,
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print GMHP7k's two binary tasks beside Table 7, with and without undersampling.

    Fitted on train, measured on test where DIR has it, else on val; each task has its own split column. Val chooses
    the checkpoint where test is measured. --json and --out have the intervals too.

    Examples:

      davy reproduce gmhp7k --data gmhp7k/

      davy reproduce gmhp7k --data gmhp7k/ --encoder deepset/gbert-base --json
    """
    console.use_latex(latex, json=json)
    _reproduce("gmhp7k", data, out, encoder, set_, None, model, fresh, seed, json=json)


@app.command()
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
    latex: Latex = False,
) -> None:
    """Print the Hatemoji paper's Tables 3, 4, 8 and 9 with our detectors as columns beside the paper's.

    With HatemojiCheck's file in the folder, figures compare; without it our own suite emoji-en is run instead, and
    the tables say so. Of Table 8, test sets that are not in the folder are left empty.

    Examples:

      davy reproduce hatemoji --data data/ --model embedded --model embedded-en-large

      davy reproduce hatemoji --model embedded --out report
    """
    console.use_latex(latex, json=json)
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
        made.write(out, command=shlex.join(console.command_line()))
        console.note(f"Wrote {out}/report.html and four CSV tables")
    if json:
        console.json(made.to_dict())
        return
    for table in made.tables.values():
        console.show(table)


@app.command(name="all")
def every_paper(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="The folder that holds a folder a corpus.")],
    paper: Annotated[
        list[str] | None, typer.Option("--paper", metavar="P", help="Only this paper; again for more.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write report.html and results.json here.")] = None,
    seed: Seed = 0,
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print the four papers' tables on one page, ours beside theirs where the data is at hand.

    A paper whose data is not in DIR keeps its own figures, and says what is missing. Transformers' rows are run by each
    paper's own command, which takes their encoders.

    Examples:

      davy reproduce all --data data/ --out report

      davy reproduce all --data data/ --paper edos --paper gmhp7k --json
    """
    console.use_latex(latex, json=json)
    check_folder(out)
    with console.ShellReporter() as reporter:
        sections = reproduce_all(data, papers=paper or (), seed=seed, reporter=reporter)
    if out is not None:
        write_all(sections, out, seed=seed, command=shlex.join(console.command_line()))
        console.note(f"Written: {out}/report.html, results.json")
    if json:
        console.json({name: section.to_dict() for name, section in sections.items()})
        return
    for section in sections.values():
        missing = [section.missing] if section.missing else []
        print_section(section.title, section.tables, [*missing, *section.notes, f"Beside {section.source}."])


def _reproduce(
    paper: str,
    data: Path,
    out: Path | None,
    encoders: list[str] | None,
    changes: list[str] | None,
    unlabelled: list[Path] | None,
    models: list[str] | None,
    fresh: bool,
    seed: int,
    *,
    json: bool,
    predictions: Path | None = None,
    likely: bool = False,
    only: list[str] | None = None,
) -> None:
    check_folder(out)
    with console.ShellReporter() as reporter:
        reproduction = action.reproduce(
            paper,
            data,
            encoders=encoders or [],
            changes=parse_changes(changes or ()),
            unlabelled=unlabelled or (),
            models=models or [],
            likely=likely,
            only=only or [],
            fresh=fresh,
            seed=seed,
            predictions=predictions,
            reporter=reporter,
        )
    show_reproduction(
        reproduction, out, reasons(reproduction), f"Data {reproduction.data}, seed {reproduction.seed}.", json=json
    )


def show_reproduction(found: Reproduction, out: Path | None, not_run: list[str], data: str, *, json: bool) -> None:
    """Write a table into a folder where one is named, and print it with why rows were not run and what it rests on."""
    if out is not None:
        action.write_reproduction(found, out, command=shlex.join(console.command_line()))
        console.note(f"Written: {out}/report.html, table.csv, results.json")
    if json:
        console.json(record(found))
        return
    print_section(
        found.title, found.layout or tables(found), [*found.notes, *not_run, f"Beside {found.source}. {data}"]
    )


def print_section(title: str, shown: Iterable[Table], lines: Iterable[str]) -> None:
    """Print tables under a title, and lines below them."""
    console.line(title, "bold")
    for table in shown:
        console.show(table)
    for line in lines:
        console.line(line, "dim")
