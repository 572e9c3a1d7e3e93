"""`davy collect withdraw`: deleted posts out of the database and files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from davy.annotation.project.images import discard_unused, folder_of
from davy.annotation.project.store import withdrawals
from davy.corpus.collect import withdrawal as withdrawing
from davy.shell import console
from davy.store import events, open_store


def withdraw(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="IDS…", help="Ids or addresses of posts, or files with one a line; '-' is stdin."),
    ],
    file: Annotated[
        list[Path] | None, typer.Option("--file", metavar="F", help="A file to take them out of; again for more.")
    ] = None,
    platform: Annotated[
        str | None, typer.Option("--platform", metavar="P", help="The platform of ids that are bare numbers.")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option("--database", help="Database URL.", envvar="DAVY_DATABASE", show_default="sqlite:///davy.sqlite"),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="P", help="Only out of this project; else out of all that have the id."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Remove posts that their authors deleted, with everything derived from their text, and say what was affected.

    From the database go the posts, posts derived from them, their answers, comments and verdicts; from files the rows.
    Backups, copies elsewhere and trained detectors are out of reach: the report says so.

    Examples:

      davy collect withdraw deleted.txt --file posts.parquet --file scored.csv

      davy collect withdraw x:1503 https://x.com/somebody/status/1504 --dry-run
    """

    wanted = withdrawing.withdrawn_ids(ids, platform)
    outcome: dict[str, Any] = {"asked": len(wanted), "dry_run": dry_run, "database": None, "files": []}
    if file is None or database is not None or Path("davy.sqlite").exists():
        outcome["database"] = _withdraw_stored(database, wanted, project, dry_run=dry_run)
    for path in file or []:
        done = withdrawing.clear(path, wanted, change=not dry_run)
        outcome["files"].append(
            {"file": done.file, "rows": done.rows, "removed": done.removed, "derived": done.derived}
        )
    if json:
        console.json(outcome)
    else:
        _print_withdrawn(outcome)


def _withdraw_stored(database: str | None, wanted: list[str], project: str | None, *, dry_run: bool) -> dict[str, Any]:
    """Remove posts from the database, or only look, and return what was touched."""

    with open_store(database) as store:
        if dry_run:
            with store.read() as db:
                done = withdrawals.preview(db, wanted, project=project)
        else:
            with store.write() as db:
                done = withdrawals.withdraw(db, wanted, by=events.SHELL, project=project)
            if done.images:
                with store.write() as db:
                    discard_unused(db, folder_of(store), done.images)
            store.truncate_log()
        return {
            "database": str(store), "posts": len(done.found), "derived": len(done.derived), "rows": done.rows,
            "images": len(done.images), "projects": list(done.projects), "annotators": done.annotators,
            "verdicts": done.verdicts,
        }  # fmt: skip


def _print_withdrawn(found: dict[str, Any]) -> None:
    would = "would be " if found["dry_run"] else ""
    rows = [(f["file"], f"{f['removed']:,}", f"{f['derived']:,}", f"{f['rows']:,}") for f in found["files"]]
    stored = found["database"]
    if stored is not None:
        rows.insert(0, (stored["database"], f"{stored['posts']:,}", f"{stored['derived']:,}", ""))
    columns = ["where", f"posts {would}removed", "derived from them", "rows before"]
    console.table(columns, rows, right=columns[1:])
    if stored is not None and stored["rows"]:
        console.note("Rows removed: " + ", ".join(f"{n:,} {name}" for name, n in stored["rows"].items()))
    if stored is not None and stored["verdicts"]:
        lost = ", ".join(f"{n:,} of {name}" for name, n in stored["verdicts"].items())
        console.note(f"Settled answers {would}gone: {lost}; by {stored['annotators']:,} people. Figures will move.")
    removed = sum(it["removed"] for it in found["files"]) + (stored["posts"] if stored else 0)
    if not removed:
        console.note(f"None of the {found['asked']:,} ids was found. Check how posts are called: davy describe FILE.")
        return
    console.note(
        "Not reached: backups, copies elsewhere, reports already made, and detectors trained with these posts. "
        "Train those again."
    )
