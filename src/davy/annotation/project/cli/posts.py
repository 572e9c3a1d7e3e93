"""`davy project hide`: keep posts, such as a test set, from all who don't run the project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.annotation.project.cli.project import Name
from davy.annotation.project.store import posts, projects
from davy.shell import console
from davy.shell.options import Database
from davy.store import events, open_store


def hide(
    project: Name,
    ids: Annotated[list[str], typer.Argument(metavar="IDS…", help="Ids of posts, or files with one a line.")],
    show: Annotated[bool, typer.Option("--show", help="Show them again instead.")] = False,
    database: Database = None,
) -> None:
    """Hide posts of a project, such as a test set: managers see them, others only where a phase gives them one.

    Examples:

        davy project hide pilot test-ids.txt

        davy project hide pilot p17 p18 --show
    """

    wanted = [post for one in ids for post in (_lines(Path(one)) if Path(one).is_file() else [one])]
    with open_store(database) as store, store.write() as db:
        projects.get(db, project)
        n = posts.set_hidden(db, project, list(dict.fromkeys(wanted)), hidden=not show, by=events.SHELL)
    console.note(f"{n:,} posts of project {project!r} are {'shown' if show else 'hidden'} now.")


def _lines(path: Path) -> list[str]:
    from davy.files.atomic import read_text

    return [line.strip() for line in read_text(path, "ids").splitlines() if line.strip()]
