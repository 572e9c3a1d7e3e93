"""What an export reads: the posts of some phases with their current answers and verdicts, page by page.

Pages go up by post id, so that an export of a million posts holds a few
hundred at a time. All of them see one moment: call it in one `store.read()`.
People are ids here; whoever writes a file puts pseudonyms in their place.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, exists, select
from sqlalchemy.engine import Row

from davy.annotation.labelling.store.annotations import NONE, current
from davy.annotation.labelling.store.tables import annotations, answers, verdicts
from davy.annotation.project.project import Project
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.posts import COLUMNS
from davy.annotation.project.store.tables import items, members, posts
from davy.core import POST_COLUMNS, Annotation
from davy.people.store.tables import users

PAGE = 400
"""Posts read at a time; each of a page's queries names them all."""

IMPORTED = "imported:"
"""What stands before the name of an annotator who came with a file and has no account."""


@dataclass(frozen=True, slots=True)
class ExportedVerdict:
    """A verdict that counts, without who decided it."""

    question: str
    labels: tuple[str, ...]
    basis: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class ExportedPost:
    """One post as it is kept, by column, with its annotations and verdicts."""

    key: str
    post: dict[str, str | None]
    annotations: list[Annotation]
    verdicts: list[ExportedVerdict]


def iter_posts(
    db: Connection, project: Project, phase_ids: Sequence[str], *, page: int = PAGE
) -> Iterator[ExportedPost]:
    """Yield each post that is an item of these phases, by id, with what was answered in them and what was settled."""
    last = ""
    while rows := _next_posts(db, project.id, phase_ids, last, page):
        keys = [row[0] for row in rows]
        given = _annotations(db, project.id, phase_ids, keys)
        settled = _verdicts(db, project, keys)
        for key in _dropped(db, phase_ids, keys):
            settled.pop(key, None)
        for row in rows:
            key, post = row[0], {name: row[place] for place, name in enumerate(POST_COLUMNS, 1)}
            yield ExportedPost(key, post, given.get(key, []), settled.get(key, []))
        last = rows[-1].public_id


def pseudonyms(db: Connection, project_id: str) -> dict[str, str]:
    """Return who is, or was, in a project: user id → pseudonym."""
    query = select(members.c.user_id, members.c.pseudonym).where(members.c.project == project_id)
    return {row.user_id: row.pseudonym for row in db.execute(query)}


def account_ids(db: Connection) -> set[str]:
    """Return the ids of all accounts: what no export may hold."""
    return set(db.scalars(select(users.c.id)))


def _next_posts(db: Connection, project_id: str, phase_ids: Sequence[str], after: str, page: int) -> Sequence[Row[Any]]:
    """Return (key, columns of a post…) of the next posts that are items of the phases, by id."""
    wanted = exists().where(items.c.post == posts.c.id, items.c.phase.in_(list(phase_ids)))
    query = select(posts.c.id, *COLUMNS).where(posts.c.project == project_id, posts.c.public_id > after, wanted)
    query = query.where(UNLOCKED)
    return db.execute(query.order_by(posts.c.public_id).limit(page)).all()


def _annotations(
    db: Connection, project_id: str, phase_ids: Sequence[str], ids: Sequence[str]
) -> dict[str, list[Annotation]]:
    # By post alone: told the phase too, SQLite would read the whole phase through for every page.
    where = (annotations.c.post.in_(ids), current())
    wanted = set(phase_ids)
    labels: defaultdict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    query = (
        select(answers.c.annotation, answers.c.question, answers.c.label)
        .join(annotations, answers.c.annotation == annotations.c.id)
        .where(*where)
        .order_by(answers.c.annotation, answers.c.question, answers.c.position)
    )
    for annotation, question, label in db.execute(query).all():
        given = labels[annotation]
        before = given.get(question, ())
        given[question] = before if label == NONE else (*before, label)
    by_post: defaultdict[str, list[Annotation]] = defaultdict(list)
    for row in db.execute(select(*_OWN).where(*where).order_by(annotations.c.id)).all():
        if row.project == project_id and row.phase in wanted:
            by_post[row.post].append(_annotation(row, labels.get(row.id, {})))
    return by_post


_OWN = [annotations.c[name] for name in Annotation.__dataclass_fields__ if name != "answers"]
_ANSWERS = list(Annotation.__dataclass_fields__).index("answers")
_FLAGS = [column.name for column in _OWN].index("flags")


def _annotation(row: Sequence[Any], given: dict[str, tuple[str, ...]]) -> Annotation:
    values: list[Any] = list(row)
    values[_FLAGS] = tuple(flag for flag in values[_FLAGS].split("|") if flag)
    values.insert(_ANSWERS, given)
    return Annotation(*values)


def _dropped(db: Connection, phase_ids: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the posts that were dropped from the corpus: what was settled about them no longer counts."""
    query = select(items.c.post, items.c.phase).where(items.c.post.in_(ids), items.c.state == "dropped")
    return [row.post for row in db.execute(query) if row.phase in set(phase_ids)]


def _verdicts(db: Connection, project: Project, ids: Sequence[str]) -> dict[str, list[ExportedVerdict]]:
    """Return the newest verdicts that this project, or a published corpus, gave."""
    key = (project.scheme, project.scheme_version)
    newest: dict[tuple[str, str], ExportedVerdict] = {}
    rows = db.execute(select(verdicts).where(verdicts.c.post.in_(ids))).all()
    # What this project decided comes last, whatever a published corpus says.
    for row in sorted(rows, key=lambda row: (row.project is not None, row.turn)):
        if (row.scheme, row.scheme_version) == key and row.project in (project.id, None):
            newest[row.post, row.question] = ExportedVerdict(row.question, tuple(row.labels), row.basis, row.reason)
    found: defaultdict[str, list[ExportedVerdict]] = defaultdict(list)
    for (post, _), verdict in newest.items():
        found[post].append(verdict)
    return found
