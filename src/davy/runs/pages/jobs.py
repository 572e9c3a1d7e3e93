"""Background jobs: your own and those of projects you manage; how far they are, their log, and a way to stop one.

With scripts the page asks for its own part every two seconds while something runs.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.store import projects
from davy.jobs import store as jobs
from davy.jobs.kinds import result_page
from davy.jobs.store import Job
from davy.people.pages.visitor import Form, allowed, key_or_session
from davy.people.store import users
from davy.people.store.users import User
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx

router = APIRouter()
_LIVE = ("waiting", "running")

Sees = Annotated[User, Depends(allowed("see jobs"))]


@router.get("/jobs", include_in_schema=False)
def all_jobs(request: Request, who: Sees) -> Response:
    """Return the newest jobs; for htmx only their table."""
    with context_of(request).store.read() as db:
        recent = jobs.latest(db, visible_to=_whose(who))
        names = {user.id: user.name for user in users.list_users(db)} if who.role == "admin" else {who.id: who.name}
        titles = {it.id: it.title for it in projects.list_projects(db) if it.id in {job.project for job in recent}}
    live = any(job.state in _LIVE for job in recent)
    template = "parts/jobs.html" if is_htmx(request) else "jobs.html"
    return render.page(request, template, jobs=recent, names=names, titles=titles, live=live)


@router.get("/jobs/{job_id}", include_in_schema=False)
def one_job(request: Request, job_id: str, who: Sees) -> Response:
    """Return one job with its log; for htmx only what changes."""
    with context_of(request).store.read() as db:
        job = _visible(db, job_id, who)
        lines = jobs.log_lines(db, job_id)
        project = projects.find(db, job.project) if job.project else None
    live = job.state in _LIVE
    if is_htmx(request):
        return render.live_part(request, "parts/job.html", job=job, lines=lines, live=live)
    result = result_page(job.kind, job.id, job.project, job.arguments) if job.state == "done" else ""
    title = project.title if project else ""
    return render.page(request, "job.html", job=job, lines=lines, title=title, live=live, result=result)


@router.post("/jobs/{job_id}/cancel", include_in_schema=False)
def cancel(
    request: Request, job_id: str, who: Annotated[User, Depends(allowed("cancel jobs"))], form: Form
) -> Response:
    """Ask a job to stop."""
    with context_of(request).store.write() as db:
        jobs.ask_cancel(db, _visible(db, job_id, who).id, by=who.id)
    return render.redirect(request, f"/jobs/{job_id}", "cancelled")


@router.get("/api/jobs")
def jobs_json(
    request: Request, who: Annotated[User, Depends(key_or_session("read", "see jobs"))]
) -> list[dict[str, Any]]:
    """Return the newest jobs as JSON."""
    with context_of(request).store.read() as db:
        recent = jobs.latest(db, visible_to=_whose(who))
    shown = ("id", "kind", "state", "owner", "created_at", "finished_at", "done", "total", "note", "error", "result")
    return [{name: getattr(job, name) for name in shown} for job in recent]


def _whose(who: User) -> str | None:
    """Return whose jobs a person sees: their own and those of projects they manage; admins see all."""
    return None if who.role == "admin" else who.id


def _visible(db: Connection, job_id: str, who: User) -> Job:
    """Return a job that this person may see; another's is answered like one that there isn't."""
    if who.role == "admin" or jobs.is_visible(db, job_id, who.id):
        return jobs.get(db, job_id)
    raise LocalizedError("no_such", status=404)
