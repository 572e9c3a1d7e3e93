"""Phases: the stretches of a project, in their order, each waiting, open or closed.

Whether a phase may open or close is a rule of the work (`project.phase_gates`);
here it is only written down, with its event.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update

from davy.annotation.labelling.store.tables import assignments, tallies
from davy.annotation.project.phase_kind import PHASE_KINDS
from davy.annotation.project.project import Phase
from davy.annotation.project.store.projects import get as get_project
from davy.annotation.project.store.tables import PHASES, items, phases, posts
from davy.annotation.settling.store.agreements import agreements
from davy.core import UserError
from davy.core.errors import nearest
from davy.store import events
from davy.store.columns import new_id, now
from davy.store.statements import PreparedStatement


def add(
    db: Connection,
    project_id: str,
    *,
    name: str,
    kind: str,
    answers: int | None,
    in_corpus: bool,
    settings: Mapping[str, Any],
    by: str,
) -> Phase:
    """Add a phase after those that are there, and return it; it waits until it is opened."""
    name = name.strip()
    if kind not in PHASE_KINDS:
        raise UserError(
            f"{kind!r} is not a kind of phase.{nearest(kind, list(PHASE_KINDS))} Use {', '.join(PHASE_KINDS)}."
        )
    if answers is not None and answers < 1:
        raise UserError(f"Phase {name!r} asks for {answers} answers a post; it takes at least 1, or all.")
    get_project(db, project_id)
    existing = of_project(db, project_id)
    _check_name(name, existing)
    position = 1 + max((phase.position for phase in existing), default=0)
    made = Phase(new_id(), project_id, name, kind, position, answers, in_corpus, settings, "waiting")
    PHASES.insert(db, made)
    events.record(db, by=by, what="phase added", about=f"project {project_id}", phase=name, kind=kind)
    return get(db, made.id)


def get(db: Connection, phase_id: str) -> Phase:
    """Return the phase with this id."""
    found = PHASES.get(db, phases.c.id == phase_id)
    if found is None:
        raise UserError(f"There is no phase {phase_id[:60]!r}.", status=404)
    return found


def lock(db: Connection, phase_id: str) -> Phase:
    """Return a phase, held until the transaction ends: of two who add a post to it at once, one waits."""
    db.execute(select(phases.c.id).where(phases.c.id == phase_id).with_for_update())
    return get(db, phase_id)


COLUMNS = PHASES.columns
phase_from = PHASES.read
"""Returns the phase of a row that has the columns of `COLUMNS`."""
_ALL = PreparedStatement(PHASES.select(phases.c.project == bindparam("project")).order_by(phases.c.position))


def of_project(db: Connection, project_id: str) -> list[Phase]:
    """Return a project's phases in their order."""
    return [phase_from(row) for row in _ALL.rows(db, {"project": project_id})]


def by_name(db: Connection, project_id: str, name: str) -> Phase:
    """Return the phase of a project that has this name."""
    every = of_project(db, project_id)
    for phase in every:
        if phase.name == name:
            return phase
    names = [phase.name for phase in every]
    hint = f" It has {', '.join(names)}." if names else " It has no phases yet."
    raise UserError(f"Project {project_id!r} has no phase {name[:60]!r}.{hint}", status=404)


def open_phase(db: Connection, phase_id: str, *, by: str) -> Phase:
    """Open a phase, so that people can work in it."""
    return _set_state(db, phase_id, "open", by=by)


def close_phase(db: Connection, phase_id: str, *, by: str) -> Phase:
    """Close a phase: nobody works in it any more."""
    return _set_state(db, phase_id, "closed", by=by)


def change_settings(db: Connection, phase_id: str, settings: Mapping[str, Any], *, by: str) -> Phase:
    """Replace a phase's settings; the event names what changed."""
    was = get(db, phase_id)
    changed = sorted(key for key in {*was.settings, *settings} if was.settings.get(key) != settings.get(key))
    if changed:
        PHASES.update(db, phases.c.id == phase_id, settings=settings)
        about = f"project {was.project}"
        events.record(db, by=by, what="phase settings changed", about=about, phase=was.name, sections=changed)
    return get(db, phase_id)


def set_answers(db: Connection, phase_id: str, answers: int | None, *, by: str) -> Phase:
    """Change how many people answer each post; only while nobody has one in hand, so that every post has room."""
    was = get(db, phase_id)
    if was.answers == answers:
        return was
    if has_begun(db, phase_id):
        raise UserError(f"People work in phase {was.name!r} already, so its answers a post stay.", status=409)
    PHASES.update(db, phases.c.id == phase_id, answers=answers)
    db.execute(update(items).where(items.c.phase == phase_id).values(room=answers or 1))
    about = f"project {was.project}"
    events.record(db, by=by, what="phase settings changed", about=about, phase=was.name, sections=["answers"])
    return get(db, phase_id)


def has_begun(db: Connection, phase_id: str) -> bool:
    """Return whether somebody has or had a post of a phase."""
    return db.scalar(select(assignments.c.id).where(assignments.c.phase == phase_id).limit(1)) is not None


def has_answers(db: Connection, phase_id: str) -> bool:
    """Return whether somebody has or had a post of a phase, or a file brought answers to one."""
    given = select(tallies.c.phase).where(tallies.c.phase == phase_id, tallies.c.given > 0).limit(1)
    return has_begun(db, phase_id) or db.scalar(given) is not None


def remove(db: Connection, phase_id: str, *, by: str) -> None:
    """Remove a phase that has no items; those behind it keep their order."""
    phase = get(db, phase_id)
    if db.scalar(select(items.c.id).where(items.c.phase == phase_id).limit(1)) is not None:
        raise UserError(f"Phase {phase.name!r} has posts; only an empty one can be removed.", status=409)
    db.execute(delete(tallies).where(tallies.c.phase == phase_id))
    db.execute(delete(agreements).where(agreements.c.phase == phase_id))
    db.execute(delete(phases).where(phases.c.id == phase_id))
    events.record(db, by=by, what="phase removed", about=f"project {phase.project}", phase=phase.name, kind=phase.kind)


def move_after(db: Connection, phase_id: str, after_id: str) -> Phase:
    """Put a phase right after another of its project, and return it; those behind move on by one."""
    phase, after = get(db, phase_id), get(db, after_id)
    behind = (phases.c.project == phase.project, phases.c.position > after.position, phases.c.id != phase_id)
    db.execute(update(phases).where(*behind).values(position=phases.c.position + 1))
    PHASES.update(db, phases.c.id == phase_id, position=after.position + 1)
    return get(db, phase_id)


def move(db: Connection, phase_id: str, *, before: str | None, by: str) -> None:
    """Put a phase that waits before another one that waits, or last; those that were opened keep their place."""
    phase = get(db, phase_id)
    order = [one for one in of_project(db, phase.project) if one.id != phase_id]
    names = [one.name for one in order]
    place = names.index(before) if before in names else len(order)
    if phase.state != "waiting" or any(one.state != "waiting" for one in order[place:]):
        raise UserError("Only phases that wait can be moved, and only behind those that were opened.", status=409)
    order.insert(place, phase)
    if [one.id for one in order] == [one.id for one in of_project(db, phase.project)]:
        return
    for position, one in enumerate(order, 1):
        PHASES.update(db, phases.c.id == one.id, position=position)
    events.record(db, by=by, what="phase moved", about=f"project {phase.project}", phase=phase.name)


def rename(db: Connection, phase_id: str, name: str, *, by: str) -> Phase:
    """Change the name of a phase that was never opened."""
    phase, name = get(db, phase_id), name.strip()
    if name == phase.name:
        return phase
    if phase.state != "waiting":
        raise UserError(f"Phase {phase.name!r} was opened, so its name stays.", status=409)
    _check_name(name, of_project(db, phase.project))
    PHASES.update(db, phases.c.id == phase_id, name=name)
    events.record(db, by=by, what="phase renamed", about=f"project {phase.project}", phase=phase.name, name=name)
    return get(db, phase_id)


def _check_name(name: str, existing: Collection[Phase]) -> None:
    if not name or len(name) > 40 or "/" in name:
        raise UserError(f"A phase's name has 1 to 40 characters and no slash; got {name[:60]!r}.")
    if name in {phase.name for phase in existing}:
        raise UserError(f"The project has a phase {name!r} already. Choose another name.", status=409)


def grow(db: Connection, phase_id: str, by_posts: int) -> None:
    """Note that so many items were added to a phase; items call this in the transaction that adds them."""
    PHASES.update(db, phases.c.id == phase_id, size=phases.c.size + by_posts)


def has_kind(db: Connection, project_id: str, kinds: Collection[str]) -> bool:
    """Return whether a project has a phase of one of these kinds."""
    query = select(phases.c.id).where(phases.c.project == project_id, phases.c.kind.in_(kinds)).limit(1)
    return db.scalar(query) is not None


def _set_state(db: Connection, phase_id: str, state: str, *, by: str) -> Phase:
    was = get(db, phase_id)
    if was.state == state:
        return was
    values: dict[str, Any] = {"state": state, "closed_at": now() if state == "closed" else None}
    if state == "open" and was.opened_at is None:
        values["opened_at"] = now()
    PHASES.update(db, phases.c.id == phase_id, **values)
    what = {"open": "phase opened", "closed": "phase closed"}[state]
    events.record(db, by=by, what=what, about=f"project {was.project}", phase=was.name)
    return get(db, phase_id)


def remove_unstarted(db: Connection, phase: Phase, n: int) -> list[str]:
    """Take the last `n` posts out of a phase that has not begun, and return their ids in their order."""
    if phase.state != "waiting":
        raise UserError(f"Phase {phase.name!r} is {phase.state}, so its posts stay. Upload others.", status=409)
    rows = db.execute(
        select(items.c.id, posts.c.public_id)
        .join_from(items, posts, posts.c.id == items.c.post)
        .where(items.c.phase == phase.id)
        .order_by(items.c.position.desc())
        .limit(n)
        .with_for_update(of=items)
    ).all()
    if len(rows) < n:
        raise UserError(f"Phase {phase.name!r} has {len(rows):,} posts, and {n:,} were asked for.", status=409)
    for start in range(0, n, 5_000):
        db.execute(delete(items).where(items.c.id.in_([row.id for row in rows[start : start + 5_000]])))
    grow(db, phase.id, -n)
    return [row.public_id for row in reversed(rows)]
