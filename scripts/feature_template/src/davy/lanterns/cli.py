"""`davy lantern`: add lanterns and list them."""

from __future__ import annotations

from typing import Annotated

import typer
from davy.lanterns import store as lanterns

from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

app = typer.Typer(no_args_is_help=True, help="Add lanterns and list them.")


@app.command()
def add(name: Annotated[str, typer.Argument(help="What it is called.")], database: Database = None) -> None:
    """Add a lantern.

    Example:

        davy lantern add "the first one"
    """
    with open_store(database) as store, store.write() as db:
        made = lanterns.add(db, name, by=events.SHELL)
    console.note(f"{made.name!r} is added.")


@app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List all lanterns.

    Example:

        davy lantern list --json
    """
    with open_store(database) as store, store.read() as db:
        every = lanterns.list_lanterns(db)
    if json:
        console.json([{"id": it.id, "name": it.name, "added_at": it.added_at.isoformat()} for it in every])
    else:
        console.table(["name", "added"], [(it.name, f"{it.added_at:%Y-%m-%d %H:%M}") for it in every])
