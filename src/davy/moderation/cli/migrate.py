"""`davy migrate`: coming over from Perspective."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.core.options import Option
from davy.files.atomic import check_folder
from davy.files.formats import display_name
from davy.files.input_paths import join_paths, short_name
from davy.moderation.migrate import Migration, compare_log
from davy.moderation.migration_report import write_migration
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

app = typer.Typer(no_args_is_help=True, help="Come over from Perspective.")


@app.callback()
def migrate() -> None:
    """Come over from Perspective."""


@app.command("compare")
@verb_command(compare_log, "logs out model posts flagged_from attributes text_column seed json")
def compare(
    run: Run[Migration],
    logs: list[str],
    model: str,
    out: Annotated[Path, Option("The folder for the report and the thresholds.", metavar="DIR")],
    json: Annotated[bool, Option("Print the figures as JSON.")] = False,
) -> None:
    """Compare old Perspective scores with a detector's, and fit thresholds that flag the same share.

    Each attribute, and each of its languages, gets its rank correlation, its new threshold with an interval, how many
    flags are kept and how many decisions stay the same. disagreements.html shows posts that are decided differently.

    Examples:

      davy migrate compare perspective.jsonl --flagged-from 0.7 --out migration

      davy migrate compare scores.csv --posts comments.csv --flagged-from TOXICITY=0.8 --out migration
    """
    check_folder(out)
    log = join_paths(logs)
    done = run()
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
