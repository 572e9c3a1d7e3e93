"""`davy round close` and `davy round status`: end a round with its next target, and the story so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from davy.annotation.project.cli.project import Name
from davy.annotation.project.store import projects
from davy.core.errors import UserError
from davy.core.options import Option
from davy.jobs.job_files import files_folder
from davy.rounds.choice import choice_table
from davy.rounds.close_round import ClosedRound, close_project_round, has_encoders, round_story
from davy.rounds.store import rounds
from davy.shell import console
from davy.shell.options import Database, Json
from davy.shell.verb_command import Run, verb_command
from davy.store import default_url, events, open_store


@verb_command(
    close_project_round,
    "project architecture emoji times base pending choose_by set workers seed files database json",
)
def close(
    run: Run[ClosedRound],
    project: Name,
    choose_by: str,
    files: Annotated[Path | None, Option("The server's folder for files.", metavar="DIR")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Close a project's round: split its entries, train the candidates, and make the winner the next target.

    Called again after a stop it goes on where it was: entries and splits are frozen when it begins.

    Examples:

        davy round close duel --pending drop

        davy round close duel -a ./minilm -a tfidf --base labelled.csv
    """
    with open_store(database) as store:
        folder = files_folder(database or default_url(), files)
        if folder is None:
            raise UserError("Where do closes go? Name the server's folder for files: --files DIR")
        closed = run(store=store, project_id=project, files=folder, by=events.SHELL)
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
