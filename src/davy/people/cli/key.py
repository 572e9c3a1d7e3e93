"""`davy key`: API keys, which let programs in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from davy.core.errors import UserError
from davy.people.store import keys, users
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import Connection, events, open_store

PROGRAMS = "programs"

app = typer.Typer(
    no_args_is_help=True,
    help="Make, list and revoke API keys, which let programs in.\n\n"
    "Scopes are score, read, annotate, submit, metrics and admin.",
)


@app.command()
def create(
    scope: Annotated[list[str], typer.Option("--scope", help="What it may do. Repeat for more.")],
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner", help="Login of the account that the key acts for.", show_default=f"{PROGRAMS}, made for keys"
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "made in the shell",
    days: Annotated[float | None, typer.Option("--days", help="How long it works; without it, until revoked.")] = None,
    per_minute: Annotated[
        int | None, typer.Option("--per-minute", help="Requests a minute.", show_default="1200", min=1)
    ] = None,
    per_day: Annotated[int | None, typer.Option("--per-day", help="Posts a day; without it, no quota.", min=1)] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Bind it to this project: it opens its API and nothing else.")
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", help="The language of its comments that name none, where it can't be told: de."),
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Make an API key and print it, as the last line. It is shown only now.

    Without --owner it belongs to the account "programs", which nobody can sign in with. A key for one project needs
    an owner who is in it, and may do there what its owner may; its scopes are read and annotate.

    Examples:

        davy key create --scope score --database sqlite:///davy.sqlite

        davy key create --scope score --per-minute 6000 --per-day 1000000

        davy key create --owner lin@example.org --scope score --name "comment filter"

        davy key create --owner lin@example.org --scope score --scope read --days 90 --json

        davy key create --project pilot --owner lin@example.org --scope read --per-day 5000
    """
    from datetime import timedelta

    if days is not None and not 0 < days <= 36_500:
        raise UserError(f"--days is {days:g}. A key lasts more than 0 and at most 36500 days.")
    if project is not None and owner is None:
        raise UserError("--project needs --owner: the login of somebody in the project, in whose name the key acts.")
    limits = keys.KeyLimits(per_minute=per_minute, per_day=per_day)
    lasts = None if days is None else timedelta(days=days)
    with open_store(database) as store, store.write() as db:
        user = users.find(db, owner) if owner else _programs(db)
        key, secret = keys.create(
            db,
            name=name,
            owner=user.id,
            scopes=scope,
            by=events.SHELL,
            lasts=lasts,
            limits=limits,
            project=project,
            lang=lang,
        )
    if json:
        about = {"id": key.id, "prefix": key.prefix, "name": key.name, "owner": user.login, "scopes": key.scopes}
        bound = {"project": project, "lang": key.lang}
        ends_at = key.expires_at and key.expires_at.isoformat()
        console.json({**about, **asdict(limits), **bound, "expires_at": ends_at, "key": secret})
        return
    ends = f"until {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else "until it is revoked"
    where = f" in project {project} and nowhere else" if project else ""
    console.note(f"For {user.login}, may {', '.join(key.scopes)}{where}, {ends}. It is not shown again.")
    print(secret)


def _programs(db: Connection) -> users.User:
    """Return the account of keys that nobody in person owns; it has no password, so nobody signs in with it."""
    known = next((user for user in users.list_users(db) if user.login == PROGRAMS), None)
    return known or users.add(db, login=PROGRAMS, name="Programs", role="expert", by=events.SHELL)


@app.command("list")
def list_(
    owner: Annotated[str | None, typer.Option("--owner", help="Only this login's keys.")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """List the API keys: whose, what they may do, when last used. The keys themselves are not kept.

    Examples:

        davy key list

        davy key list --owner lin@example.org --json
    """

    with open_store(database) as store, store.read() as db:
        found = keys.list_keys(db, owner=users.find(db, owner).id if owner else None)
        logins = {user.id: user.login for user in users.list_users(db)}
    if json:
        names = ("id", "prefix", "name", "owner", "scopes", "state", "created_at", "expires_at", "used_at",
                 *keys.LIMIT_UNITS, "project")  # fmt: skip
        console.json([{**console.record(it, *names), "owner": logins[it.owner]} for it in found])
        return
    if not found:
        console.note("There are no API keys. Make one: davy key create --owner LOGIN --scope score")
        return
    rows = [
        (
            it.prefix,
            it.name,
            logins[it.owner],
            " ".join(it.scopes),
            it.project or "",
            f"{it.per_minute or 'usual'} / {it.per_day or 'no quota'}",
            it.state,
            f"{it.used_at:%Y-%m-%d %H:%M}" if it.used_at else "never",
        )
        for it in found
    ]
    console.table(["key", "name", "owner", "scopes", "project", "a minute / a day", "state", "last used"], rows)


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The eight characters that `davy key list` shows.")],
    database: Database = None,
) -> None:
    """Stop an API key for good.

    Examples:

        davy key revoke 7k2m9x4q
    """

    with open_store(database) as store, store.write() as db:
        found = keys.revoke(db, key, by=events.SHELL)
    console.note(f"Key {found.prefix} ({found.name}) is revoked.")
