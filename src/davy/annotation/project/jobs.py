"""Projects that were deleted a day ago are removed in the background, with the files of their pictures."""

from __future__ import annotations

from davy.annotation.project.images import discard_unused, folder_of
from davy.annotation.project.store import removal
from davy.jobs import store as jobs
from davy.jobs.worker import JobContext
from davy.store import Store, events

REMOVE_PROJECT = "remove deleted project"


def enqueue_expired(store: Store) -> None:
    """Make a job for each deleted project that can't be restored any more, unless it is there."""
    with store.read() as db:
        expired = {f"{REMOVE_PROJECT} {each.id} {each.deleted_at}": each.id for each in removal.list_expired(db)}
        due = {key: project for key, project in expired.items() if not jobs.has_key(db, key)}
    if due:
        with store.write() as db:
            for key, project in due.items():
                jobs.enqueue(db, REMOVE_PROJECT, {"project": project}, owner=events.SYSTEM, key=key)


def remove_expired(context: JobContext) -> None:
    """Remove the project that the job names; nothing of its texts stays in the database's files."""
    with context.store.write() as db:
        pictures = removal.remove_expired(db, str(context.arguments["project"]))
    if pictures:
        with context.store.write() as db:
            discard_unused(db, folder_of(context.store), pictures)
    context.store.truncate_log()
