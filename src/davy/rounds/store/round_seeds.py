"""Texts to start an entry from: translated seeds, sentences of a list that the target gets wrong, proposals.

They are posts of the project, hidden from those who don't run it, so that a withdrawal finds them and what was made of
them. Each person gets the one that was used least, and none twice.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Column, Connection, ForeignKey, Integer, Table, func, insert, select

from davy.annotation.project.store import posts
from davy.annotation.project.store.tables import posts as post_table
from davy.core import UserError
from davy.rounds.round import SUPPORTS, Round, TargetPrediction
from davy.rounds.store.entries import entries
from davy.store import events
from davy.store.columns import JsonColumn, TextColumn, TimeColumn, metadata, now, table_index

SeedRow = tuple[str, Sequence[TargetPrediction]]
"""(id of a post of the project, what the targets said of it)"""


@dataclass(frozen=True, slots=True)
class RoundSeed:
    """One text to start from. `id` is its post's."""

    id: str
    support: str
    text: str
    lang: str | None
    predictions: tuple[TargetPrediction, ...] = ()


round_seeds = Table(
    "round_seeds",
    metadata,
    Column("round", TextColumn, ForeignKey("rounds.id"), primary_key=True),
    Column("post", TextColumn, ForeignKey("posts.id"), primary_key=True),
    Column("support", TextColumn, nullable=False),
    Column("position", Integer, nullable=False),
    Column("predictions", JsonColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    table_index("ix_round_seeds_post", "post"),
)


def add(db: Connection, round_: Round, support: str, rows: Sequence[SeedRow], *, by: str) -> int:
    """Add posts of the project to a round as texts to start from, hide them, and return how many are new."""
    if support not in SUPPORTS:
        raise UserError(f"A text to start from is {', '.join(SUPPORTS)}, not {support!r}.")
    keys = posts.keys_of(db, round_.project, [post for post, _ in rows])
    present = set(db.scalars(select(round_seeds.c.post).where(round_seeds.c.round == round_.id)))
    last = db.scalar(select(func.max(round_seeds.c.position)).where(round_seeds.c.round == round_.id))
    fresh = {keys[post]: predictions for post, predictions in rows if keys[post] not in present}
    if not fresh:
        return 0
    first, at = 0 if last is None else int(last) + 1, now()
    db.execute(
        insert(round_seeds),
        [
            {
                "round": round_.id,
                "post": key,
                "support": support,
                "position": first + place,
                "predictions": [asdict(it) for it in predictions],
                "added_at": at,
                "added_by": by,
            }
            for place, (key, predictions) in enumerate(fresh.items())
        ],
    )
    posts.set_hidden(db, round_.project, [post for post, _ in rows], hidden=True, by=by)
    about = f"project {round_.project}"
    events.record(db, by=by, what="seeds added", about=about, round=round_.number, support=support, n=len(fresh))
    return len(fresh)


def next_seed(
    db: Connection, round_: Round, support: str, author: str, *, after: str | None = None
) -> RoundSeed | None:
    """Return the text of a kind that was used least and that this person has not used; `after` skips up to that one."""
    used = post_table.alias("used")
    count = (
        select(func.count())
        .select_from(used)
        .join(entries, entries.c.post == used.c.id)
        .where(used.c.parent == post_table.c.public_id, used.c.project == round_.project)
    )
    mine = count.where(entries.c.author == author).scalar_subquery()
    query = (
        select(post_table.c.public_id, round_seeds.c.support, post_table.c.text, post_table.c.lang)
        .add_columns(round_seeds.c.predictions, round_seeds.c.position)
        .join(post_table, post_table.c.id == round_seeds.c.post)
        .where(round_seeds.c.round == round_.id, round_seeds.c.support == support, mine == 0)
        .order_by(count.scalar_subquery(), round_seeds.c.position)
    )
    rows = db.execute(query.limit(200)).all()
    place = next((number + 1 for number, row in enumerate(rows) if row.public_id == after), 0)
    if not rows:
        return None
    row = rows[place % len(rows)]
    predictions = tuple(TargetPrediction(**it) for it in row.predictions)
    return RoundSeed(row.public_id, row.support, row.text or "", row.lang, predictions)


def find(db: Connection, round_: Round, post_id: str) -> RoundSeed | None:
    """Return a round's text to start from by its post's id, or None."""
    query = (
        select(post_table.c.public_id, round_seeds.c.support, post_table.c.text, post_table.c.lang)
        .add_columns(round_seeds.c.predictions)
        .join(post_table, post_table.c.id == round_seeds.c.post)
        .where(round_seeds.c.round == round_.id, post_table.c.public_id == post_id)
    )
    row = db.execute(query).one_or_none()
    if row is None:
        return None
    predictions = tuple(TargetPrediction(**it) for it in row.predictions)
    return RoundSeed(row.public_id, row.support, row.text or "", row.lang, predictions)


def counts(db: Connection, round_id: str) -> dict[str, int]:
    """Return how many texts to start from a round has, by kind."""
    query = select(round_seeds.c.support, func.count()).where(round_seeds.c.round == round_id)
    return {support: int(n) for support, n in db.execute(query.group_by(round_seeds.c.support))}
