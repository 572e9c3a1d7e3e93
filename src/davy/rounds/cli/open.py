"""`davy round open`: open a round in a project."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.annotation.project.cli.project import Name
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import projects
from davy.core.errors import UserError
from davy.rounds.open_round import find_target
from davy.rounds.open_round import open_round as open_in
from davy.rounds.round import EntryRules
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store


def open_(
    project: Name,
    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            help="The detector to fool: NAME or NAME@VERSION that the server knows, or what --model takes (a folder, "
            "embedded, url:http…). Several are fine; the first one counts.",
        ),
    ],
    name: Annotated[str | None, typer.Option("--name", help="What the round is called.")] = None,
    emoji: Annotated[bool, typer.Option("--emoji/--no-emoji", help="Whether an entry needs an emoji.")] = True,
    lang: Annotated[list[str] | None, typer.Option("--lang", help="A language that entries may have.")] = None,
    shortest: Annotated[int, typer.Option("--shortest", help="The fewest characters of an entry.")] = 3,
    longest: Annotated[int, typer.Option("--longest", help="The most characters of an entry.")] = 280,
    goal_each: Annotated[int | None, typer.Option("--goal-each", help="How many entries each person writes.")] = None,
    goal_all: Annotated[int | None, typer.Option("--goal", help="How many entries the round has in all.")] = None,
    goal_week: Annotated[
        int | None, typer.Option("--goal-week", help="How many entries each person writes in seven days.")
    ] = None,
    anyway: Annotated[
        str | None, typer.Option("--anyway", help="Open it although an earlier phase says not yet; give the reason.")
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Open a round: people write texts that the target gets wrong. Its entries are validated in a phase of its own.

    Examples:

        davy round open duel --target embedded --lang en --goal 1000

        davy round open duel --target models/second --target embedded --goal-each 100 --goal-week 25
    """
    try:
        rules = EntryRules(emoji, tuple(lang or ()), shortest, longest)
    except ValueError as error:
        raise UserError(f"{error}.") from None
    with open_store(database) as store:
        with store.read() as db:
            found = projects.get(db, project)
            question = scheme_of(db, found).questions[0].name
        targets = [find_target(store, it, question, by=events.SHELL) for it in target]
        with store.write() as db:
            made = open_in(
                db,
                found,
                targets=targets,
                by=events.SHELL,
                name=name,
                rules=rules,
                goal_each=goal_each,
                goal_all=goal_all,
                goal_week=goal_week,
                anyway=anyway,
            )
    if json:
        console.json({"project": found.id, "round": made.number, "name": made.name, "targets": targets})
    console.note(f"Round {made.number} of {found.id} is open against {', '.join(targets)}.")
