"""`davy project delete` and `restore`: a project that has no answers goes, and comes back within a day."""

from __future__ import annotations

from davy.annotation.project.cli.project import Name
from davy.annotation.project.store import removal
from davy.shell import console
from davy.shell.options import Database
from davy.store import events, open_store


def delete(project: Name, database: Database = None) -> None:
    """Delete a project that nobody has answered in, or a sample. It can be restored for a day.

    Examples:

        davy project delete pilot
    """
    with open_store(database) as store, store.write() as db:
        gone = removal.delete_project(db, project, by=events.SHELL)
    console.note(
        f"Project {gone.id} was deleted. Until {removal.restorable_until(gone):%Y-%m-%d %H:%M} UTC it can be "
        f"brought back: davy project restore {gone.id}"
    )


def restore(project: Name, database: Database = None) -> None:
    """Bring back a project that was deleted less than a day ago, with all that it had.

    Examples:

        davy project restore pilot
    """
    with open_store(database) as store, store.write() as db:
        back = removal.restore_project(db, project, by=events.SHELL)
    console.note(f"Project {back.id} is back as it was. See it: davy project show {back.id}")
