"""`davy database retention`: rules by which the server deletes what is old, and what each would remove."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.core.errors import UserError
from davy.jobs.job_files import files_folder
from davy.people.retention import apply_rule, preview
from davy.people.store import retention as rules
from davy.people.store.retention import RetentionRule
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import Store, default_url, events, open_store


def retention(
    set_: Annotated[
        str | None, typer.Option("--keep", metavar="WHAT=DAYS", help="Set a rule, such as decisions=90.")
    ] = None,
    end: Annotated[str | None, typer.Option("--end", metavar="WHAT", help="End a rule.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Apply the rules now, not only once a day.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask before anything is removed.")] = False,
    project: Annotated[str | None, typer.Option("--project", help="A project's rules.", show_default="server")] = None,
    files: Annotated[Path | None, typer.Option("--files", help="The server's folder for files.")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Show the rules by which old records are deleted and what each would remove now; set, end or apply them.

    There is no rule until you set one. A worker applies rules once a day, for the first time a day after they were
    set. For the server: decisions, corrections (reviewed ones), shadow posts, jobs, refusals, sessions, exports.
    For a project: check-ins, and texts, which go so many days after it was closed; its labels stay.

    Examples:

        davy database retention --keep decisions=90

        davy database retention --keep texts=365 --project pilot

        davy database retention

        davy database retention --end decisions

        davy database retention --apply
    """
    with open_store(database) as store:
        folder = files_folder(database or default_url(), files)
        if set_ is not None:
            _set(store, set_, project, folder)
        if end is not None:
            with store.write() as db:
                rules.end_rule(db, end, by=events.SHELL, project=project)
            console.note(f"The rule for {end} has ended.")
        if apply:
            _apply(store, project, folder, yes=yes)
        elif set_ is None and end is None:
            _show(store, project, folder, json=json)


def _set(store: Store, wanted: str, project: str | None, folder: Path | None) -> None:
    what, _, days = wanted.partition("=")
    if not (days.isascii() and days.isdigit()):
        raise UserError(f"--keep is {wanted[:60]!r}. Write what and after how many days: --keep decisions=90")
    rule = rules.make_rule(what.strip(), int(days), by=events.SHELL, project=project)
    with store.write() as db:
        rules.set_rule(db, rule)
    going = preview(store, rule, folder)
    console.note(
        f"{rule.what} go after {rule.days:,} days, for the first time on {rule.applies_from():%Y-%m-%d %H:%M} UTC. "
        f"As of now {going:,} would."
    )


def _show(store: Store, project: str | None, folder: Path | None, *, json: bool) -> None:
    with store.read() as db:
        found = rules.list_rules(db, project=project, everywhere=project is None)
    rows = [(rule, preview(store, rule, folder)) for rule in found]
    if json:
        console.json(
            [
                {
                    "project": rule.project or None,
                    **console.record(rule, "what", "days", "set_at", "set_by"),
                    "would_go": going,
                }
                for rule, going in rows
            ]
        )
        return
    if not rows:
        console.note(
            "There is no rule: nothing is deleted by age. Set one: davy database retention --keep decisions=90"
        )
        return
    console.table(
        ["of", "what", "days", "first applied", "would go now"],
        [
            (
                rule.project or "server",
                rule.what,
                f"{rule.days:,}",
                f"{rule.applies_from():%Y-%m-%d %H:%M}",
                f"{going:,}",
            )
            for rule, going in rows
        ],
    )


def _apply(store: Store, project: str | None, folder: Path | None, *, yes: bool) -> None:
    with store.read() as db:
        found = rules.list_rules(db, project=project, everywhere=project is None)
    going = [(rule, n) for rule in found if (n := preview(store, rule, folder))]
    if not going:
        console.note("Nothing is old enough for any rule, so nothing was removed.")
        return
    for rule, n in going:
        console.note(f"{_name(rule)}: {n:,} older than {rule.days:,} days")
    if not yes and not typer.confirm("Remove these for good?"):
        console.note("Nothing was removed.")
        return
    for rule, _ in going:
        console.note(f"{_name(rule)}: {apply_rule(store, rule, folder, by=events.SHELL):,} removed")


def _name(rule: RetentionRule) -> str:
    return f"{rule.what} of project {rule.project}" if rule.project else rule.what
