"""In and out: ask for an export and fetch it, send a file and see it come in. Both run in the background.

Only who may export sees the page. Files are always offered for saving, never
shown, whatever they hold; every fetch is an event.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from davy.annotation.exchange.formats import FORMATS, ExchangeFormat, find_format
from davy.annotation.exchange.jobs import EXPORT, IMPORT, STATEMENT
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.pages.upload_form import sent_file
from davy.annotation.project.project import Phase
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases
from davy.files.file_safety import UploadLimits
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.store import Job
from davy.people.pages.confirm import FreshPassword
from davy.people.pages.visitor import Form, field
from davy.runs.pages.workplace import files_folder, find_job
from davy.store import Connection, events
from davy.store.columns import new_id
from davy.web import csrf, render, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx

router = APIRouter(include_in_schema=False)

Exports = Annotated[ProjectAccess, Depends(in_project("export"))]

TABLES: tuple[str, ...] = ("csv", "parquet", "jsonl", "tsv")
SHOWN = 20
_LIVE = ("waiting", "running")


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One export or import as the page shows it."""

    job: Job
    format: str
    ready: bool
    """Whether its file can be fetched."""
    live: bool
    size: str


@router.get("/projects/{project_id}/exports")
def show(request: Request, place: Exports) -> Response:
    """Return the page; for htmx only its table."""
    with context_of(request).store.read() as db:
        every = phases.of_project(db, place.project.id)
        lines = _lines(request, db, place)
    values: dict[str, Any] = {"lines": lines, "live": any(line.live for line in lines), "statement": STATEMENT}
    if is_htmx(request):
        return render.page(request, "parts/exports.html", place=place, **values)
    return project_page(
        request,
        place,
        "exports.html",
        formats=list(FORMATS),
        tables=TABLES,
        phases=every,
        questions=_questions(request, place),
        can=context_of(request).settings.files_folder is not None,
        once=new_id(),
        kept=job_files.KEPT.days,
        **values,
    )


@router.post("/projects/{project_id}/exports")
def ask(request: Request, place: Exports, fresh: FreshPassword, form: Form) -> Response:  # noqa: ARG001
    """Queue an export."""
    context = context_of(request)
    files_folder(request)
    format = find_format(field(form, "format") or "long")
    with context.store.read() as db:
        every = phases.of_project(db, place.project.id)
    chosen = _chosen_phases(form, every)
    adversarial = _check_adversarial(place, every, chosen)
    question = field(form, "question") or None
    if question is not None and question not in _questions(request, place):
        raise LocalizedError("choice", status=422)
    arguments = {
        "project": place.project.id,
        "format": format.name,
        "phases": chosen,
        "question": question,
        "comments": bool(form.get("comments")),
        "file": f"{place.project.id}-{format.name}.{_ending(format, field(form, 'table'))}",
    }
    # A form that is sent twice asks once.
    key = f"export {place.project.id} {field(form, 'once', most=40) or new_id()}"
    with context.store.write() as db:
        job = jobs.enqueue(db, EXPORT, arguments, owner=place.account.id, key=key, project=place.project.id)
        if adversarial:
            about = f"project {place.project.id}"
            events.record(db, by=place.account.id, what="adversarial export asked for", about=about, job=job.id)
    return render.redirect(request, f"{place.address}/exports", "export_asked")


@router.get("/projects/{project_id}/exports/{job_id}/{name}")
def fetch(request: Request, place: Exports, job_id: str, name: str) -> Response:
    """Return an export's file, or its data statement, for saving."""
    context = context_of(request)
    with context.store.read() as db:
        job = find_job(db, place.project.id, job_id, EXPORT)
        every = phases.of_project(db, place.project.id)
    _check_adversarial(place, every, list(job.arguments.get("phases") or [phase.name for phase in every]))
    if job.state != "done" or name not in (job.result["file"], STATEMENT):
        raise LocalizedError("no_such", status=404)
    path = job_files.find_file(context.settings.files_folder, job.id, name)
    if path is None:
        raise LocalizedError("export_gone", status=410, days=job_files.KEPT.days)
    with context.store.write() as db:
        about = f"project {place.project.id}"
        events.record(db, by=place.account.id, what="export fetched", about=about, job=job.id, file=name)
    saved_as = name if name != STATEMENT else f"{place.project.id}-{STATEMENT}"
    return FileResponse(path, media_type="application/octet-stream", filename=saved_as)


@router.post("/projects/{project_id}/exports/{job_id}/{act}")
def change(request: Request, place: Exports, job_id: str, act: str, form: Form) -> Response:  # noqa: ARG001
    """Cancel a job, run it again, or remove its file."""
    context = context_of(request)
    if act not in ("cancel", "again", "remove"):
        raise LocalizedError("no_such", status=404)
    with context.store.write() as db:
        job = find_job(db, place.project.id, job_id, EXPORT, IMPORT)
        if act == "cancel":
            jobs.ask_cancel(db, job.id, by=place.account.id)
        elif act == "again":
            jobs.retry(db, job.id, by=place.account.id)
        else:
            about = f"project {place.project.id}"
            events.record(db, by=place.account.id, what="export removed", about=about, job=job.id)
    folder = context.settings.files_folder
    if act == "remove" and folder is not None:
        job_files.discard(folder, job.id)
    return render.redirect(request, f"{place.address}/exports", f"export_{act}")


@router.post("/projects/{project_id}/imports/upload")
async def upload(request: Request, place: Exports) -> Response:
    """Check a file that somebody sends, keep it, and queue its import."""
    async with request.form(max_files=1, max_fields=20) as form:
        token = form.get("csrf")
        csrf.check(request, token if isinstance(token, str) else None)
        return await to_thread.run_sync(_receive, request, place, form)


def _receive(request: Request, place: ProjectAccess, form: FormData) -> Response:
    context, folder, sent = context_of(request), files_folder(request), sent_file(form)
    format = find_format(field(form, "format") or "long")
    phase = field(form, "phase") or None
    with context.store.read() as db:
        if phase is not None:
            phases.by_name(db, place.project.id, phase)
    own = job_files.make_folder(folder, upload_id := new_id())
    try:
        name = _checked(sent, format, own)
        arguments = {
            "project": place.project.id,
            "format": format.name,
            "phase": phase,
            "question": field(form, "question") or None,
            "prefix": field(form, "prefix", most=40),
            "posts_only": bool(form.get("posts_only")),
            "file": name,
            "upload": upload_id,
        }
        with context.store.write() as db:
            jobs.enqueue(
                db, IMPORT, arguments, owner=place.account.id, key=f"import {upload_id}", project=place.project.id
            )
    except BaseException:
        job_files.discard(folder, upload_id)
        raise
    return render.redirect(request, f"{place.address}/exports", "import_asked")


def _checked(sent: UploadFile, format: ExchangeFormat, own: Path) -> str:
    """Keep an upload under its own name once its content is what the format takes; return the name."""
    expected = _kinds(format)
    limits = UploadLimits(line=200_000_000) if "json" in expected else UploadLimits()
    if "csv" not in expected:
        limits = replace(limits, cells=sys.maxsize)  # no table: its lines are read one by one
    got = uploads.receive_file(sent, kinds=expected, limits=limits, folder=own)
    name = got.name
    ending = f".{got.kind}" + (".gz" if got.gzip else "")
    if not name.lower().endswith(ending):
        name = f"{name}{ending}"
    got.path.rename(own / name)
    return name


def _kinds(format: ExchangeFormat) -> tuple[str, ...]:
    """Return what kinds of content a format's files have."""
    if format.folder:
        return ("zip",)
    if "csv" in format.endings:
        return ("csv", "tsv", "jsonl", "parquet")
    return ("json", "jsonl") if "json" in format.endings else ("jsonl", "zip")


def _chosen_phases(form: FormData, every: list[Phase]) -> list[str]:
    wanted = [name for name in form.getlist("phases") if isinstance(name, str)]
    if not wanted:
        raise LocalizedError("no_phases_chosen", status=422)
    if not set(wanted) <= {phase.name for phase in every}:
        raise LocalizedError("choice", status=422)
    return wanted


def _check_adversarial(place: ProjectAccess, every: list[Phase], chosen: list[str]) -> bool:
    """Return whether an export holds entries of rounds; who lacks the role for adversarial texts gets none of those."""
    adversarial = any(phase.behaviour.from_round for phase in every if phase.name in chosen)
    if adversarial and not place.may("attack"):
        raise LocalizedError("adversarial_export", status=403)
    return adversarial


def _ending(format: ExchangeFormat, table: str) -> str:
    return table if table in format.endings else format.endings[0]


def _questions(request: Request, place: ProjectAccess) -> list[str]:
    with context_of(request).store.read() as db:
        return [question.name for question in scheme_of(db, place.project).questions]


def _lines(request: Request, db: Connection, place: ProjectAccess) -> list[ExportRow]:
    """Return the newest exports and imports of a project."""
    folder = context_of(request).settings.files_folder
    mine = (jobs.latest(db, kind=kind, project=place.project.id, limit=SHOWN) for kind in (EXPORT, IMPORT))
    lines = []
    for job in sorted(chain.from_iterable(mine), key=lambda each: each.id, reverse=True)[:SHOWN]:
        made = job.kind == EXPORT and job.state == "done"
        ready = made and job_files.find_file(folder, job.id, job.result["file"]) is not None
        size = _size(request, int(job.result["size"])) if ready else ""
        lines.append(ExportRow(job, str(job.arguments.get("format")), ready, job.state in _LIVE, size))
    return lines


def _size(request: Request, size: int) -> str:
    number = render.translator_of(request).number
    return f"{number(max(1, round(size / 1_000)))} kB" if size < 10_000_000 else f"{number(round(size / 1_000_000))} MB"
