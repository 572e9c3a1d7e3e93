"""`davy database`: create, look at, upgrade, back up and restore the database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy.core.install import update_davy
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import default_url, open_store
from davy.store.backup import row_counts, write_backup
from davy.store.backup_file import BackupFile
from davy.store.connection import inspect_versions, open_any_version
from davy.store.restore import restore as restore_file
from davy.store.schema_versions import newest_version

if TYPE_CHECKING:
    from davy.image.image_folder import ImageFolder

app = typer.Typer(
    no_args_is_help=True,
    help="Create, look at, upgrade, back up and restore the database.\n\n"
    "It is a SQLite file (sqlite:///davy.sqlite) or PostgreSQL (postgresql://user:password@host/name).",
)


@app.command()
def status(database: Database = None, json: Json = False) -> None:
    """Show what the database is, its version, and how many rows each table has.

    Examples:

        davy database status

        davy database status --database postgresql://davy@localhost/davy --json
    """

    found, needed = inspect_versions(database)
    with open_any_version(database) as store, store.read() as db:
        counts = row_counts(db)
        where, kind = str(store), "SQLite" if store.sqlite else "PostgreSQL"
    if json:
        about = {"database": where, "kind": kind, "version": found, "needed": needed, "ready": found == needed}
        console.json({**about, "rows": counts})
        return
    console.out().print(f"{where} ({kind}), version {found or 'none'}", markup=False)
    if counts:
        console.table(["table", "rows"], [(name, f"{n:,}") for name, n in sorted(counts.items())], right=["rows"])
    if found is None:
        console.note("It is empty. Make its tables: davy database create")
    elif found != needed:
        newer = f"Update Davy: {update_davy()}" if found > needed else "Run: davy database upgrade"
        console.note(f"This Davy needs version {needed}. {newer}")


@app.command()
def create(database: Database = None, json: Json = False) -> None:
    """Make a new database, or the tables of an empty one. One that is there already stays as it is.

    Examples:

        davy database create

        davy database create --database postgresql://davy:secret@localhost/davy
    """

    with open_store(database, create=True) as store:
        _say({"database": str(store), "version": newest_version()}, f"{store} is ready.", json=json)


@app.command()
def upgrade(database: Database = None, json: Json = False) -> None:
    """Bring the database to the version that this Davy needs. A SQLite file is copied first.

    Stop `davy serve` before. For PostgreSQL, make a backup first.

    Examples:

        davy database upgrade

        davy database backup before.davy && davy database upgrade
    """

    found, needed = inspect_versions(database)
    with open_store(database, upgrade=True) as store:
        what = "was of that version already" if found == needed else f"came from version {found}"
        about = {"database": str(store), "was": found, "version": needed}
        _say(about, f"{store} is of version {needed}; it {what}.", json=json)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Where to write the backup; it must not be there yet.")],
    database: Database = None,
    json: Json = False,
) -> None:
    """Write everything into one file, while people go on working.

    The file restores into SQLite and PostgreSQL alike. It holds password
    hashes, all posts in clear and all pictures, so keep it where only you can read it.

    Examples:

        davy database backup davy-monday.davy

        davy database backup /backups/davy.davy --database postgresql://davy@localhost/davy
    """

    inspect_versions(database)
    with open_any_version(database) as store:
        with store.read() as db:
            total = sum(row_counts(db).values())
        with console.progress("Backing up", total) as advance:
            made = write_backup(store, file, images=_image_folder(database), progress=advance)
        about = {
            "database": str(store),
            "file": str(file),
            "version": made.database_version,
            "rows": made.rows,
            "images": made.images,
            "missing_images": made.missing_images,
        }
        with_images = f" and {made.images:,} pictures" if made.images else ""
        _say(about, f"{file} holds {made.total:,} rows{with_images} of {store}.", json=json)
        if made.missing_images:
            console.note(f"The files of {made.missing_images:,} pictures are gone, so they are not in it.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A backup that `davy database backup` wrote.")],
    database: Database = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a database that has rows; the old one is put aside.")
    ] = False,
    json: Json = False,
) -> None:
    """Fill a database from a backup: all of it, checked, or nothing.

    Stop `davy serve` before. Everyone has to sign in again afterwards. This is
    also how a team moves from SQLite to PostgreSQL, or back.

    Examples:

        davy database restore davy-monday.davy --replace

        davy database restore davy-monday.davy --database postgresql://davy:secret@localhost/davy
    """

    with BackupFile(file) as found:
        total = found.backup.total
    with console.progress("Restoring", total) as advance:
        images = _image_folder(database)
        made, aside = restore_file(file, database or default_url(), replace=replace, images=images, progress=advance)
    about = {
        "file": str(file),
        "made_at": made.made_at.isoformat(),
        "rows": made.rows,
        "images": made.images,
        "old": aside,
    }
    kept = f" The old database is {aside}." if aside else ""
    _say(about, f"{made.total:,} rows of {made.made_at:%Y-%m-%d %H:%M} UTC are back.{kept}", json=json)


def _image_folder(database: str | None) -> ImageFolder | None:
    """Return where a database's pictures are, or None where nobody said."""
    from davy.annotation.project.store import images
    from davy.image.image_folder import ImageFolder
    from davy.store import default_url

    path = images.folder_path(database or default_url())
    return None if path is None else ImageFolder(path)


def _say(about: Mapping[str, object], line: str, *, json: bool) -> None:
    if json:
        console.json(about)
    else:
        console.out().print(line, markup=False)
