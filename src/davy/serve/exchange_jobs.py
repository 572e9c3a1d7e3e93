"""Exports and imports as background jobs: progress, a way to stop, and a clean start after a crash.

An export writes its file into the job's own folder; a second attempt begins
anew. An import writes everything and its checkpoint in one transaction, so that
an attempt after a crash knows whether the first one had come through.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.serve import job_files
from davy.serve.exchange import ExportRequest, ImportRequest, export_project, import_file
from davy.serve.jobs import JobContext, JobFunction
from davy.store import jobs

if TYPE_CHECKING:
    from davy.annotate.exchange.row_import import ImportSummary
    from davy.store import Connection

EXPORT = "export project"
IMPORT = "import into project"
STATEMENT = "data-statement.md"


def job_kinds(folder: Path | None) -> dict[str, JobFunction]:
    """Return what this server runs in the background, where it has a folder for files."""
    if folder is None:
        return {}
    return {EXPORT: partial(_export, folder), IMPORT: partial(_import, folder)}


def _export(folder: Path, context: JobContext) -> dict[str, Any]:
    told = context.arguments
    wish = ExportRequest(**_known(told, ExportRequest))
    job_files.sweep(folder)
    own = job_files.make_folder(folder, context.job.id)
    name = str(told["file"])
    try:
        wrote = export_project(context.store, wish, own / name, statement=own / STATEMENT, progress=context.progress)
    except BaseException:  # cancelled, stopped or failed: nothing half-made stays
        job_files.discard(folder, context.job.id)
        raise
    return {
        "file": name,
        "size": (own / name).stat().st_size,
        "posts": wrote.posts,
        "answers": wrote.answers,
        "settled": wrote.settled,
        "phases": list(wrote.phases),
    }


def _import(folder: Path, context: JobContext) -> dict[str, Any]:
    if isinstance(context.checkpoint, dict) and "posts" in context.checkpoint:
        return context.checkpoint  # it came through, and the worker died before it could say so
    told = context.arguments
    # The upload has a folder of its own: it is there before the job is.
    source = job_files.find_file(folder, str(told["upload"]), str(told["file"]))
    if source is None:
        raise UserError(f"The upload {str(told['file'])[:100]!r} is no longer here. Upload it again.", status=410)
    wish = ImportRequest(**_known(told, ImportRequest))
    writing = False

    def step(done: int, total: int) -> None:
        if writing:  # one transaction is open in this thread, so only look
            context.check()
        else:
            context.progress(done, total)

    def write() -> AbstractContextManager[Connection]:
        nonlocal writing
        context.progress(0, None)
        context.flush()
        writing = True
        return context.step({"begun": True})

    def written(db: Connection, came: ImportSummary) -> None:
        jobs.save_checkpoint(db, context.job, _figures(came))

    came = import_file(context.store, wish, source, by=context.job.owner, progress=step, writing=write, written=written)
    job_files.discard(folder, str(told["upload"]))
    return _figures(came)


def _figures(came: ImportSummary) -> dict[str, Any]:
    counts = {"posts": came.posts, "known": came.known, "answers": came.answers, "settled": came.settled}
    return {**counts, "people": len(came.people)}


def _known(told: Mapping[str, Any], of: type[Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name in of.__dataclass_fields__}
