"""`davy meme library`: licensed pictures to build memes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from davy.annotation.project.images import Credit
from davy.memes import fill_image_library as actions
from davy.memes.store.image_library import LibraryImage
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

app = typer.Typer(no_args_is_help=True, help="Licensed pictures to build memes from: add, list, search.")


@app.command()
def add(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder, or a table: image, words, licence, …")],
    licence: Annotated[str | None, typer.Option(help="Of pictures that have none in the table or credits.csv.")] = None,
    credit: Annotated[str | None, typer.Option(help="Who made the pictures.")] = None,
    origin: Annotated[str | None, typer.Option("--source", help="Where they are from, such as an address.")] = None,
    words: Annotated[str, typer.Option(help="Words that find all of these pictures.")] = "",
    database: Database = None,
) -> None:
    """Add pictures to the library, where every project may search and use them; all of them or none.

    File names and folders are words too. Pictures are written afresh: nothing but pixels is kept of a file.

    Examples:

      davy meme library add photos/ --licence CC0-1.0 --credit "A. Person"

      davy meme library add photos.csv
    """
    with open_store(database) as store, console.ShellReporter() as reporter:
        about = Credit(licence, credit, origin)
        new, given = actions.add_to_library(
            store, source, credit=about, words=words, by=events.SHELL, reporter=reporter
        )
    console.note(f"{new:,} of {given:,} pictures are new in the library.")


@app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List the library with licences and credits.

    Examples:

      davy meme library list
    """
    with open_store(database) as store:
        _show(actions.find_in_library(store, most=1_000_000), json=json)


@app.command()
def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What the picture shows; '' for all.")] = "",
    like: Annotated[
        Path | None, typer.Option(metavar="F", help="Those that look most like this picture first.")
    ] = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="How many to list.")] = 24,
    database: Database = None,
    json: Json = False,
) -> None:
    """Search the library by words, by likeness to a picture (colours and edges by place), or by both.

    Examples:

      davy meme library search "dog beach"

      davy meme library search --like meme.jpg
    """
    with open_store(database) as store:
        _show(actions.find_in_library(store, words, like=like, most=most), json=json)


def _show(rows: list[LibraryImage], *, json: bool) -> None:
    if json:
        console.json([_plain(row) for row in rows])
        return
    cells = [[row.key[:12], row.image.name, row.words, row.image.licence, row.image.credit] for row in rows]
    console.table(["key", "name", "words", "licence", "credit"], cells)
    console.note(f"{len(rows):,} pictures")


def _plain(row: LibraryImage) -> dict[str, Any]:
    about = {name: getattr(row.image, name) for name in ("name", "width", "height", "licence", "credit", "source")}
    return {"key": row.key, "words": row.words, **about}
