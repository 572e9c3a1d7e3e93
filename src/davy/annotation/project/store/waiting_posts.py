"""Posts that wait in a later phase, to be moved into an earlier one: the next calibration set comes from there."""

from sqlalchemy import Connection, delete, select

from davy.annotation.project.project import Phase
from davy.annotation.project.store import phases
from davy.annotation.project.store.tables import items, posts
from davy.core import UserError


def take_out(db: Connection, phase: Phase, n: int) -> list[str]:
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
    phases.grow(db, phase.id, -n)
    return [row.public_id for row in reversed(rows)]
