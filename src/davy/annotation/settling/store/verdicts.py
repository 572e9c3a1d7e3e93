"""Verdicts: the settled answers, with their basis. A later verdict does not erase an earlier one.

The first verdict on a question about a post has turn 1; deciding again adds
turn 2. The newest turn counts. Two who decide at once can't both be next.
Turns are counted over all projects; ask with `project` for what one project
settled, without it for what counts in the whole database.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, func, insert, select
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from davy.annotation.labelling.store.tables import annotations, verdict_annotations, verdicts
from davy.annotation.project.store.tables import posts
from davy.core import Question, Scheme, UserError, Verdict
from davy.store import events
from davy.store.columns import new_id, now
from davy.store.statements import PreparedStatement

CHUNK = 5_000


def add(
    db: Connection, verdict: Verdict, scheme: Scheme, *, by: str, again: bool = False, project: str | None = None
) -> str:
    """Add a verdict and return its id. Where there is one already (in its project), it takes `again` to decide anew."""
    _check(verdict, scheme)
    return _add(db, verdict, scheme, by=by, again=again, project=project)


def take_back(db: Connection, verdict: Verdict, scheme: Scheme, *, by: str, project: str) -> str:
    """Add a turn without labels, where a question that was settled is no longer asked, and return its id."""
    assert not verdict.labels, verdict.question
    return _add(db, verdict, scheme, by=by, again=True, project=project)


def _add(db: Connection, verdict: Verdict, scheme: Scheme, *, by: str, again: bool, project: str | None) -> str:
    if not db.execute(select(posts.c.id).where(posts.c.id == verdict.post)).first():
        raise UserError(f"There is no post {verdict.post!r} in this database.", status=404)
    rests_on = list(dict.fromkeys(verdict.annotations))
    existing = select(func.count()).where(annotations.c.id.in_(rests_on), annotations.c.post == verdict.post)
    if db.execute(existing).scalar_one() != len(rests_on):
        raise UserError(f"The verdict rests on annotations that are not about post {verdict.post!r}.", status=404)
    turn = _turns(db, verdict, scheme)
    if turn and not again and (project is None or _turns(db, verdict, scheme, project)):
        raise UserError(f"Post {verdict.post!r} has a verdict on {verdict.question!r} already.", status=409)
    row = _row(verdict, scheme, by=by, turn=turn + 1, at=now(), project=project)
    try:
        db.execute(insert(verdicts).values(row))
    except IntegrityError:
        raise UserError(f"Someone else just decided on post {verdict.post!r}. Look again.", status=409) from None
    if rests_on:
        db.execute(insert(verdict_annotations), [{"verdict": row["id"], "annotation": it} for it in rests_on])
    what = "verdict changed" if turn else "verdict given"
    events.record(db, by=by, what=what, about=f"verdict {row['id']}", basis=verdict.basis)
    return str(row["id"])


@dataclass(frozen=True, slots=True)
class PostVerdicts:
    """A post's verdicts under a version of a scheme: those of a project that count, and the turns of all projects."""

    verdicts: Mapping[str, Verdict]
    turns: Mapping[str, int]


def verdicts_of(db: Connection, post: str, scheme: Scheme, project: str) -> PostVerdicts:
    """Return a post's verdicts by question, with the turns so far."""
    last: dict[str, Sequence[Any]] = {}
    turns: dict[str, int] = {}
    rests_on: dict[str, list[str]] = {}
    for row in _OF_POST.rows(db, {"of": post}):
        id_, name, version, question, turn, of_project, *_, annotation = row
        if (name, version) != (scheme.name, scheme.version):
            continue
        turns[question] = max(turn, turns.get(question, 0))
        rests_on.setdefault(id_, []).extend([annotation] if annotation is not None else [])
        if of_project == project and (question not in last or last[question][4] < turn):
            last[question] = row
    kept = {
        question: Verdict(post, question, tuple(labels), basis, tuple(rests_on[id_]), reason)
        for question, (id_, *_, labels, basis, reason, _) in last.items()
    }
    return PostVerdicts(kept, turns)


def prefetch_post(db: Connection, post: str) -> None:
    """Send early what `verdicts_of` reads."""
    _OF_POST.prefetch(db, {"of": post})


def add_settled(
    db: Connection,
    settled: Sequence[tuple[Verdict, str]],
    scheme: Scheme,
    *,
    project: str,
    post: str,
    turns: Mapping[str, int] | None = None,
) -> None:
    """Add a project's (verdict, by whom) on one post, each as the next turn; who has them brings the `turns` so far."""
    if not settled:
        return
    for verdict, _ in settled:
        _check(verdict, scheme)

    def refused() -> UserError:
        return UserError("Someone else just decided on this post. Look again.", status=409)

    turns = verdicts_of(db, post, scheme, project).turns if turns is None else turns
    at = now()
    for verdict, by in settled:
        turn = turns.get(verdict.question, 0) + 1
        row = _row(verdict, scheme, by=by, turn=turn, at=at, project=project)
        _ADD.send(db, {f"its_{name}": value for name, value in row.items()}, refused=refused)
        for annotation in dict.fromkeys(verdict.annotations):
            _ADD_LINK.send(db, {"its_verdict": row["id"], "its_annotation": annotation})
    for by in dict.fromkeys(by for _, by in settled):
        given = {verdict.question: verdict.basis for verdict, who in settled if who == by}
        events.record(db, by=by, what="post settled", about=f"post {post}", project=project, basis=given)


def add_published(db: Connection, published: Iterable[Verdict], scheme: Scheme, *, by: str) -> int:
    """Add the verdicts that a corpus came with, in one pass, and return how many."""
    at, n = now(), 0
    for part in _parts(published, CHUNK):
        for verdict in part:
            _check(verdict, scheme)
        try:
            db.execute(insert(verdicts), [_row(it, scheme, by=by, turn=1, at=at) for it in part])
        except IntegrityError:
            raise UserError(
                f"Of the verdicts {n + 1:,} to {n + len(part):,}, one is about a post that is not in this database "
                "or has a verdict on that question already; none was added.",
                status=409,
            ) from None
        n += len(part)
    events.record(db, by=by, what="verdicts published", about=f"scheme {scheme.name} {scheme.version}", n=n)
    return n


def copy_published(db: Connection, project: str) -> int:
    """Give a project's posts the published verdicts of the shelf's posts with the same id; return how many.

    For posts that were just copied from the shelf.
    """
    shelf, own = posts.alias("shelf"), posts.alias("own")
    columns = [column for column in verdicts.c if column.name not in ("id", "post")]
    query = (
        select(own.c.id.label("post"), *columns)
        .join_from(verdicts, shelf, shelf.c.id == verdicts.c.post)
        .join(own, and_(own.c.public_id == shelf.c.public_id, own.c.project == project))
        .where(verdicts.c.project.is_(None), shelf.c.project.is_(None))
    )
    rows = [{**row._mapping, "id": new_id()} for row in db.execute(query)]
    if rows:
        db.execute(insert(verdicts), rows)
    return len(rows)


def of_post(db: Connection, post: str, *, scheme: str, version: int, project: str | None = None) -> dict[str, Verdict]:
    """Return a post's verdicts that count, by question."""
    # By post alone: with the scheme in the condition, SQLite reads all of the scheme's verdicts through.
    found = db.execute(select(verdicts).where(verdicts.c.post == post, is_newest(project))).all()
    rows = [row for row in found if (row.scheme, row.scheme_version) == (scheme, version)]
    rests_on = _rests_on(db, [row.id for row in rows])
    return {row.question: _verdict(row, rests_on) for row in rows}


def history(
    db: Connection, post: str, question: str, *, scheme: str, version: int, project: str | None = None
) -> list[Verdict]:
    """Return every verdict on a question about a post, oldest first."""
    key = [verdicts.c.scheme == scheme, verdicts.c.scheme_version == version, verdicts.c.question == question]
    key += [] if project is None else [verdicts.c.project == project]
    rows = db.execute(select(verdicts).where(*key, verdicts.c.post == post).order_by(verdicts.c.turn)).all()
    rests_on = _rests_on(db, [row.id for row in rows])
    return [_verdict(row, rests_on) for row in rows]


@lru_cache(maxsize=64)
def is_newest(project: str | None = None) -> ColumnElement[bool]:
    """Return the condition that no later turn follows a verdict; with `project`, that none follows in that project."""
    later = verdicts.alias("later")
    same = [later.c[name] == verdicts.c[name] for name in ("scheme", "scheme_version", "question", "post")]
    if project is None:
        return ~exists().where(*same, later.c.turn > verdicts.c.turn)
    overruled = exists().where(*same, later.c.project == project, later.c.turn > verdicts.c.turn)
    return and_(verdicts.c.project == project, ~overruled)


_OF_POST = PreparedStatement(
    select(
        *(verdicts.c[name] for name in ("id", "scheme", "scheme_version", "question", "turn", "project")),
        *(verdicts.c[name] for name in ("labels", "basis", "reason")),
        verdict_annotations.c.annotation,
    )
    .select_from(verdicts.outerjoin(verdict_annotations, verdict_annotations.c.verdict == verdicts.c.id))
    .where(verdicts.c.post == bindparam("of"))
    .order_by(verdict_annotations.c.annotation)
)
_ADD = PreparedStatement(
    insert(verdicts).values({column.name: bindparam(f"its_{column.name}") for column in verdicts.c})
)
_ADD_LINK = PreparedStatement(
    insert(verdict_annotations).values(verdict=bindparam("its_verdict"), annotation=bindparam("its_annotation"))
)


def _check(verdict: Verdict, scheme: Scheme) -> None:
    """Refuse a label that the question does not have. Whether the question applies is the caller's rule to keep."""
    names = [question.name for question in scheme.questions]
    if verdict.question not in names:
        raise UserError(f"Scheme {scheme.name!r} has no question {verdict.question!r}; it asks {', '.join(names)}.")
    question = scheme.question(verdict.question)
    unknown = [label for label in _labels_in(question, verdict.labels) if label not in question.label_names]
    if unknown and not question.open:
        known = ", ".join(question.label_names)
        raise UserError(f"{unknown[0]!r} is not a label of {question.name!r}; it has {known}.")
    if not question.takes_several and len(verdict.labels) != 1:
        raise UserError(f"{question.name!r} takes one label, got {len(verdict.labels)}.")


def _labels_in(question: Question, answers: Iterable[str]) -> list[str]:
    try:
        labels = [question.label_in(answer) for answer in answers]
    except ValueError as error:
        raise UserError(f"{question.name!r}: {error}.") from None
    return labels if question.of_labels else [label for label in labels if label]


def _turns(db: Connection, verdict: Verdict, scheme: Scheme, project: str | None = None) -> int:
    query = select(func.max(verdicts.c.turn)).where(
        verdicts.c.scheme == scheme.name,
        verdicts.c.scheme_version == scheme.version,
        verdicts.c.question == verdict.question,
        verdicts.c.post == verdict.post,
    )
    return db.scalar(query if project is None else query.where(verdicts.c.project == project)) or 0


def _row(
    verdict: Verdict, scheme: Scheme, *, by: str, turn: int, at: datetime, project: str | None = None
) -> dict[str, Any]:
    return {
        "id": new_id(),
        "post": verdict.post,
        "scheme": scheme.name,
        "scheme_version": scheme.version,
        "question": verdict.question,
        "labels": list(verdict.labels),
        "basis": verdict.basis,
        "reason": verdict.reason,
        "at": at,
        "by": by,
        "turn": turn,
        "project": project,
    }


def _rests_on(db: Connection, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return verdict id → the annotations it rests on, in one query."""
    by_verdict: dict[str, tuple[str, ...]] = dict.fromkeys(ids, ())
    query = select(verdict_annotations).where(verdict_annotations.c.verdict.in_(list(ids)))
    for verdict, annotation in db.execute(query.order_by(verdict_annotations.c.annotation)) if ids else ():
        by_verdict[verdict] = (*by_verdict[verdict], annotation)
    return by_verdict


def _verdict(row: Row[Any], rests_on: dict[str, tuple[str, ...]]) -> Verdict:
    return Verdict(row.post, row.question, tuple(row.labels), row.basis, rests_on[row.id], row.reason)


def _parts(verdicts: Iterable[Verdict], size: int) -> Iterator[list[Verdict]]:
    """Yield the verdicts in lists of `size`."""
    rest = iter(verdicts)
    while part := list(islice(rest, size)):
        yield part
