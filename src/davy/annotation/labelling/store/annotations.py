"""Annotations: what people answered, one row per answer and label, and a person's own answers as a list to correct.

Rows are only ever added. A second thought is a new annotation that names the one it replaces; each can be
replaced once. "Current" are those that nothing replaces. A question answered
with no label at all (a `many` question) is kept as the empty label, since
"none of these" is an answer and "was not asked" is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, exists, func, insert, select, union_all
from sqlalchemy.engine import Row

from davy.annotation.labelling.store.tables import annotations, answers, assignments
from davy.annotation.project.project import Phase
from davy.annotation.project.store import phases
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.tables import items, posts
from davy.core import Annotation, Scheme, UserError
from davy.core.annotation import Answers
from davy.schemes.store.schemes import guidelines, schemes
from davy.store import events
from davy.store.statements import PreparedStatement

NONE = ""
"""The label that stands for "none of these"."""


def add(db: Connection, annotation: Annotation, scheme: Scheme) -> bool:
    """Add an annotation; return False where the very same one is there already, as when a form is sent twice.

    `scheme` is the scheme that it answers; answers that don't fit it are refused.
    """
    _check(annotation, scheme)
    if known := find(db, annotation.id):
        if known == annotation:
            return False
        raise UserError(f"Annotation {annotation.id!r} is there already, with other answers.", status=409)
    _check_references(db, annotation)
    write(db, annotation)
    return True


def write(db: Connection, annotation: Annotation) -> None:
    """Add an annotation that the caller has checked against its scheme, and whose references it has just read.

    That saves five queries an answer. The database refuses an id or a predecessor twice.
    """

    def refused() -> UserError:  # someone else added or replaced it between the look and the insert
        if annotation.replaces is None:
            return UserError("This answer was sent twice at once. Load the page again.", status=409)
        return _replaced(annotation)

    values = {name: getattr(annotation, name) for name in _OWN} | {"flags": "|".join(annotation.flags)}
    _ADD.send(db, values, refused=refused)
    rows = [
        {"annotation": annotation.id, "question": question, "label": label, "position": position}
        for question, labels in annotation.answers.items()
        for position, label in enumerate(labels or (NONE,))
    ]
    for row in rows:
        _ADD_ANSWER.send(db, row)
    events.record(db, by=annotation.annotator, what="post annotated", about=f"annotation {annotation.id}")


_OWN = (
    "id post annotator scheme scheme_version guideline_version at seconds comment replaces project phase".split()  # noqa: SIM905
)
_ADD = PreparedStatement(insert(annotations).values({name: bindparam(name) for name in (*_OWN, "flags")}))
_ADD_ANSWER = PreparedStatement(
    insert(answers).values({name: bindparam(name) for name in ("annotation", "question", "label", "position")})
)


def get(db: Connection, annotation_id: str) -> Annotation:
    """Return the annotation with this id."""
    found = find(db, annotation_id)
    if found is None:
        raise UserError(f"There is no annotation {annotation_id!r}.", status=404)
    return found


def find(db: Connection, annotation_id: str) -> Annotation | None:
    """Return the annotation with this id, or None."""
    rows = db.execute(select(annotations).where(annotations.c.id == annotation_id)).all()
    return _filled(db, rows)[0] if rows else None


def get_many(db: Connection, ids: Sequence[str]) -> dict[str, Annotation]:
    """Return annotations by their ids; those that there are not are left out."""
    rows = db.execute(select(annotations).where(annotations.c.id.in_(list(ids)))).all()
    return {found.id: found for found in _filled(db, rows)}


def of_post(db: Connection, post: str, *, scheme: str, version: int, replaced: bool = False) -> list[Annotation]:
    """Return a post's current annotations under a version of a scheme, oldest first; `replaced` adds the others."""
    by_id: dict[str, tuple[Any, ...]] = {}
    given: dict[str, dict[str, tuple[str, ...]]] = {}
    for *own, flags, question, label in _of_post(replaced=replaced).rows(db, {"of": post}):
        values = dict(zip(_OWN, own, strict=True))
        if (values["scheme"], values["scheme_version"]) != (scheme, version):
            continue
        by_id[values["id"]] = (values, flags)
        mine = given.setdefault(values["id"], {})
        if question is not None:
            mine[question] = mine.get(question, ()) if label == NONE else (*mine.get(question, ()), label)
    return [_annotation(values, flags, given[key]) for key, (values, flags) in by_id.items()]


def prefetch_post(db: Connection, post: str) -> None:
    """Send early what `of_post` reads of a post's current annotations."""
    _of_post(replaced=False).prefetch(db, {"of": post})


@cache
def _of_post(*, replaced: bool) -> PreparedStatement:
    # By post alone: told the scheme too, SQLite takes that index and reads all of the scheme's answers through.
    query = (
        select(*(annotations.c[name] for name in (*_OWN, "flags")), answers.c.question, answers.c.label)
        .select_from(annotations.outerjoin(answers, answers.c.annotation == annotations.c.id))
        .where(annotations.c.post == bindparam("of"))
        .order_by(annotations.c.id, answers.c.question, answers.c.position)
    )
    return PreparedStatement(query if replaced else query.where(current()))


def of_annotator(db: Connection, annotator: str, *, before: str | None = None, limit: int = 50) -> list[Annotation]:
    """Return a person's annotations from newest to oldest; page on with `before` set to the last one's id."""
    query = select(annotations).where(annotations.c.annotator == annotator)
    query = query if before is None else query.where(annotations.c.id < before)
    return _filled(db, db.execute(query.order_by(annotations.c.id.desc()).limit(limit)).all())


def count(db: Connection, *, scheme: str, version: int) -> int:
    """Return how many current annotations there are under a version of a scheme."""
    query = select(func.count()).select_from(annotations)
    return db.execute(
        query.where(annotations.c.scheme == scheme, annotations.c.scheme_version == version, current())
    ).scalar_one()


@cache
def current() -> ColumnElement[bool]:
    """Return the condition that nothing replaces an annotation."""
    later = annotations.alias("later")
    return ~exists().where(later.c.replaces == annotations.c.id)


def _check(annotation: Annotation, scheme: Scheme) -> None:
    if (annotation.scheme, annotation.scheme_version) != (scheme.name, scheme.version):
        raise ValueError(f"an annotation under {annotation.scheme!r} was checked against {scheme.name!r}")
    faults = scheme.faults(annotation.answers)
    if faults:
        raise UserError(f"The answers don't fit scheme {scheme.name!r}: {faults[0]}")
    if annotation.replaces == annotation.id:
        raise UserError("An annotation can't replace itself.")


def _check_references(db: Connection, annotation: Annotation) -> None:
    if not db.execute(select(posts.c.id).where(posts.c.id == annotation.post)).first():
        raise UserError(f"There is no post {annotation.post!r} in this database.", status=404)
    name, version = annotation.scheme, annotation.scheme_version
    # Held against a change of its questions until this answer is in.
    scheme = select(schemes.c.name).where(schemes.c.name == name, schemes.c.version == version)
    if not db.execute(scheme.with_for_update(read=True, key_share=True)).first():
        raise UserError(f"Scheme {name!r} version {version} is not in this database. Add it first.", status=404)
    if annotation.guideline_version:
        key = (guidelines.c.scheme == name, guidelines.c.scheme_version == version)
        found = select(guidelines.c.version).where(*key, guidelines.c.version == annotation.guideline_version)
        if not db.execute(found).first():
            raise UserError(f"Scheme {name!r} has no guideline {annotation.guideline_version}.", status=404)
    if annotation.replaces is not None:
        _check_replaced(db, annotation)


def _check_replaced(db: Connection, annotation: Annotation) -> None:
    old = db.execute(select(annotations).where(annotations.c.id == annotation.replaces)).one_or_none()
    if old is None:
        raise UserError(f"There is no annotation {annotation.replaces!r} to replace.", status=404)
    same = ("post", "annotator", "scheme", "scheme_version")
    if any(getattr(old, name) != getattr(annotation, name) for name in same):
        raise UserError("An annotation replaces only one by the same person about the same post.", status=403)
    if db.execute(select(annotations.c.id).where(annotations.c.replaces == annotation.replaces)).first():
        raise _replaced(annotation)


def _replaced(annotation: Annotation) -> UserError:
    return UserError(
        f"Annotation {annotation.replaces!r} was replaced already. Look at the newest and change that.", status=409
    )


_ANSWERS = (
    select(answers)
    .where(answers.c.annotation.in_(bindparam("of", expanding=True)))
    .order_by(answers.c.question, answers.c.position)
)


def _filled(db: Connection, rows: Sequence[Row[Any]]) -> list[Annotation]:
    """Return the annotations of these rows with their answers, in one more query."""
    given: dict[str, dict[str, tuple[str, ...]]] = {row.id: {} for row in rows}
    for row in db.execute(_ANSWERS, {"of": list(given)}) if rows else ():
        before = given[row.annotation].get(row.question, ())
        given[row.annotation][row.question] = before if row.label == NONE else (*before, row.label)
    return [_annotation({name: getattr(row, name) for name in _OWN}, row.flags, given[row.id]) for row in rows]


def _annotation(own: Mapping[str, Any], flags: str, given: Answers) -> Annotation:
    return Annotation(**own, answers=given, flags=tuple(flag for flag in flags.split("|") if flag))


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """One post that a person answered or refused, in which phase, and when."""

    assignment: str
    phase: str
    phase_state: str
    kind: str
    text: str
    lang: str | None
    image: str | None
    at: datetime
    annotation: Annotation


SEARCHED = 3_000
"""Answers of a person in which a search looks for one page."""


def end_of_search(db: Connection, project_id: str, user_id: str, before: datetime | None = None) -> datetime | None:
    """Return the time of the oldest answer that a search looks at for one page; None where it reaches the first."""
    found = phases.of_project(db, project_id)
    parts = [_in_phase(phase.id, user_id, SEARCHED, assignments.c.done_at, before=before) for phase in found]
    if not parts:
        return None
    newest = union_all(*parts).subquery()
    return db.scalar(select(newest.c.done_at).order_by(newest.c.done_at.desc()).offset(SEARCHED - 1).limit(1))


def _in_phase(
    phase_id: str,
    user_id: str,
    limit: int,
    *columns: ColumnElement[Any],
    before: datetime | None,
    where: Sequence[ColumnElement[bool]] = (),
) -> Select[Any]:
    """Return a person's answers in a phase, newest first: the index has a person's phases one by one."""
    query = select(*columns).select_from(
        assignments.join(items, items.c.id == assignments.c.item).join(posts, posts.c.id == items.c.post)
    )
    query = query.where(assignments.c.annotator == user_id, assignments.c.phase == phase_id, *where)
    query = query.where(assignments.c.annotation.is_not(None), assignments.c.state.in_(("done", "refused", "again")))
    query = query if before is None else query.where(assignments.c.done_at < before)
    return select(query.order_by(assignments.c.done_at.desc()).limit(limit).subquery())


def answered_items(
    db: Connection,
    project_id: str,
    user_id: str,
    *,
    search: str = "",
    before: datetime | None = None,
    until: datetime | None = None,
    limit: int = 30,
) -> list[AnsweredItem]:
    """Return a person's answers in a project; `search` is found in the posts' texts, whatever the case of its letters.

    Page on with `before` set to the last one's time. None before `until` is looked at.
    """
    where = [UNLOCKED]
    if search:
        where.append(posts.c.text.icontains(search, autoescape=True))
    if until is not None:
        where.append(assignments.c.done_at >= until)
    by_id = {phase.id: phase for phase in phases.of_project(db, project_id)}
    own = (assignments.c.id, assignments.c.phase, assignments.c.annotation, assignments.c.done_at)
    columns = (*own, posts.c.text, posts.c.lang, posts.c.image)
    parts = [_in_phase(phase, user_id, limit, *columns, before=before, where=where) for phase in by_id]
    if not parts:
        return []
    newest = union_all(*parts).subquery()
    rows = db.execute(select(newest).order_by(newest.c.done_at.desc()).limit(limit)).all()
    given = get_many(db, [row.annotation for row in rows])
    return [_answered(row, by_id[row.phase], given[row.annotation]) for row in rows]


def _answered(row: Any, phase: Phase, given: Annotation) -> AnsweredItem:
    about = (row.id, phase.name, phase.state, phase.kind, row.text or "", row.lang, row.image, row.done_at)
    return AnsweredItem(*about, given)
