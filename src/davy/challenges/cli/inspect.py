"""`davy inspect challenge`: the posts that the best systems of a challenge's board all miss, for two people to read."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.reviews.cli.inspect import Out, note_project
from davy.shell.options import Database
from davy.store import open_store


def challenge(
    name: Annotated[str, typer.Argument(metavar="CHALLENGE", help="The challenge's id, on this server.")],
    phase: Annotated[str, typer.Option(metavar="P", help="The phase whose board counts.")],
    task: Annotated[str, typer.Option(metavar="T", help="The task.")],
    out: Out,
    top: Annotated[int, typer.Option(metavar="K", min=1, help="What the best K systems all miss.")] = 10,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many posts, drawn by the seed.")] = 100,
    seed: Annotated[int, typer.Option(help="The seed of the sample.")] = 0,
    database: Database = None,
) -> None:
    """Write the same from a challenge's board: the posts that its best systems all miss. They show hidden labels.

    Examples:

      davy inspect challenge mill-valley --phase test --task A --out queue
    """
    from davy.challenges.challenge_analysis import write_challenge_queue

    with open_store(database) as store:
        items = write_challenge_queue(store, name, phase, task, out, top=top, most=most, seed=seed)
    note_project(out, len(items))
