"""Hours: what you worked, day by day; and for who pays, a table by pseudonym that is also there as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.store import work_sessions as sittings
from davy.annotation.care.store.work_sessions import Hours, WorkSitting
from davy.annotation.exchange.spreadsheet_cells import escape_formula, map_texts
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.project import Member, Project
from davy.annotation.project.settings import pay_of, rate_of
from davy.annotation.project.store import members
from davy.store import Connection
from davy.web.context import context_of

router = APIRouter(include_in_schema=False)

Here = Annotated[ProjectAccess, Depends(in_project("see the project", left=True))]
Pays = Annotated[ProjectAccess, Depends(in_project("see hours"))]


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a person's work."""

    day: str
    seconds: float
    items: int
    sittings: int


@router.get("/projects/{project_id}/hours")
def show(request: Request, place: Here) -> Response:
    """Return your own hours and, for who may see them, everyone's."""
    with context_of(request).store.read() as db:
        mine = sittings.of_person(db, place.project.id, place.account.id)
        team = _team(db, place.project) if place.may("see hours") else None
    return project_page(
        request,
        place,
        "hours.html",
        days=days_of(mine, place.project),
        seconds=sum(sitting.seconds for sitting in mine),
        zone=(place.project.settings.get("care") or {}).get("timezone") or "UTC",
        pay=pay_of(place.project),
        rate=rate_of(place.project, place.member.roles if place.member else ()),
        rates={member.user: rate_of(place.project, member.roles) for member, _ in team or ()},
        team=team,
    )


@router.get("/projects/{project_id}/hours.csv")
def table(request: Request, place: Pays) -> Response:
    """Return everyone's hours as CSV, by pseudonym; nothing in it can run in a spreadsheet."""
    import polars as pl

    with context_of(request).store.read() as db:
        team = _team(db, place.project)
    pay = pay_of(place.project)
    rows = [
        {
            "annotator": member.pseudonym,
            "pool": member.pool or "",
            "hours": round(done.seconds / 3600, 2),
            "items": done.items,
            "sittings": done.sittings,
            "first_at": done.first_at.isoformat(timespec="seconds"),
            "last_at": done.last_at.isoformat(timespec="seconds"),
            **(
                {
                    "currency": pay["currency"],
                    "pay": round(done.seconds / 3600 * rate_of(place.project, member.roles), 2),
                }
                if pay
                else {}
            ),
        }
        for member, done in team
    ]
    names = ["annotator", "pool", "hours", "items", "sittings", "first_at", "last_at"]
    frame = pl.DataFrame(rows) if rows else pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    headers = {"Content-Disposition": f'attachment; filename="{place.project.id}-hours.csv"'}
    return Response(map_texts(frame, escape_formula).write_csv(), media_type="text/csv; charset=utf-8", headers=headers)


def days_of(sittings: list[WorkSitting], project: Project) -> list[Day]:
    """Return sittings by the days they fell on where the project is, newest first."""
    zone = care.rules_of(project).zone
    days: dict[str, list[WorkSitting]] = {}
    for sitting in sittings:
        days.setdefault(sitting.started_at.astimezone(zone).date().isoformat(), []).append(sitting)
    return [
        Day(day, sum(sitting.seconds for sitting in those), sum(sitting.items for sitting in those), len(those))
        for day, those in sorted(days.items(), reverse=True)
    ]


def _team(db: Connection, project: Project) -> list[tuple[Member, Hours]]:
    done = sittings.hours(db, project.id)
    everyone = members.of_project(db, project.id, left=True)
    return [(member, done[member.user]) for member in everyone if member.user in done]
