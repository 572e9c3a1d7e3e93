"""`davy migrate`: come over from Perspective."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.cli import console
from davy.cli.options import TextColumn

app = typer.Typer(no_args_is_help=True, help="Come over from Perspective.")


@app.callback()
def migrate() -> None:
    """Come over from Perspective."""


@app.command("compare")
def compare(
    logs: Annotated[
        list[str], typer.Argument(metavar="F…", help="The old scores: files, folders, patterns in quotes.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the report and the thresholds.")],
    model: Annotated[str, typer.Option("--model", "-m", metavar="M", help="The detector.")] = "embedded",
    posts: Annotated[
        str | None, typer.Option(metavar="F2", help="A file with the texts, found by id, where F has none.")
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold", metavar="[A=]T", help="From where on you flagged: 0.5, or TOXICITY=0.8; repeat. Else 0.7."
        ),
    ] = None,
    attributes: Annotated[
        str, typer.Option(metavar="F3", help="Which question stands behind which attribute.")
    ] = "perspective",
    text_column: TextColumn = None,
    seed: Annotated[int, typer.Option(help="The seed of the resamples.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare old Perspective scores with a detector's, and fit thresholds that flag the same share.

    Each attribute gets its rank correlation, its new threshold with an interval, and how many decisions stay the same.

    Examples:

      davy migrate compare perspective.jsonl --threshold 0.7 --out migration

      davy migrate compare scores.csv --posts comments.csv --threshold TOXICITY=0.8 --out migration
    """
    from davy.actions.migrate import compare_log, parse_thresholds, write_migration
    from davy.files.atomic import check_folder
    from davy.files.formats import display_name
    from davy.files.many_files import join_paths, short_name
    from davy.plans.attribute_map import load_attributes

    check_folder(out)
    log = join_paths(logs)
    with console.ShellReporter() as reporter:
        done = compare_log(
            log,
            model,
            posts=posts,
            thresholds=parse_thresholds(threshold or []),
            attributes=load_attributes(attributes),
            text=text_column,
            seed=seed,
            reporter=reporter,
        )
    files = write_migration(
        done, out, log=display_name(log), command=f"davy migrate compare {short_name(log)} --model {model}"
    )
    if json:
        console.json(done.to_dict())
        return
    console.out().print(done.table().rich())
    for note in done.notes():
        console.note(note)
    console.note(f"Written: {', '.join(str(file) for file in files)}")
