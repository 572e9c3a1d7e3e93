"""Exports and imports as background jobs: progress, a way to stop, and a clean start after a crash.

An export writes its file into the job's own folder; a second attempt begins
anew. An import writes in short transactions, each with its checkpoint, so that
an attempt after a crash goes on with the row after the last one that is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from davy.annotation.exchange import exchange
from davy.annotation.exchange.exchange import ExportRequest, ImportRequest
from davy.annotation.exchange.formats import find_format
from davy.annotation.settling.jobs import enqueue_project
from davy.core.errors import UserError
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.kinds import from_mapping, path_field
from davy.jobs.worker import JobContext

if TYPE_CHECKING:
    from davy.annotation.exchange.row_import import ImportSummary
    from davy.store import Connection

EXPORT = "export project"
IMPORT = "import into project"

STATEMENT = "data-statement.md"

Request = TypeVar("Request", ExportRequest, ImportRequest)


@dataclass(frozen=True, slots=True)
class ExportArguments(ExportRequest):
    """An export, and what its file is called in the job's folder."""

    file: str = ""


@dataclass(frozen=True, slots=True)
class ImportArguments(ImportRequest):
    """An import, and its file: in the folder of an upload, or a path where `upload` is empty."""

    file: str = path_field("")
    upload: str = ""


def export_project(context: JobContext) -> dict[str, Any]:
    """Write a project to a file in the job's folder and return what it holds."""
    wanted = from_mapping(ExportArguments, context.arguments)
    folder = context.require_files()
    job_files.sweep(folder)
    own = job_files.make_folder(folder, context.job.id)
    name = wanted.file or f"{wanted.project}.{find_format(wanted.format).endings[0]}"
    try:
        summary = exchange.export_project(
            context.store,
            _plain(ExportRequest, wanted),
            own / name,
            statement=own / STATEMENT,
            progress=context.progress,
        )
    except BaseException:  # cancelled, stopped or failed: nothing half-made stays
        job_files.discard(folder, context.job.id)
        raise
    return {
        "file": name,
        "size": (own / name).stat().st_size,
        "posts": summary.posts,
        "answers": summary.answers,
        "settled": summary.settled,
        "phases": list(summary.phases),
    }


def import_file(context: JobContext) -> dict[str, Any]:
    """Read a file into a project and return what came in."""
    from davy.annotation.exchange.row_import import ImportSummary

    wanted = from_mapping(ImportArguments, context.arguments)
    state = context.checkpoint if isinstance(context.checkpoint, dict) else {}
    done = ImportSummary(**{**state["in"], "people": set(state["in"]["people"])}) if "in" in state else None
    if done is not None and state.get("whole"):
        return _figures(done)  # it came through, and the worker died before it could say so
    source = _source(context, wanted)

    @contextmanager
    def write(summary: ImportSummary) -> Iterator[Connection]:
        before = summary.rows
        with context.step(context.checkpoint) as db:
            yield db
            whole = summary.rows == before  # only the last transaction adds no row
            kept = {**asdict(summary), "people": sorted(summary.people)}
            del kept["seen"]  # found again from the rows that are passed over
            state = {"in": kept, "whole": whole}
            jobs.save_checkpoint(db, context.job, state)
        context.checkpoint = state

    summary = exchange.import_file(
        context.store,
        _plain(ImportRequest, wanted),
        source,
        by=context.job.owner,
        progress=context.progress,
        writing=write,
        done=done,
    )
    with context.store.write() as db:
        enqueue_project(db, wanted.project, by=context.job.owner)
    if wanted.upload:
        job_files.discard(context.require_files(), wanted.upload)
    return _figures(summary)


def _source(context: JobContext, wanted: ImportArguments) -> Path:
    """Return the file to read. An upload has a folder of its own: it is there before the job is."""
    if not wanted.upload:
        return Path(wanted.file)
    source = job_files.find_file(context.require_files(), wanted.upload, wanted.file)
    if source is None:
        raise UserError(f"The upload {wanted.file[:100]!r} is no longer here. Upload it again.", status=410)
    return source


def _figures(summary: ImportSummary) -> dict[str, Any]:
    counts = {"posts": summary.posts, "known": summary.known, "answers": summary.answers, "settled": summary.settled}
    return {**counts, "people": len(summary.people)}


def _plain(kind: type[Request], wanted: Request) -> Request:
    """Return the request itself, without what the job adds to it."""
    return kind(**{it.name: getattr(wanted, it.name) for it in fields(kind)})
