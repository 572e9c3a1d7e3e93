"""Withdrawals: posts that their authors deleted leave the store, with everything that was derived from their text.

That is: posts derived from them (`parent`, and memes that were built from them), and every row of any table that
points at one of these, such as annotations with their comments and verdicts with
their reasons; and their pictures, unless other posts of the project name them too.
The phases that had them are smaller by so many posts. Only the event stays, so that it
is known that something was removed, when, by whom and how much; never what it said.
Posts are named by the id that people see, and leave every project that has one of that
id, unless one is named.
In a challenge the text goes and the entry stays, since teams' predictions are kept by its place.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pkgutil import resolve_name

from sqlalchemy import Column, Connection, Table, delete, func, select, text, update

from davy.annotation.labelling.store.tables import annotations, assignments, tallies, verdicts
from davy.annotation.project.store import images, phases
from davy.annotation.project.store.posts import keys_of, owned_by
from davy.annotation.project.store.tables import items, posts, projects
from davy.annotation.project.store.tables import phases as phase_table
from davy.core.feature import features
from davy.store import events
from davy.store.schema import metadata

CHUNK = 500
_COUNTED_AS = {"done": "given", "again": "given", "refused": "refused", "skipped": "skipped"}
"""As what an assignment stands in its person's tally."""


@dataclass(slots=True)
class WithdrawalCounts:
    """What a withdrawal touched. `rows` counts what was removed, by table."""

    asked: int
    found: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """The projects that had one of them."""
    rows: dict[str, int] = field(default_factory=dict)
    annotators: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    """Settled answers that were removed, by scheme and question."""
    images: tuple[str, ...] = ()
    """Keys of pictures that nobody has any more, so that their files can go."""


def preview(db: Connection, ids: Iterable[str], *, project: str | None = None) -> WithdrawalCounts:
    """Return what a withdrawal of these posts would touch; nothing changes."""
    return _look(db, ids, project)[0]


def withdraw(db: Connection, ids: Iterable[str], *, by: str, project: str | None = None) -> WithdrawalCounts:
    """Remove these posts and all that was derived from them; ids that are not here are passed over."""
    asked = list(dict.fromkeys(ids))
    result, keys = _look(db, asked, project)
    if db.dialect.name == "sqlite":
        db.execute(text("PRAGMA secure_delete = ON"))  # freed pages are zeroed, not left readable in the file
    named = _images(db, keys)
    for part in _parts(keys):
        _shrink_phases(db, part)
        _clear(db, posts, posts.c.id, part, result.rows)
    for owner, wanted in named.items():
        unused = wanted - _still_named(db, owner, wanted)
        result.images += tuple(sorted(images.withdraw(db, owner, unused, by=by)))
    if project is None:
        for feature in features():
            if feature.withdraw_posts is not None:
                rows, unused = resolve_name(feature.withdraw_posts)(db, asked, by=by)
                result.rows |= rows
                result.images += tuple(sorted(unused))
    for post in (*result.found, *result.derived):
        events.record(db, by=by, what="post withdrawn", about=f"post {post}")
    if result.found:
        events.record(db, by=by, what="posts withdrawn", about="posts", asked=result.asked, removed=result.rows)
    return result


def _shrink_phases(db: Connection, keys: Sequence[str]) -> None:
    """Take the items of these posts out of their phases' sizes, and what people did with them out of the tallies.

    Else nobody would ever be done with such a phase, or some would be one post too early. The seconds stay: they
    were spent.
    """
    here = items.c.post.in_(keys)
    for phase, n in db.execute(select(items.c.phase, func.count()).where(here).group_by(items.c.phase)).all():
        phases.grow(db, phase, -n)
    query = (
        select(assignments.c.item, assignments.c.phase, assignments.c.annotator, assignments.c.state)
        .add_columns(items.c.given, phase_table.c.answers)
        .join(items, items.c.id == assignments.c.item)
        .join(phase_table, phase_table.c.id == assignments.c.phase)
        .where(here, assignments.c.state.in_(list(_COUNTED_AS)))
        .order_by(assignments.c.done_at)
    )
    gone: dict[tuple[str, str], Counter[str]] = {}
    filled: dict[str, tuple[str, str]] = {}
    for row in db.execute(query):
        who, counted_as = (row.phase, row.annotator), _COUNTED_AS[row.state]
        gone.setdefault(who, Counter())[counted_as] += 1
        if counted_as == "given" and row.answers is not None and row.given >= row.answers:
            filled[row.item] = who  # whoever answered last made it full
    for who in filled.values():
        gone[who]["filled"] += 1
    for (phase, annotator), counts in gone.items():
        mine = (tallies.c.phase == phase, tallies.c.annotator == annotator)
        db.execute(update(tallies).where(*mine).values({name: tallies.c[name] - n for name, n in counts.items()}))


def _images(db: Connection, keys: Sequence[str]) -> dict[str | None, set[str]]:
    """Return the pictures that posts name, by the project that has them; None is the shelf."""
    by_project: dict[str | None, set[str]] = {}
    for part in _parts(keys):
        query = select(posts.c.project, posts.c.image).where(posts.c.id.in_(part), posts.c.image.is_not(None))
        for owner, image in db.execute(query):
            by_project.setdefault(owner, set()).add(image)
    return by_project


def _still_named(db: Connection, owner: str | None, wanted: Iterable[str]) -> set[str]:
    """Return those pictures that other posts of their owner name."""
    query = select(posts.c.image).where(owned_by(owner))
    return {image for part in _parts(wanted) for image in db.scalars(query.where(posts.c.image.in_(part)))}


def _look(db: Connection, ids: Iterable[str], project: str | None) -> tuple[WithdrawalCounts, list[str]]:
    """Return what a withdrawal touches, and the keys of the posts that go: derived ones first."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, str] = {}
    derived: dict[str, str] = {}
    owners: list[str] = []
    # Owner by owner, since an index has ids within a project only.
    for owner in (None, *db.scalars(select(projects.c.id))) if project is None else (project,):
        own = {key: post for part in _parts(wanted) for post, key in keys_of(db, owner, part).items()}
        found |= own
        derived |= _derived(db, owner, own)
        owners += [owner] if own and owner is not None else []
    result = WithdrawalCounts(len(wanted), tuple(found.values()), tuple(derived.values()), tuple(owners))
    people: set[str] = set()
    keys = [*reversed(derived), *found]
    for part in _parts(keys):
        people.update(db.scalars(select(annotations.c.annotator).where(annotations.c.post.in_(part)).distinct()))
        query = select(verdicts.c.scheme, verdicts.c.question, func.count()).where(verdicts.c.post.in_(part))
        for scheme, question, n in db.execute(query.group_by(verdicts.c.scheme, verdicts.c.question)):
            name = f"{scheme}: {question}"
            result.verdicts[name] = result.verdicts.get(name, 0) + n
    result.annotators = len(people)
    return result, keys


def _derived(db: Connection, owner: str | None, found: Mapping[str, str]) -> dict[str, str]:
    """Return key → id of the posts that an owner derived from these, and from those in turn."""
    derived: dict[str, str] = {}
    layer = dict(found)
    every = select(posts.c.id, posts.c.public_id)
    while layer:
        queries = [every.where(posts.c.parent.in_(part), owned_by(owner)) for part in _parts(layer.values())]
        made = [resolve_name(each.derived_posts) for each in features() if each.derived_posts is not None]
        queries += [every.where(posts.c.id.in_(posts_from(part))) for posts_from in made for part in _parts(layer)]
        fresh = {row.id: row.public_id for query in queries for row in db.execute(query) if row.id not in found}
        layer = {key: post for key, post in fresh.items() if key not in derived}
        derived |= layer
    return derived


def _clear(db: Connection, table: Table, column: Column[str], keys: Sequence[str], rows: dict[str, int]) -> None:
    """Delete the rows of a table whose column has one of these keys, having deleted what points at them."""
    pointing = [
        (other, key.parent)
        for other in metadata.sorted_tables
        for key in other.foreign_keys
        if other is not table and key.column.table is table and key.column.name == "id"
    ]
    if pointing:
        ids = list(db.scalars(select(table.c.id).where(column.in_(keys))))
        for other, where in pointing:
            for part in _parts(ids):
                _clear(db, other, where, part, rows)
    done = db.execute(delete(table).where(column.in_(keys)))
    if done.rowcount:
        rows[table.name] = rows.get(table.name, 0) + done.rowcount


def _parts(keys: Iterable[str]) -> Iterator[list[str]]:
    """Yield keys in lists that fit one query."""
    rest = iter(keys)
    while part := list(islice(rest, CHUNK)):
        yield part
