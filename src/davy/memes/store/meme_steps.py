"""What people did with memes, step by step: filtered, built, and looked for confounders of each side.

A step is only ever added; of several steps about one meme and one side, the last one counts. What a built meme or a
confounder is about stands in its post (`parent`, `meta`); a step says who made it, of what, and how long it took.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Connection, Row, Select, and_, func, select

from davy.annotation.labelling.store import items
from davy.annotation.labelling.store.tables import tallies, verdicts
from davy.annotation.project.project import Phase
from davy.annotation.project.store import posts
from davy.annotation.project.store.member_data import show_post_ids
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.tables import items as item_table
from davy.annotation.project.store.tables import posts as post_table
from davy.annotation.settling.store.verdicts import is_newest
from davy.core.meme import SIDES
from davy.people.store.personal_data import plain_rows
from davy.store import events
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class MemeStep:
    """One step. `post` and `made` are keys of posts; `step` is filter, build, or the side of a confounder.

    `post` is the source meme of a filter or a build, the hateful meme of a confounder; `made` the meme that came of it.
    """

    id: str
    project: str
    phase: str
    post: str
    step: str
    result: str
    details: Mapping[str, Any] = field(default_factory=dict)
    made: str | None = None
    by: str = events.SYSTEM
    seconds: float | None = None
    at: datetime = field(default_factory=now)


_ROWS = Rows(
    MemeStep,
    "meme_steps",
    CheckConstraint("step IN ('filter', 'build', 'image', 'text')", name="step"),
    table_index("ix_meme_steps_project", "project", "id"),
    table_index("ix_meme_steps_post", "post", "step", "id"),
    table_index("ix_meme_steps_made", "made", where="made IS NOT NULL"),
    table_index("ix_meme_steps_by", "by", "id"),
    table_index("ix_meme_steps_phase", "phase"),
    references={"project": "projects.id", "phase": "phases.id", "post": "posts.id", "made": "posts.id"},
)
meme_steps = _ROWS.table


def add(
    db: Connection,
    phase: Phase,
    post: str,
    step: str,
    result: str,
    *,
    by: str,
    details: Mapping[str, Any] | None = None,
    made: str | None = None,
    seconds: float | None = None,
) -> MemeStep:
    """Keep a step and return it."""
    kept = MemeStep(new_id(), phase.project, phase.id, post, step, result, dict(details or {}), made, by, seconds)
    return _ROWS.insert(db, kept)


def newest(db: Connection, post: str, step: str) -> MemeStep | None:
    """Return the last step of a kind about a meme, or None."""
    query = _ROWS.select(meme_steps.c.post == post, meme_steps.c.step == step)
    return next(iter(_ROWS.list(db, query.order_by(meme_steps.c.id.desc()).limit(1))), None)


def of_post(db: Connection, post: str) -> list[MemeStep]:
    """Return the steps about a meme, oldest first."""
    return _ROWS.list(db, _ROWS.select(meme_steps.c.post == post).order_by(meme_steps.c.id))


def of_project(db: Connection, project: str) -> list[MemeStep]:
    """Return all steps of a project, oldest first."""
    return _ROWS.list(db, _ROWS.select(meme_steps.c.project == project).order_by(meme_steps.c.id))


def made_by(db: Connection, post: str) -> MemeStep | None:
    """Return the step that a meme came of, or None."""
    return next(iter(_ROWS.list(db, _ROWS.select(meme_steps.c.made == post))), None)


def count_results(db: Connection, project: str) -> dict[tuple[str, str], int]:
    """Return how many memes a project has by step and the last result of it."""
    last = select(func.max(meme_steps.c.id)).where(meme_steps.c.project == project)
    last = last.group_by(meme_steps.c.post, meme_steps.c.step)
    query = select(meme_steps.c.step, meme_steps.c.result, func.count()).where(meme_steps.c.id.in_(last))
    return {(step, result): int(n) for step, result, n in db.execute(query.group_by("step", "result"))}


def enqueue(db: Connection, phase: Phase, post_keys: Iterable[str], *, by: str) -> int:
    """Add posts to the end of a phase that do not stand in it yet, and return how many."""
    wanted = list(dict.fromkeys(post_keys))
    inside = select(item_table.c.post).where(item_table.c.phase == phase.id, item_table.c.post.in_(wanted))
    known = set(db.scalars(inside))
    ids = posts.public_ids(db, [key for key in wanted if key not in known])
    rows = [(ids[key], None, None) for key in wanted if key in ids]
    return items.add(db, phase, rows, by=by, shuffled=False) if rows else 0


def hateful_without_item(
    db: Connection, rating: Phase, confounders: Phase, *, question: str, positive: str
) -> list[str]:
    """Return the settled hateful memes of a rating phase that are no confounders and wait for theirs."""
    other = item_table.alias("other")
    confounder = select(meme_steps.c.id).where(meme_steps.c.made == item_table.c.post, meme_steps.c.step.in_(SIDES))
    query = (
        select(item_table.c.post)
        .join(post_table, post_table.c.id == item_table.c.post)
        .join(verdicts, and_(verdicts.c.post == item_table.c.post, verdicts.c.question == question))
        .where(item_table.c.phase == rating.id, item_table.c.state == "settled", is_newest(rating.project))
        .where(verdicts.c.labels == [positive], UNLOCKED, ~confounder.exists())
        .where(~select(other.c.id).where(other.c.post == item_table.c.post, other.c.phase == confounders.id).exists())
        .order_by(item_table.c.position)
        .limit(MOST_AT_ONCE)
    )
    return list(db.scalars(query))


def failed_parents(db: Connection, rating: Phase, confounders: Phase, *, question: str, harmless: str) -> list[str]:
    """Return the memes that are done in the phase of confounders although a confounder was settled otherwise."""
    made = item_table.alias("made")
    query = (
        select(meme_steps.c.post, made.c.post.label("confounder"), made.c.state)
        .join(made, and_(made.c.post == meme_steps.c.made, made.c.phase == rating.id))
        .join(item_table, and_(item_table.c.post == meme_steps.c.post, item_table.c.phase == confounders.id))
        .where(meme_steps.c.phase == confounders.id, item_table.c.state == "settled")
        .where(made.c.state.in_(("dropped", "settled")))
    )
    rows = db.execute(query).all()
    # A query of its own, as in `rated_memes`.
    other = select(verdicts.c.post).where(verdicts.c.question == question, verdicts.c.labels != [harmless])
    hateful = set(db.scalars(other.where(is_newest(rating.project)))) if rows else set()
    failed = (row.post for row in rows if row.state == "dropped" or row.confounder in hateful)
    return list(dict.fromkeys(failed))[:MOST_AT_ONCE]


@dataclass(frozen=True, slots=True)
class RatedMeme:
    """A meme of a rating phase. `label` is its settled answer to the question that decides; None until then."""

    key: str
    id: str
    state: str
    text: str
    image: str | None
    parent: str | None
    label: str | None


def rated_memes(db: Connection, rating: Phase, question: str, *, only: Sequence[str] | None = None) -> list[RatedMeme]:
    """Return the memes of a rating phase in their order; or `only` those with these keys."""
    query = (
        select(post_table.c.id, post_table.c.public_id, item_table.c.state, post_table.c.text)
        .add_columns(post_table.c.image, post_table.c.parent)
        .join_from(item_table, post_table, post_table.c.id == item_table.c.post)
        .where(item_table.c.phase == rating.id, UNLOCKED)
    )
    query = query if only is None else query.where(post_table.c.id.in_(only))
    # A query of their own: looked up row by row, SQLite walks all verdicts of the project for each meme.
    settled = select(verdicts.c.post, verdicts.c.labels).where(verdicts.c.question == question)
    settled = settled.where(is_newest(rating.project))
    rated = select(item_table.c.post).where(item_table.c.phase == rating.id)
    settled = settled.where(verdicts.c.post.in_(rated if only is None else only))
    labels = {row.post: row.labels for row in db.execute(settled)}
    rows = db.execute(query.order_by(item_table.c.position))
    return [_rated(row, labels.get(row.id)) for row in rows]


def _rated(row: Row[Any], labels: list[str] | None) -> RatedMeme:
    label = labels[0] if labels and row.state == "settled" else None
    return RatedMeme(row.id, row.public_id, row.state, row.text or "", row.image, row.parent, label)


def item_states(db: Connection, phase_ids: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return how many items phases have, by phase and state."""
    query = select(item_table.c.phase, item_table.c.state, func.count()).where(item_table.c.phase.in_(phase_ids))
    return {(phase, state): int(n) for phase, state, n in db.execute(query.group_by("phase", "state"))}


def seconds_of(db: Connection, phase_ids: Sequence[str]) -> dict[str, tuple[float, int]]:
    """Return the seconds that people spent in phases, and how many answers or steps these were, by phase."""
    query = select(tallies.c.phase, func.sum(tallies.c.seconds), func.sum(tallies.c.given))
    rows = db.execute(query.where(tallies.c.phase.in_(phase_ids)).group_by(tallies.c.phase))
    return {phase: (float(seconds or 0), int(n or 0)) for phase, seconds, n in rows}


def personal_data(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return a person's steps of making memes, in one project or in all."""
    here = () if project_id is None else (meme_steps.c.project == project_id,)
    rows = plain_rows(db, meme_steps, meme_steps.c.by == user_id, *here)
    show_post_ids(db, rows)
    return {"memes": rows}


def built_from(keys: Sequence[str]) -> Select[Any]:
    """Return the memes that were built from posts: they have no parent, the step that made them names its source."""
    return select(meme_steps.c.made).where(meme_steps.c.post.in_(keys))
