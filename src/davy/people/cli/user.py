"""`davy user`: invite people, and say what they may do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from davy.core.errors import UserError
from davy.files.atomic import write_json
from davy.people.cli.invitation_link import BaseUrl, invitation_link, invitation_time, note_address
from davy.people.passwords import hash_password
from davy.people.store import invitations, personal_data, users
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

app = typer.Typer(
    no_args_is_help=True,
    help="Invite people, and say what they may do.\n\nRoles are admin, expert and annotator.",
)

_INVITATION = ("id", "role", "login", "expires_at")

Login = Annotated[str, typer.Argument(metavar="LOGIN", help="The user's login or id.")]


@app.command()
def invite(
    role: Annotated[str, typer.Option("--role", help="admin, expert or annotator.")] = "annotator",
    login: Annotated[str | None, typer.Option("--login", help="The only login that may use it.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Their name, to start the form with.")] = None,
    days: Annotated[float, typer.Option("--days", help="How long the link works.")] = 7,
    base_url: BaseUrl = "",
    database: Database = None,
    json: Json = False,
) -> None:
    """Make an invitation and print its link. It works once, and it is shown only now.

    Examples:

        davy user invite --role expert

        davy user invite --login lin@example.org --days 2 --base-url https://davy.example.org
    """
    lasts = invitation_time(days)
    with open_store(database) as store, store.write() as db:
        made, token = invitations.create(db, role=role, by=events.SHELL, login=login, name=name, lasts=lasts)
    link = invitation_link(base_url, token)
    if json:
        console.json({**console.record(made, *_INVITATION), "link": link})
        return
    print(link)
    console.note(f"For one {made.role}, until {made.expires_at:%Y-%m-%d %H:%M} UTC. It is not shown again.")
    note_address(base_url)


@app.command()
def create(
    login: Annotated[str, typer.Argument(metavar="LOGIN", help="What they sign in with, such as an address.")],
    name: Annotated[str, typer.Option("--name", help="Their name.")],
    role: Annotated[str, typer.Option("--role", help="admin, expert or annotator.")] = "annotator",
    database: Database = None,
) -> None:
    """Make an account without a browser, the first one too. The password is asked for, or read from standard input.

    Examples:

        davy user create lin@example.org --name Lin --role admin

        davy user create lin@example.org --name Lin --role admin < password.txt
    """
    hashed = hash_password(_ask_password(), login=login)
    with open_store(database) as store, store.write() as db:
        user = users.add(db, login=login, name=name, role=role, by=events.SHELL, password_hash=hashed)
    console.note(f"{user.login} has an account as {user.role}.")


@app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List the accounts, and the invitations that nobody has used yet.

    Examples:

        davy user list

        davy user list --json
    """

    with open_store(database) as store, store.read() as db:
        people, open_ones = users.list_users(db), invitations.list_unused(db)
    if json:
        console.json(
            {
                "users": [
                    console.record(it, "id", "login", "name", "role", "language", "created_at", "disabled")
                    for it in people
                ],
                "invitations": [console.record(it, *_INVITATION) for it in open_ones],
            }
        )
        return
    if not people and not open_ones:
        console.note("Nobody is here yet. Invite an admin: davy user invite --role admin")
        return
    rows = [
        (it.login, str(it.name), it.role, "disabled" if it.disabled else "", f"{it.created_at:%Y-%m-%d}")
        for it in people
    ]
    rows += [
        (it.login or "anyone", it.name or "", it.role, f"invitation, {it.state}", f"{it.created_at:%Y-%m-%d}")
        for it in open_ones
    ]
    console.table(["login", "name", "role", "state", "since"], rows)


@app.command()
def disable(login: Login, database: Database = None) -> None:
    """Switch an account off at once. What the person did stays.

    Examples:

        davy user disable lin@example.org
    """

    with open_store(database) as store, store.write() as db:
        user = users.find(db, login)
        users.disable(db, user.id, by=events.SHELL)
    console.note(f"{user.login} is switched off: sessions ended, API keys stopped.")


@app.command()
def enable(login: Login, database: Database = None) -> None:
    """Switch an account on again.

    Examples:

        davy user enable lin@example.org
    """

    with open_store(database) as store, store.write() as db:
        user = users.find(db, login)
        users.enable(db, user.id, by=events.SHELL)
    console.note(f"{user.login} is switched on.")


@app.command()
def role(
    login: Login,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="admin, expert or annotator.")],
    database: Database = None,
) -> None:
    """Change what a person may do.

    Examples:

        davy user role lin@example.org expert
    """

    with open_store(database) as store, store.write() as db:
        user = users.find(db, login)
        users.set_role(db, user.id, role, by=events.SHELL)
    console.note(f"{user.login} was {user.role} and is now {role}.")


@app.command()
def password(login: Login, database: Database = None) -> None:
    """Set a person's password and sign them out everywhere. It is asked for, or read from standard input.

    Examples:

        davy user password lin@example.org

        davy user password lin@example.org < password.txt
    """

    with open_store(database) as store:
        with store.read() as db:
            user = users.find(db, login)
        # Hashed before the write begins: it takes long, and a write holds up others.
        hashed = hash_password(_ask_password(), login=user.login)
        with store.write() as db:
            users.set_password(db, user.id, hashed, by=events.SHELL)
    console.note(f"{user.login} has a new password; their sessions ended.")


@app.command()
def export(
    login: Login,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write here; without it, print.")
    ] = None,
    database: Database = None,
) -> None:
    """Give out everything that is kept about a person, as JSON: for them, since it holds what is private.

    Account, sessions, memberships with pseudonyms, hours, check-ins, survey answers, messages, codes and
    annotations. Texts of posts are not in it.

    Examples:

        davy user export lin@example.org --out lin.json
    """

    with open_store(database) as store, store.read() as db:
        made = personal_data.export(db, users.find(db, login).id)
    write_json("-" if out is None else out, made)
    if out is None:
        return
    console.note(f"{out}: {len(made['annotations']):,} annotations. It is private: give it only to the person.")


@app.command()
def delete(
    login: Login,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask. It can't be brought back.")] = False,
    keep_comments: Annotated[
        bool, typer.Option("--keep-comments", help="Leave the comments that they wrote about posts.")
    ] = False,
    database: Database = None,
    json: Json = False,
) -> None:
    """Delete an account and a person's data in all projects. Their answers stay under their pseudonyms.

    Name, login, password, sessions, keys, check-ins, survey answers and what they said of themselves go. A
    project whose settings say `deletion: {answers: delete}` loses their answers, too.

    Examples:

        davy user delete lin@example.org

        davy user delete lin@example.org --yes
    """
    with open_store(database) as store:
        with store.read() as db:
            user = users.find(db, login)
        if personal_data.is_deleted(user):
            raise UserError(f"The data of {user.login!r} was deleted already.")
        if not yes:
            _ask_sure(user.login)
        with store.write() as db:
            done = personal_data.delete_account(db, user.id, by=events.SHELL, comments=not keep_comments)
        store.truncate_log()
    if json:
        console.json({"id": user.id, "projects": done.projects, "answers_deleted": done.answers})
        return
    console.note(
        f"The account is deleted, and the person's data in {done.projects} projects. "
        f"{done.answers:,} answers went with it; all others stay under a pseudonym. Backups still hold the rest."
    )


def _ask_sure(login: str) -> None:
    if not sys.stdin.isatty():
        raise UserError("Nobody is here to ask. Add --yes to delete the account; it can't be brought back.")
    if typer.prompt(f"This can't be brought back. Type {login} to delete the account", err=True) != login:
        raise UserError("That was another login, so nothing was deleted.")


def _ask_password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("New password", hide_input=True, confirmation_prompt=True, err=True))
    line = sys.stdin.readline(5000).rstrip("\r\n")
    if not line:
        raise UserError("No password came on standard input. Write it there on one line.")
    return line
