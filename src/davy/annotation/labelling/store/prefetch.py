"""Hints of what is read next: in a pipelined transaction these reads go to PostgreSQL with whatever goes next.

The reads themselves stay plain calls of the modules that own them, and take the rows of what was sent early. In other
transactions a hint does nothing. Give it when all that the reads depend on is written.
"""

from sqlalchemy import Connection

from davy.annotation.labelling.store import annotations, item_selection, tallies
from davy.annotation.project.project import Item, Project
from davy.annotation.project.store import project_schemes
from davy.annotation.settling.store import cases, verdicts


def scheme(db: Connection, project: Project) -> None:
    """Expect that a project's scheme is asked for."""
    project_schemes.prefetch_stamp(db, project)


def next_item(db: Connection, project_id: str, phase_id: str, annotator: str) -> None:
    """Expect that a person gets their next item, likely one of this phase."""
    item_selection.prefetch_phases(db, project_id, annotator)
    tallies.prefetch(db, phase_id, annotator)


def settlement(db: Connection, item: Item) -> None:
    """Expect that an item is settled: its cases, its answers and the verdicts about its post are read."""
    cases.prefetch_item(db, item.id)
    annotations.prefetch_post(db, item.post)
    verdicts.prefetch_post(db, item.post)
