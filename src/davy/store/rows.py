"""A table from a dataclass, and its rows as objects of that class.

A column is written once, as a field: `str`, `int`, `float`, `bool` and `datetime` are columns of their own kind, a
field that can be None may be NULL, and mappings, tuples and nested dataclasses are kept as JSON. Keys, references,
indexes and columns that no object has are named beside the class. Other statements go on using `table`.
Not for what runs with every answer: see `davy.store.statements`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import partial
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Integer,
    Select,
    Table,
    TextClause,
    insert,
    select,
)
from sqlalchemy import update as update_table
from sqlalchemy.schema import SchemaItem

from davy.store.columns import JsonColumn, TextColumn, TimeColumn, metadata

T = TypeVar("T")
Change = Callable[[Any], Any]
Condition = ColumnElement[bool] | TextClause
_PLAIN: dict[Any, Any] = {str: TextColumn, int: Integer, float: Float, datetime: TimeColumn}


class Rows(Generic[T]):
    """The rows of one table as objects.

    `key` names the primary key's fields in their order, `references` what fields point at (`users.id`), `joined` the
    separator of tuples that are kept as text, `names` the columns of fields that are called otherwise, `left_out`
    fields that are no columns. `more` are constraints, indexes and columns: one of a field's name takes the place of
    what the field's type says, and one of the primary key comes before the fields of `key`.
    """

    def __init__(
        self,
        kind: type[T],
        name: str,
        *more: SchemaItem,
        key: str | Sequence[str] = "id",
        references: Mapping[str, str] | None = None,
        joined: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        keys = (key,) if isinstance(key, str) else key
        given = {it.name: it for it in more if isinstance(it, Column)}
        made: dict[str, Column[Any]] = {}
        self._kind = kind
        self._write: dict[str, Change] = {}
        self._read: list[tuple[int, Change]] = []
        self._fields = {
            it.name: (names or {}).get(it.name, it.name)
            for it in fields(kind)  # type: ignore[arg-type]
            if it.name not in left_out
        }
        hints = get_type_hints(kind)
        for place, (field, column) in enumerate(self._fields.items()):
            hint, nullable = _without_none(hints[field])
            sql, write, read = _codec(hint, (joined or {}).get(field))
            target = [ForeignKey(references[field])] if references and field in references else []
            primary = field in keys
            options: dict[str, Any] = {
                "nullable": nullable and not primary,
                "primary_key": primary,
                "autoincrement": False,
            }
            made[column] = given.pop(column) if column in given else Column(column, sql, *target, **options)
            if write is not None:
                self._write[column] = write
            if read is not None:
                self._read.append((place, read))
        first = [given.pop(it.name) for it in list(given.values()) if it.primary_key]
        first += [made.pop(self._fields[it]) for it in keys]
        others = [it for it in more if not isinstance(it, Column)]
        self.table = Table(name, metadata, *first, *made.values(), *given.values(), *others)
        self.columns = [self.table.c[it] for it in self._fields.values()]
        """The columns of the fields, in the order of the fields: what `read` takes."""

    def read(self, row: Sequence[Any], **more: Any) -> T:
        """Return the object of a row of `columns`, with values of fields that are no columns."""
        values = list(row)
        for place, change in self._read:
            if values[place] is not None:
                values[place] = change(values[place])
        return self._kind(**dict(zip(self._fields, values, strict=True)), **more)

    def values(self, row: T) -> dict[str, Any]:
        """Return what is stored of an object, by column."""
        return self._stored({column: getattr(row, field) for field, column in self._fields.items()})

    def select(self, *where: Condition) -> Select[Any]:
        """Return a query for the rows that meet all conditions."""
        return select(*self.columns).where(*where)

    def get(self, db: Connection, *where: Condition) -> T | None:
        """Return the one object that meets the conditions, or None."""
        row = db.execute(self.select(*where)).one_or_none()
        return None if row is None else self.read(row)

    def list(self, db: Connection, query: Select[Any] | None = None) -> list[T]:
        """Return the objects of a query that `select` began, or all there are."""
        return [self.read(row) for row in db.execute(self.select() if query is None else query)]

    def insert(self, db: Connection, row: T, **more: Any) -> T:
        """Add an object, with values of columns that it does not have, and return it."""
        db.execute(insert(self.table).values({**self.values(row), **more}))
        return row

    def insert_all(self, db: Connection, rows: Sequence[T]) -> None:
        """Add objects at once."""
        if rows:
            db.execute(insert(self.table), [self.values(row) for row in rows])

    def update(self, db: Connection, *where: Condition, **values: Any) -> int:
        """Change columns of the rows that meet all conditions; return how many there were."""
        return db.execute(update_table(self.table).where(*where).values(self._stored(values))).rowcount

    def replace(self, db: Connection, row: T, *where: Condition) -> None:
        """Give the rows that meet all conditions the values of an object."""
        db.execute(update_table(self.table).where(*where).values(self.values(row)))

    def _stored(self, values: dict[str, Any]) -> dict[str, Any]:
        changed = {name: self._write[name](it) for name, it in values.items() if it is not None and name in self._write}
        return values | changed


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether it had it."""
    if hint is Any:
        return hint, True
    parts = [it for it in get_args(hint) if it is not NoneType]
    return (parts[0], True) if NoneType in get_args(hint) else (hint, False)


def _codec(hint: Any, separator: str | None) -> tuple[Any, Change | None, Change | None]:
    """Return the type of a column, and what changes a field's value into its value and back."""
    if separator is not None:
        return TextColumn, separator.join, lambda text: tuple(text.split(separator)) if text else ()
    if hint is bool:
        return Integer, int, bool
    if hint is Any:
        return JsonColumn, None, None
    if hint in _PLAIN:
        return _PLAIN[hint], None, None
    parts = [it for it in (hint, *get_args(hint)) if is_dataclass(it)]
    if parts:
        return JsonColumn, msgspec.to_builtins, partial(msgspec.convert, type=hint)
    origin = get_origin(hint)
    if origin is None or issubclass(origin, Mapping):
        return JsonColumn, dict, None
    return JsonColumn, list, tuple if origin is tuple else None
