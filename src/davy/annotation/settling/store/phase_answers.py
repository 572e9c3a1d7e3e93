"""What watching a project reads: counts from tallies, answers of a phase, its gold, and the posts of a small phase.

Pages read `tallies`, a row a person and phase, and so cost the same with a
million posts. What walks over answers or items (`answers`, `sampled`, `states`,
`rows`) is for background work and for phases small enough to be talked about.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select, text

from davy.annotation.labelling.store.annotations import NONE, current
from davy.annotation.labelling.store.tables import annotations, answers, cases, tallies
from davy.annotation.labelling.store.tallies import COLUMNS, Tally
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.tables import items, posts
from davy.core.annotation import Answers

AT_ONCE = 500
"""Posts whose answers one query asks for; SQLite takes at most 999 values."""


@dataclass(frozen=True, slots=True)
class PostAnswers:
    """One current annotation that has answers."""

    id: str
    post: str
    annotator: str
    answers: Answers


@dataclass(frozen=True, slots=True)
class PhasePost:
    """An item of a phase with its post, as a review page shows it."""

    id: str
    post: str
    position: int
    gold: Answers | None
    text: str
    lang: str | None
    image: str | None


def tallies_of(db: Connection, phase_ids: Sequence[str], *, annotator: str | None = None) -> list[Tally]:
    """Return the tallies of these phases, by phase and person; one person's where `annotator` is named."""
    if not phase_ids:
        return []
    query = select(*COLUMNS).where(tallies.c.phase.in_(list(phase_ids)))
    if annotator is not None:
        query = query.where(tallies.c.annotator == annotator)
    return [Tally(*row) for row in db.execute(query.order_by(tallies.c.phase, tallies.c.annotator))]


def iter_answers(db: Connection, phase_id: str, *, annotator: str | None = None) -> Iterator[PostAnswers]:
    """Yield a phase's current annotations that are no refusals, oldest first; one person's where named."""
    query = _answers().where(annotations.c.phase == phase_id)
    yield from _grouped(db, query if annotator is None else query.where(annotations.c.annotator == annotator))


def sample_answers(db: Connection, phase_id: str, every: int) -> Iterator[PostAnswers]:
    """Yield the current annotations of every n-th item of a phase that has answers: a sample that is always the same.

    Whole items are drawn, since agreement is measured within them.
    """
    drawn = select(items.c.post).where(items.c.phase == phase_id, items.c.given > 0, items.c.position % every == 0)
    chosen = list(db.scalars(drawn.order_by(items.c.position)))
    # The phase is asked for by an expression, which no index has: SQLite would else read the whole phase each time.
    of_phase = annotations.c.phase + "" == phase_id
    for start in range(0, len(chosen), AT_ONCE):
        part = annotations.c.post.in_(chosen[start : start + AT_ONCE])
        yield from _grouped(db, _answers().where(part, of_phase))


def count_states(db: Connection, phase_id: str) -> dict[str, int]:
    """Return how many items of a phase are in each state. It reads all of them: for background work."""
    query = select(items.c.state, func.count()).where(items.c.phase == phase_id).group_by(items.c.state)
    return {str(state): int(n) for state, n in db.execute(query)}


def gold_answers(db: Connection, phase_id: str, *, limit: int = 5_000) -> dict[str, Answers]:
    """Return the gold answers of a phase's items, by post."""
    query = select(items.c.post, items.c.gold).where(items.c.phase == phase_id).order_by(items.c.position).limit(limit)
    return {row.post: _answers_of(row.gold) for row in db.execute(query) if row.gold}


def phase_posts(db: Connection, phase_id: str, post_ids: Sequence[str]) -> list[PhasePost]:
    """Return these posts of a phase as a page shows them, in the order in which they are named."""
    query = (
        select(
            items.c.id, items.c.post, items.c.position, items.c.gold, posts.c.text, posts.c.lang, posts.c.image
        )
        .join_from(items, posts, items.c.post == posts.c.id)
        .where(items.c.phase == phase_id, items.c.post.in_(list(post_ids)), UNLOCKED)
    )  # fmt: skip
    by_id = {
        row.post: PhasePost(row.id, row.post, row.position, _answers_of(row.gold), row.text or "", row.lang, row.image)
        for row in (db.execute(query) if post_ids else ())
    }
    return [by_id[post] for post in post_ids if post in by_id]


def count_open_cases(db: Connection, project_id: str, *, most: int = 1_000) -> int:
    """Return how many cases wait for an expert, at most `most`."""
    open_ones = select(cases.c.id).where(cases.c.project == project_id, text("state = 'open'")).limit(most)
    return db.execute(select(func.count()).select_from(open_ones.subquery())).scalar_one()


def _answers() -> Select[Any]:
    return (
        select(
            annotations.c.id, annotations.c.post, annotations.c.annotator, answers.c.question, answers.c.label
        )
        .join_from(annotations, answers, answers.c.annotation == annotations.c.id)
        .where(current())
        .order_by(annotations.c.id, answers.c.question, answers.c.position)
    )  # fmt: skip


def _grouped(db: Connection, query: Select[Any]) -> Iterator[PostAnswers]:
    """Yield one object an annotation from rows that come annotation by annotation."""
    key: tuple[str, str, str] | None = None
    given: dict[str, tuple[str, ...]] = {}
    for id, post, annotator, question, label in db.execute(query.execution_options(yield_per=5_000)):
        if key is not None and key[0] != id:
            yield PostAnswers(*key, given)
            given = {}
        key = (id, post, annotator)
        before = given.get(question, ())
        given[question] = before if label == NONE else (*before, label)
    if key is not None:
        yield PostAnswers(*key, given)


def _answers_of(value: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    """Return answers as they are in memory: a JSON list is a tuple, one label may stand alone."""
    return {
        question: (labels,) if isinstance(labels, str) else tuple(labels) for question, labels in (value or {}).items()
    }
