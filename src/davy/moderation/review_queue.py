"""Posts that a server is not sure about, into the review project of their community.

Posts in, their keys in the store out. They join the first production phase of the project that is open or waits, so
reviewers find them in their queue as any other post.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from davy.annotation.project.project import Phase
from davy.annotation.project.project_creation import add_posts
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, posts, projects
from davy.core import UserError
from davy.store import Connection


@dataclass(frozen=True, slots=True)
class PostForReview:
    """One post: `id` is new in the project, `meta` says why it is here (never who wrote it)."""

    id: str
    text: str
    lang: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


def queue_posts(
    db: Connection, project_id: str, waiting: Sequence[PostForReview], *, source: str, by: str
) -> dict[str, str]:
    """Add posts to a project's review phase; return their keys by id."""
    if not waiting:
        return {}
    project = projects.get(db, project_id)
    phase = review_phase(db, project_id)
    frame = pl.DataFrame(
        {
            "id": [post.id for post in waiting],
            "text": [post.text for post in waiting],
            "lang": [post.lang for post in waiting],
            "source": [source] * len(waiting),
            "meta": [json.dumps(dict(post.meta), ensure_ascii=False) for post in waiting],
        },
        schema=dict.fromkeys(("id", "text", "lang", "source", "meta"), pl.String),
    )
    add_posts(db, project, phase, frame, scheme_of(db, project), by=by)
    return posts.keys_of(db, project_id, [post.id for post in waiting])


def review_phase(db: Connection, project_id: str) -> Phase:
    """Return the phase that takes a project's posts for review."""
    for phase in phases.of_project(db, project_id):
        if phase.behaviour.spare_posts and phase.state != "closed":
            return phase
    raise UserError(
        f"Project {project_id!r} has no production phase that is open or waits, so nothing can be reviewed in it. "
        "Make one: davy project create moderation --name NAME",
        status=409,
    )
