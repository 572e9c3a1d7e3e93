"""Where runs are started: on the server by those who may score files, or in a project by those who run it.

Both have the same pages over the same jobs. What a project runs belongs to it; a run of the server's belongs to who
started it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.core.errors import UserError
from davy.files.file_safety import UploadLimits
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.store import Job
from davy.people.pages.visitor import allowed, field, find_visitor
from davy.people.store.users import User
from davy.store import Connection
from davy.store.columns import new_id
from davy.web import render, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError

MOST_LIVE = 5
"""Runs of one person that may wait or run on the server at once."""
LIVE = ("waiting", "running")


@dataclass(frozen=True, slots=True)
class Workplace:
    """Who starts runs, and in which project; None is the server itself."""

    account: User
    place: ProjectAccess | None = None

    @property
    def address(self) -> str:
        """Where its pages of runs begin."""
        return "/runs" if self.place is None else f"{self.place.address}/train/runs"

    @property
    def project(self) -> str | None:
        """The project's id."""
        return None if self.place is None else self.place.project.id

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page of this place."""
        values |= {"where": self}
        if self.place is not None:
            return project_page(request, self.place, template, status=status, **values)
        return render.page(request, template, status=status, place=None, project=None, **values)

    def find(self, db: Connection, job_id: str, kinds: tuple[str, ...]) -> Job:
        """Return a run of this place; another's is answered like one that there isn't."""
        job = find_job(db, self.project, job_id, *kinds)
        if self.project is None and job.owner != self.account.id and self.account.role != "admin":
            raise LocalizedError("no_such", status=404)
        return job

    def latest(self, db: Connection, kinds: tuple[str, ...], *, limit: int) -> list[Job]:
        """Return the newest runs of this place."""
        newest = [job for kind in kinds for job in jobs.latest(db, kind=kind, project=self.project, limit=limit)]
        if self.project is None:
            newest = [
                job
                for kind in kinds
                for job in jobs.latest(db, kind=kind, visible_to=self.account.id, limit=limit)
                if job.project is None
            ]
        return sorted(newest, key=lambda job: job.id, reverse=True)[:limit]


def in_workplace(act: str, project_act: str) -> Callable[[Request], Workplace]:
    """Return a dependency that gives the `Workplace` of an address, a project's or the server's, by a permission."""
    on_server, in_one_project = allowed(act), in_project(project_act)

    def check(request: Request) -> Workplace:
        if "project_id" not in request.path_params:
            return Workplace(on_server(find_visitor(request)))
        place = in_one_project(request, request.path_params["project_id"])
        return Workplace(place.account, place)

    return check


def find_job(db: Connection, project: str | None, job_id: str, *kinds: str) -> Job:
    """Return a job of a project, or of the server for None; another's is answered like one that there isn't."""
    try:
        job = jobs.get(db, job_id)
    except UserError:
        raise LocalizedError("no_such", status=404) from None
    if job.kind not in kinds or job.project != project:
        raise LocalizedError("no_such", status=404)
    return job


def files_folder(request: Request) -> Path:
    """Return the server's folder for files; a server without one can run nothing."""
    folder = context_of(request).settings.files_folder
    if folder is None:
        raise LocalizedError("no_files_folder", status=409)
    return folder


def start_run(
    request: Request, where: Workplace, kind: str, arguments: Mapping[str, Any], form: FormData, *, needs_file: bool
) -> Job:
    """Keep the file of a form where one was sent, and queue a run; a form that is sent twice asks once."""
    context = context_of(request)
    folder = files_folder(request)
    upload_id = new_id()
    try:
        sent = keep_upload(form, folder, upload_id, context.settings.max_upload)
        if needs_file and not sent:
            raise LocalizedError("no_upload", status=422)
        key = f"{kind} {where.project or where.account.id} {field(form, 'once', most=40) or upload_id}"
        with context.store.write() as db:
            live = [job for job in where.latest(db, (kind,), limit=50) if job.state in LIVE]
            if len(live) >= MOST_LIVE:
                raise LocalizedError("too_many_runs", status=429, most=MOST_LIVE)
            values = {**arguments, **sent}
            job = jobs.enqueue(db, kind, values, owner=where.account.id, key=key, project=where.project)
        if job.arguments.get("upload") != upload_id:  # it was asked for before, or there is no file
            job_files.discard(folder, upload_id)
    except BaseException:
        job_files.discard(folder, upload_id)
        raise
    return job


def keep_upload(form: FormData, folder: Path, upload_id: str, most: int) -> dict[str, str]:
    """Keep the table that a form holds; nothing where none was chosen. It is checked like every upload."""
    sent = form.get("file")
    if not isinstance(sent, UploadFile) or not (sent.filename or sent.size):
        return {}
    own = job_files.make_folder(folder, upload_id)
    got = uploads.receive_file(sent, kinds=uploads.TABLE_KINDS, limits=UploadLimits(size=most), folder=own)
    stem = got.name.split(".")[0] or "posts"
    kept = f"{stem}.{got.kind}" + (".gz" if got.gzip else "")
    got.path.rename(own / kept)
    return {"upload": upload_id, "file": kept}
