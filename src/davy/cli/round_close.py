"""`davy round close` and `davy round status`: end a round with its next target, and the story so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions.rounds import CloseSettings, close_project_round, has_encoders, round_story
from davy.actions.train import parse_changes
from davy.cli import console
from davy.cli.database import Database, Json
from davy.cli.options import Architectures, EmojiReadings
from davy.cli.project import Name
from davy.core.errors import UserError
from davy.jobs.job_files import files_folder
from davy.rounds.candidates import BASE, EMOJI, TIMES
from davy.rounds.choice import choice_table
from davy.store import default_url, events, open_store, projects, rounds


def close(
    project: Name,
    architecture: Architectures = None,
    emoji: EmojiReadings = None,
    times: Annotated[
        list[int] | None, typer.Option(metavar="N", help="How often this round's entries count; again for more.")
    ] = None,
    base: Annotated[
        Path | None, typer.Option(metavar="F", help="Labelled posts that every candidate learns from too.")
    ] = None,
    pending: Annotated[
        str, typer.Option(help="Entries that nobody validated: refuse to close, or drop them.")
    ] = "refuse",
    choose_by: Annotated[str, typer.Option(help="The part that chooses: dev, or test as in the paper.")] = "dev",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the recipe `hatemoji`.")
    ] = None,
    workers: Annotated[int, typer.Option(help="How many candidates train side by side.")] = 1,
    seed: Annotated[int, typer.Option(help="The seed of splits and trainings.")] = 0,
    files: Annotated[Path | None, typer.Option(metavar="DIR", help="The server's folder for files.")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Close a project's round: split its entries, train the candidates, and make the winner the next target.

    Called again after a stop it goes on where it was: entries and splits are frozen when it begins.

    Examples:

        davy round close duel --pending drop

        davy round close duel -a ./minilm -a tfidf --base labelled.csv
    """
    settings = CloseSettings(
        tuple(architecture or (BASE,)),
        tuple(emoji or EMOJI),
        tuple(times or TIMES),
        str(base or ""),
        choose_by,
        pending,
        seed,
        workers,
        parse_changes(set_ or ()),
    )
    with open_store(database) as store, console.ShellReporter() as reporter:
        folder = files_folder(database or default_url(), files)
        if folder is None:
            raise UserError("Where do closes go? Name the server's folder for files: --files DIR")
        closed = close_project_round(store, project, folder, settings, by=events.SHELL, reporter=reporter)
    if json:
        console.json({"target": closed.target, "suites": dict(closed.suites), **closed.outcome.to_dict()})
        return
    console.out().print(choice_table(closed.outcome.results, closed.outcome.this, by=choose_by).rich())
    if not has_encoders():
        console.note("Only n-grams could be tried here. Encoders need the extra train: pip install 'davy[train]'")


def status(project: Name, database: Database = None, json: Json = False) -> None:
    """Print the story of a project's rounds so far: error rates, targets, quality, composition, time.

    Examples:

        davy round status duel
    """
    with open_store(database) as store, store.read() as db:
        found = projects.get(db, project).id
        story, under_way = round_story(db, found), rounds.of_project(db, found)
    if json:
        console.json(story.to_dict())
        return
    if not story.tables and under_way:
        console.note(f"Round {under_way[-1].number} has no entry yet.")
    elif not story.tables:
        console.note(f"No entry yet. Open a round: davy round open {project} --target embedded")
    for table in story.tables.values():
        console.out().print(table.rich())
