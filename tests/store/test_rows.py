"""Tables from dataclasses: what a field becomes as a column, and that an object comes back as it went in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Column, Integer

from davy.store import Store
from davy.store.columns import TextColumn, metadata
from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class Bulb:
    """A part of a lamp."""

    watts: int
    warm: bool = False


@dataclass(frozen=True, slots=True)
class Lamp:
    """A row with a field of every kind."""

    room: str
    maker: str
    number: int
    lit: bool
    price: float | None
    bought: datetime
    tags: tuple[str, ...]
    colours: tuple[str, ...]
    bulbs: tuple[Bulb, ...]
    spare: Mapping[str, Bulb]
    about: Mapping[str, Any] = field(default_factory=dict)
    anything: Any = None
    hours: int = 0


LAMP = Lamp(
    *("hall ß", "ada", 7, True, None, datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), ("a b", "ü"), (), (Bulb(40),)),
    spare={"x": Bulb(60, warm=True)},
    about={"n": [1, None]},
    anything=[1],
)


@pytest.fixture
def lamps(store: Store) -> Iterator[Rows[Lamp]]:
    rows = Rows(
        Lamp,
        "lamps",
        Column("shelf", Integer),
        Column("secret", TextColumn, nullable=False),
        key=("number", "room"),
        references={"maker": "users.id"},
        joined={"tags": "|", "colours": "|"},
        names={"maker": "maker_id"},
        left_out=("hours",),
    )
    try:
        yield rows
    finally:
        metadata.remove(rows.table)


def test_a_field_becomes_a_column_of_its_kind(lamps):
    table = lamps.table
    assert [it.name for it in table.primary_key.columns] == ["number", "room"]
    assert [it.name for it in table.c][:2] == ["number", "room"]
    assert {it.name for it in table.c if it.nullable} == {"price", "anything", "shelf"}
    assert "hours" not in table.c
    assert "maker" not in table.c
    (reference,) = table.foreign_keys
    assert (reference.parent.name, reference.target_fullname) == ("maker_id", "users.id")
    kinds = {it.name: type(it.type).__name__ for it in table.c}
    assert {kinds[it] for it in ("room", "maker_id", "tags", "colours")} == {"TextColumn"}
    assert {kinds[it] for it in ("bulbs", "spare", "about", "anything")} == {"JsonColumn"}
    assert (kinds["lit"], kinds["price"], kinds["bought"]) == ("Integer", "Float", "TimeColumn")


def test_an_object_comes_back_as_it_went_in(lamps, store):
    with store.write() as db:
        db.exec_driver_sql(
            "INSERT INTO users (id, login, name, role, language, created_at) "
            "VALUES ('ada', 'ada', 'Ada', 'admin', 'en', '2026-01-02 03:04:05.000000')"
        )
        lamps.table.create(db)
        try:
            check_round_trip(lamps, db)
        finally:
            lamps.table.drop(db)


def check_round_trip(lamps: Rows[Lamp], db: Any) -> None:
    columns = lamps.table.c
    assert lamps.insert(db, LAMP, secret="s") is LAMP
    assert lamps.get(db, columns.number == 7) == LAMP
    assert lamps.get(db, columns.number == 8) is None
    assert lamps.update(db, columns.number == 7, lit=False, tags=("c",), price=1.5) == 1
    changed = replace(LAMP, lit=False, tags=("c",), price=1.5)
    assert lamps.list(db, lamps.select(columns.lit == 0)) == [changed]
    other = replace(LAMP, bulbs=(), anything=None)
    lamps.replace(db, other, columns.number == 7)
    assert lamps.list(db) == [other]
    row = db.execute(lamps.select()).one()
    assert lamps.read(row, hours=3) == replace(other, hours=3)
    assert lamps.update(db, columns.number == 8, lit=True) == 0
