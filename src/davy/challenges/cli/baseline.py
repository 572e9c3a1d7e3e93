"""`davy challenge baseline`: put baselines or human performance on a challenge's boards, as marked rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from davy.challenges.cli.challenge import Name, TaskName, score_now
from davy.core.errors import UserError
from davy.shell import console
from davy.shell.options import Database
from davy.store import events, open_store


def baseline(
    name: Name,
    source: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="Predictions, or a folder of such files.")],
    task: TaskName = None,
    title: Annotated[str | None, typer.Option("--title", help="What its row is called; without it, the file.")] = None,
    human: Annotated[bool, typer.Option("--human", help="It is human performance, not a baseline.")] = False,
    database: Database = None,
) -> None:
    """Put baselines on every board whose posts they cover. They take no rank, and count for no limit.

    Examples:

        davy reproduce edos --data edos/ --predictions baselines/

        davy challenge baseline edos baselines/

        davy challenge baseline edos annotators.csv --task A --human --title "one annotator"
    """
    from davy.challenges.challenge_baselines import add_baselines, baseline_files

    files = baseline_files(source)
    if title is not None and len(files) > 1:
        raise UserError(f"{source} has {len(files)} files, so one --title does not fit. Name one file.")
    files = [replace(each, name=title or each.name, kind="human" if human else each.kind) for each in files]
    with open_store(database) as store:
        sent = add_baselines(store, name, files, by=events.SHELL, task=task)
    score_now(database)
    console.note(f"Put {len(files)} on {len(sent)} boards of {name!r}.")
