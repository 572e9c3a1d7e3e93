"""Train a detector from a project's settled answers or an uploaded file; the training runs as a background job.

Managers name it, choose a baseline or an encoder and a seed, and see how far it is,
its log, and how good it was on the posts that were kept back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from davy.actions.file_checks import UploadLimits
from davy.jobs import job_files
from davy.jobs.kinds import TRAIN
from davy.serve import render, uploads
from davy.serve.context import context_of
from davy.serve.errors import LocalizedError, is_htmx
from davy.serve.membership import Place, in_project, project_page
from davy.serve.upload_form import UploadForm
from davy.serve.visitor import Form, field
from davy.store import Connection, jobs
from davy.store.columns import new_id
from davy.store.jobs import Job, JobLogLine

router = APIRouter(include_in_schema=False)

Trains = Annotated[Place, Depends(in_project("train"))]

KINDS: tuple[str, ...] = ("tfidf", "transformer")
SHOWN = 20
FEWEST = 30
"""Figures of fewer posts than these say nothing, and are not shown."""
LOG_LINES = 200
ENCODER = re.compile(r"[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)?")
"""A name at the Hugging Face hub, or of a folder in the server's `encoders`; never a path."""


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One training as the page shows it."""

    job: Job
    name: str
    kind: str
    encoder: str
    live: bool
    figures: dict[str, float]
    lines: list[JobLogLine]


@router.get("/projects/{project_id}/train")
def show(request: Request, place: Trains) -> Response:
    """Return the page; for htmx only its table."""
    with context_of(request).store.read() as db:
        rows = [_row(db, job) for job in jobs.latest(db, kind=TRAIN, project=place.project.id, limit=SHOWN)]
    values: dict[str, Any] = {"rows": rows, "live": any(row.live for row in rows), "fewest": FEWEST}
    if is_htmx(request):
        return render.page(request, "parts/trainings.html", place=place, **values)
    can = context_of(request).settings.files_folder is not None
    return project_page(request, place, "train.html", kinds=KINDS, can=can, once=new_id(), **values)


@router.post("/projects/{project_id}/train")
async def start(request: Request, place: Trains, form: UploadForm) -> Response:
    """Queue a training."""
    return await to_thread.run_sync(_start, request, place, form)


@router.post("/projects/{project_id}/train/{job_id}/{act}")
def change(request: Request, place: Trains, job_id: str, act: str, form: Form) -> Response:  # noqa: ARG001
    """Cancel a training, or let it go on from its last checkpoint."""
    with context_of(request).store.write() as db:
        job = next(
            (it for it in jobs.latest(db, kind=TRAIN, project=place.project.id, limit=500) if it.id == job_id), None
        )
        if job is None or act not in ("cancel", "again"):
            raise LocalizedError("no_such", status=404)
        if act == "cancel":
            jobs.ask_cancel(db, job.id, by=place.account.id)
        else:
            jobs.retry(db, job.id, by=place.account.id)
    return render.redirect(request, f"{place.address}/train", f"export_{act}")


def _start(request: Request, place: Place, form: FormData) -> Response:
    context = context_of(request)
    folder = context.settings.files_folder
    if folder is None:
        raise LocalizedError("no_files_folder", status=409)
    arguments = {"project": place.project.id, **_settings(form)}
    upload_id = new_id()
    try:
        arguments |= _upload(form, folder, upload_id, context.settings.max_upload)
        # A form that is sent twice asks once.
        key = f"train {place.project.id} {field(form, 'once', most=40) or upload_id}"
        with context.store.write() as db:
            job = jobs.enqueue(db, TRAIN, arguments, owner=place.account.id, key=key, project=place.project.id)
        if job.arguments.get("upload") != upload_id:  # it was asked for before
            job_files.discard(folder, upload_id)
    except BaseException:
        job_files.discard(folder, upload_id)
        raise
    return render.redirect(request, f"{place.address}/train", "training_started")


def _settings(form: FormData) -> dict[str, Any]:
    name, kind, seed = field(form, "name", most=60), field(form, "kind"), field(form, "seed", most=6) or "1"
    encoder = field(form, "encoder", most=100)
    if not name or kind not in KINDS or not (seed.isascii() and seed.isdigit()):
        raise LocalizedError("choice", status=422)
    if kind == "transformer" and not ENCODER.fullmatch(encoder):
        raise LocalizedError("no_encoder", status=422)
    return {"name": name, "kind": kind, "seed": int(seed), "encoder": encoder if kind == "transformer" else ""}


def _upload(form: FormData, folder: Path, upload_id: str, most: int) -> dict[str, str]:
    """Keep the file that somebody sent instead of the project's answers; nothing where none was chosen."""
    sent = form.get("file")
    if not isinstance(sent, UploadFile) or not (sent.filename or sent.size):
        return {}
    own = job_files.make_folder(folder, upload_id)
    chunks = iter(lambda: sent.file.read(1 << 20), b"")
    kinds = (*uploads.TEXT_KINDS, "parquet")
    got = uploads.receive(chunks, sent.filename or "", kinds=kinds, limits=UploadLimits(size=most), folder=own)
    name = f"posts.{got.kind}" + (".gz" if got.gzip else "")
    got.path.rename(own / name)
    return {"upload": upload_id, "file": name}


def _row(db: Connection, job: Job) -> TrainingRow:
    result = job.result if isinstance(job.result, dict) else {}
    figures = {name: value for name, value in result.items() if isinstance(value, float) and name != "dev loss"}
    if result.get("measured_on", 0) < FEWEST:
        figures = {}
    name, kind, encoder = (str(job.arguments.get(part, "")) for part in ("name", "kind", "encoder"))
    kind = kind or KINDS[0]  # a job from the shell names only what differs from the defaults
    return TrainingRow(
        job,
        name or job.id,
        kind,
        encoder,
        job.state in ("waiting", "running"),
        figures,
        jobs.log_lines(db, job.id, limit=LOG_LINES),
    )
