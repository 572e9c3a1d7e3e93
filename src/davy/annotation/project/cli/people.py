"""`davy project invite` and `davy project roster`: who is in a project."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.annotation.project.cli.project import Name
from davy.annotation.project.roster import Joined
from davy.annotation.project.roster import invite as invite_to
from davy.annotation.project.store import members, projects
from davy.people.cli.invitation_link import BaseUrl, invitation_link, invitation_time, note_address
from davy.people.store import invitations, users
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store


def invite(
    project: Name,
    login: Annotated[str | None, typer.Option("--login", help="Who: with an account they join at once.")] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="manager, expert, annotator, wellbeing or adversarial; several are fine."),
    ] = None,
    pool: Annotated[str | None, typer.Option("--pool", help="The pool they belong to, such as trained.")] = None,
    days: Annotated[float, typer.Option("--days", help="How long the link works.")] = 7,
    base_url: BaseUrl = "",
    database: Database = None,
    json: Json = False,
) -> None:
    """Put somebody on the roster: an account at once, others by a link that works once.

    Examples:

        davy project invite pilot --login lin@example.org

        davy project invite pilot --role expert --role manager --days 2
    """
    lasts = invitation_time(days)
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        came = invite_to(db, found.id, login, role or ["annotator"], by=events.SHELL, lasts=lasts, pool=pool)
    if isinstance(came, Joined):
        known, member = came.user, came.member
        if json:
            console.json({"login": known.login, "roles": list(member.roles), "pseudonym": member.pseudonym})
        console.note(f"{known.login} is on the roster of {found.id} as {', '.join(member.roles)}.")
        return
    made, link = came.invitation, invitation_link(base_url, came.token)
    if json:
        console.json({"link": link, "roles": list(made.project_roles), "expires_at": made.expires_at.isoformat()})
        return
    print(link)
    console.note(
        f"For one {', '.join(made.project_roles)}, until {made.expires_at:%Y-%m-%d %H:%M} UTC. Shown only now."
    )
    note_address(base_url)


def roster(project: Name, database: Database = None, json: Json = False) -> None:
    """List who is in a project, and the invitations that nobody has used yet.

    Examples:

        davy project roster pilot
    """

    with open_store(database) as store, store.read() as db:
        found = projects.get(db, project)
        people = [(it, users.get(db, it.user)) for it in members.of_project(db, found.id, left=True)]
        links = invitations.list_unused(db, project=found.id)
    if json:
        console.json(
            {
                "members": [
                    {
                        "login": user.login,
                        "pseudonym": it.pseudonym,
                        "roles": list(it.roles),
                        "pool": it.pool,
                        "left": it.left_at is not None,
                    }
                    for it, user in people
                ],
                "invitations": [
                    {"login": it.login, "roles": list(it.project_roles), "state": it.state} for it in links
                ],
            }
        )
        return
    rows = [
        (user.login, it.pseudonym, ", ".join(it.roles), it.pool or "", "left" if it.left_at else "")
        for it, user in people
    ]
    rows += [
        (it.login or "anyone", "", ", ".join(it.project_roles), it.pool or "", f"invitation, {it.state}")
        for it in links
    ]
    console.table(["login", "pseudonym", "roles", "pool", "state"], rows)
