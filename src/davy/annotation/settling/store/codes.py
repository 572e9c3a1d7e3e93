"""Codes: notes that a team groups posts under until a scheme has grown. A post may have several, from several people.

A code can be renamed, described, put under another and merged into another. A
merged code stays as a pointer, so that old links and events still mean something.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from davy.annotation.project.store.tables import items, phases, posts
from davy.core import UserError
from davy.core.scheme import fold_spelling
from davy.store import events
from davy.store.columns import TextColumn, new_id, now, table_index
from davy.store.rows import Rows

LONGEST_NAME = 80
LONGEST_DESCRIPTION = 2_000
MOST = 500


@dataclass(frozen=True, slots=True)
class Code:
    """One code. `posts` counts the posts under it, `coders` who used it, `shared` the posts that several put there."""

    id: str
    project: str
    name: str
    description: str
    parent: str | None
    made_at: datetime
    made_by: str
    posts: int = 0
    coders: int = 0
    shared: int = 0


@dataclass(frozen=True, slots=True)
class CodedPost:
    """One person's code on one post."""

    code: str
    post: str
    by: str
    at: datetime
    note: str | None = None


_CODES = Rows(
    Code,
    "codes",
    Column("merged_into", TextColumn),
    table_index("ix_codes_project", "project", "id"),
    references={"project": "projects.id"},
    left_out=("posts", "coders", "shared"),
)
codes = _CODES.table
_CODED = Rows(
    CodedPost,
    "coded",
    table_index("ix_coded_post", "post"),
    key=("code", "post", "by"),
    references={"code": "codes.id", "post": "posts.id"},
)
coded = _CODED.table


def create(
    db: Connection, project_id: str, name: str, *, by: str, description: str = "", parent: str | None = None
) -> Code:
    """Add a code and return it; a name that is there already is refused."""
    name = _clean_name(name)
    live = list_codes(db, project_id, counts=False)
    _refuse_twin(live, name)
    if len(live) >= MOST:
        raise UserError(f"A project has at most {MOST} codes. Merge some first.", status=409)
    if parent is not None:
        _live(live, parent)
    made = _CODES.insert(db, Code(new_id(), project_id, name, _clean_words(description), parent, now(), by))
    _record(db, by, "code made", project_id, made.id)
    return made


def get(db: Connection, project_id: str, code_id: str) -> Code:
    """Return a code; one that was merged gives what it became."""
    for _ in range(MOST):
        query = _CODES.select(codes.c.id == code_id, codes.c.project == project_id)
        row = db.execute(query.add_columns(codes.c.merged_into)).one_or_none()
        if row is None:
            raise UserError("There is no such code in this project.", status=404)
        if row.merged_into is None:
            return _CODES.read(row[:-1])
        code_id = row.merged_into
    raise RuntimeError("codes were merged in a circle")


def list_codes(db: Connection, project_id: str, *, counts: bool = True) -> list[Code]:
    """Return the codes of a project that were not merged, oldest first, with their counts."""
    query = _CODES.select(codes.c.project == project_id, codes.c.merged_into.is_(None)).order_by(codes.c.id)
    found = _CODES.list(db, query)
    figures = _counts(db, [it.id for it in found]) if counts else {}
    return [it if it.id not in figures else _counted(it, *figures[it.id]) for it in found]


def change(
    db: Connection,
    project_id: str,
    code_id: str,
    *,
    by: str,
    name: str | None = None,
    description: str | None = None,
    parent: str | None = None,
    top: bool = False,
) -> Code:
    """Rename, describe or move a code: under `parent`, or with `top` to the top."""
    live = list_codes(db, project_id, counts=False)
    code = _live(live, get(db, project_id, code_id).id)
    values: dict[str, Any] = {}
    if name is not None and _clean_name(name) != code.name:
        values["name"] = _clean_name(name)
        _refuse_twin([it for it in live if it.id != code.id], values["name"])
    if description is not None and _clean_words(description) != code.description:
        values["description"] = _clean_words(description)
    if top and code.parent is not None:
        values["parent"] = None
    elif parent is not None and parent != code.parent:
        values["parent"] = _live(live, parent).id
        if code.id in _line_up(live, parent):
            raise UserError(f"Code {code.name!r} can't go under itself or one of its own.", status=409)
    if values:
        _CODES.update(db, codes.c.id == code.id, **values)
        _record(db, by, "code changed", project_id, code.id, changed=sorted(values))
    return get(db, project_id, code.id)


def merge(db: Connection, project_id: str, code_id: str, into: str, *, by: str) -> Code:
    """Put everything under one code under another, and return that one; the first is gone from lists."""
    live = list_codes(db, project_id, counts=False)
    source, target = _live(live, code_id), _live(live, into)
    if source.id == target.id:
        raise UserError(f"Code {source.name!r} can't be merged into itself.", status=409)
    twin = coded.alias("there")
    twins = select(twin.c.post).where(twin.c.code == target.id, twin.c.post == coded.c.post, twin.c.by == coded.c.by)
    db.execute(delete(coded).where(coded.c.code == source.id, twins.exists()))
    db.execute(update(coded).where(coded.c.code == source.id).values(code=target.id))
    # A parent that goes into its own child leaves the child in the parent's place.
    parent = source.parent if source.id in _line_up(live, target.id) else target.parent
    db.execute(update(codes).where(codes.c.parent == source.id, codes.c.id != target.id).values(parent=target.id))
    db.execute(update(codes).where(codes.c.id == target.id).values(parent=parent))
    db.execute(update(codes).where(codes.c.id == source.id).values(merged_into=target.id, parent=None))
    _record(db, by, "code merged", project_id, source.id, into=target.id)
    return get(db, project_id, target.id)


def put(db: Connection, project_id: str, code_id: str, post: str, *, by: str, note: str | None = None) -> bool:
    """Put a post under a code for a person; return whether that is new."""
    code = get(db, project_id, code_id)
    if not db.execute(select(posts.c.id).where(posts.c.id == post, posts.c.project == project_id)).first():
        raise UserError("There is no such post in this project.", status=404)
    key = (coded.c.code == code.id, coded.c.post == post, coded.c.by == by)
    if db.execute(select(coded.c.post).where(*key)).first():
        return False
    try:
        _CODED.insert(db, CodedPost(code.id, post, by, now(), note))
    except IntegrityError:
        raise UserError("This was just saved from another tab. Load the page again.", status=409) from None
    return True


def take(db: Connection, project_id: str, code_id: str, post: str, *, by: str) -> bool:
    """Take a person's code off a post; return whether it was there. Others' stay."""
    code = get(db, project_id, code_id)
    done = db.execute(delete(coded).where(coded.c.code == code.id, coded.c.post == post, coded.c.by == by))
    return done.rowcount > 0


def on_posts(db: Connection, project_id: str, keys: Sequence[str]) -> dict[str, list[CodedPost]]:
    """Return who put which code on each of these posts."""
    by_post: dict[str, list[CodedPost]] = {key: [] for key in keys}
    joined = coded.join(codes, codes.c.id == coded.c.code)
    query = _CODED.select(codes.c.project == project_id, coded.c.post.in_(list(keys))).select_from(joined)
    for one in _CODED.list(db, query.order_by(coded.c.at)) if keys else ():
        by_post[one.post].append(one)
    return by_post


def posts_under(db: Connection, code_ids: Iterable[str], *, after: str = "", limit: int = 20) -> list[str]:
    """Return the keys of posts under any of these codes, in order; page on with the last one."""
    query = select(coded.c.post).join(posts, posts.c.id == coded.c.post).where(posts.c.hidden == 0)
    query = query.where(coded.c.code.in_(list(code_ids)), coded.c.post > after).distinct()
    return list(db.scalars(query.order_by(coded.c.post).limit(limit)))


def posts_of_project(db: Connection, project_id: str, *, after: str = "", limit: int = 20) -> list[str]:
    """Return the keys of a project's posts in order, whichever phase they are in; page on with the last one."""
    post_ids: set[str] = set()
    for phase in db.scalars(select(phases.c.id).where(phases.c.project == project_id)):
        # A query a phase: each is a range of the index on (phase, post), where one for all would sort.
        query = select(items.c.post).join(posts, posts.c.id == items.c.post)
        query = query.where(items.c.phase == phase, items.c.post > after, posts.c.hidden == 0)
        post_ids.update(db.scalars(query.order_by(items.c.post).limit(limit)))
    return sorted(post_ids)[:limit]


def coded_by(db: Connection, project_id: str, by: str, keys: Sequence[str]) -> set[str]:
    """Return which of these posts a person has put under some code."""
    query = select(coded.c.post).join(codes, codes.c.id == coded.c.code).where(codes.c.project == project_id)
    return set(db.scalars(query.where(coded.c.by == by, coded.c.post.in_(list(keys))))) if keys else set()


def coders(db: Connection, project_id: str) -> dict[str, int]:
    """Return how many posts each person has coded."""
    query = select(coded.c.by, func.count(coded.c.post.distinct())).join(codes, codes.c.id == coded.c.code)
    rows = db.execute(query.where(codes.c.project == project_id).group_by(coded.c.by))
    return {by: int(n) for by, n in rows}


def count_recent(db: Connection, project_id: str, *, last: int = 50) -> tuple[int, int]:
    """Return how many posts were coded last (at most `last`), and how many codes were first used on one of them."""
    ours = coded.join(codes, codes.c.id == coded.c.code)
    begun = func.min(coded.c.at)
    by_post = select(begun.label("at")).select_from(ours).where(codes.c.project == project_id).group_by(coded.c.post)
    recent = list(db.scalars(by_post.order_by(begun.desc()).limit(last)))
    if not recent:
        return 0, 0
    by_code = select(begun.label("at")).select_from(ours).where(codes.c.project == project_id).group_by(coded.c.code)
    first_used = by_code.subquery()
    new = select(func.count()).select_from(first_used).where(first_used.c.at >= min(recent))
    return len(recent), db.execute(new).scalar_one()


def _counts(db: Connection, ids: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    if not ids:
        return {}
    people = select(coded.c.code, func.count(coded.c.by.distinct())).where(coded.c.code.in_(ids))
    by_code = {code: int(n) for code, n in db.execute(people.group_by(coded.c.code))}
    each = select(coded.c.code, coded.c.post, func.count().label("n")).where(coded.c.code.in_(ids))
    one = each.group_by(coded.c.code, coded.c.post).subquery()
    several = func.sum((one.c.n > 1).cast(items.c.room.type))
    rows = db.execute(select(one.c.code, func.count(), several).group_by(one.c.code))
    return {code: (int(n), by_code[code], int(shared or 0)) for code, n, shared in rows}


def _live(live: Iterable[Code], code_id: str) -> Code:
    found = next((it for it in live if it.id == code_id), None)
    if found is None:
        raise UserError("There is no such code in this project any more. Load the page again.", status=404)
    return found


def _line_up(live: Iterable[Code], code_id: str) -> list[str]:
    """Return a code's id and those of everything above it."""
    parents = {it.id: it.parent for it in live}
    line: list[str] = []
    here: str | None = code_id
    while here is not None and here not in line:
        line.append(here)
        here = parents.get(here)
    return line


def _refuse_twin(live: Iterable[Code], name: str) -> None:
    if any(fold_spelling(it.name) == fold_spelling(name) for it in live):
        raise UserError(f"There is a code {name!r} already. Use it, or choose another name.", status=409)


def _clean_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise UserError(f"A code's name has 1 to {LONGEST_NAME} characters on one line.")
    return name


def _clean_words(words: str) -> str:
    words = words.strip()
    if len(words) > LONGEST_DESCRIPTION:
        raise UserError(f"A description has at most {LONGEST_DESCRIPTION} characters, this one has {len(words)}.")
    return words


def _record(db: Connection, by: str, what: str, project_id: str, code_id: str, **details: Any) -> None:
    events.record(db, by=by, what=what, about=f"project {project_id}", code=code_id, **details)


def _counted(code: Code, n: int, people: int, shared: int) -> Code:
    return replace(code, posts=n, coders=people, shared=shared)
