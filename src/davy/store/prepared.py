"""Statements that run with every answer: built and compiled once, then handed straight to the database's driver.

SQLAlchemy spends three to five times as long on a small statement as the driver does: it looks the statement up,
sets up a context, describes the result. A `Prepared` does that once a database. It runs in the caller's
transaction; values go through the same column types both ways, and errors are SQLAlchemy's own.

Not for lists in `IN (…)`, whose text differs from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Dialect, Float, Numeric
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Delete, Insert, Select, Update

Change = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement as one database's driver takes it."""

    sql: str
    names: tuple[str, ...]
    """The parameters in the order of the text, where the driver wants them so; else as they were found."""
    positional: bool
    constants: Mapping[str, Any]
    """Values that are part of the statement."""
    binds: tuple[tuple[str, Change], ...]
    columns: tuple[tuple[int, Change], ...]


class Prepared:
    """One statement. `rows`, `one` and `run` execute it with values for its `bindparam`s."""

    def __init__(self, statement: Select[Any] | Insert | Update | Delete) -> None:
        self._statement = statement
        self._known: dict[str, _Compiled] = {}

    def rows(self, db: Connection, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Return all rows of the result."""
        cursor, compiled = self._execute(db, values)
        try:
            return [_converted(row, compiled.columns) for row in cursor.fetchall()]
        finally:
            cursor.close()

    def one(self, db: Connection, values: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return the first row, or None."""
        cursor, compiled = self._execute(db, values)
        try:
            row = cursor.fetchone()
        finally:
            cursor.close()
        return None if row is None else _converted(row, compiled.columns)

    def run(self, db: Connection, values: Mapping[str, Any]) -> int:
        """Return how many rows were changed or added."""
        cursor, _ = self._execute(db, values)
        n: int = cursor.rowcount
        cursor.close()
        return n

    def _execute(self, db: Connection, values: Mapping[str, Any]) -> tuple[Any, _Compiled]:
        dialect = db.dialect
        compiled = self._known.get(dialect.name) or self._compile(dialect)
        given = {**compiled.constants, **values}
        for name, change in compiled.binds:
            given[name] = change(given[name])
        raw = db.connection.dbapi_connection
        assert raw is not None
        cursor = raw.cursor()
        sent = tuple(given[name] for name in compiled.names) if compiled.positional else given
        # Who listens to statements, as tests of what a page costs do, hears these as well.
        for heard in db.engine.dispatch.before_cursor_execute:
            heard(db, cursor, compiled.sql, sent, None, False)
        try:
            cursor.execute(compiled.sql, sent)
        except Exception as error:
            cursor.close()
            raise _as_sqlalchemys(error, compiled.sql, dialect) from error
        return cursor, compiled

    def _compile(self, dialect: Dialect) -> _Compiled:
        made: Any = self._statement.compile(dialect=dialect)
        parameters = {name: parameter for parameter, name in made.bind_names.items()}
        binds = {name: _in(parameter.type, dialect) for name, parameter in parameters.items()}
        constants = {name: it.effective_value for name, it in parameters.items() if not it.required}
        constants |= {name: change(constants[name]) for name in constants if (change := binds[name])}
        columns: Any = getattr(self._statement, "exported_columns", ())
        out = [_out(column.type, dialect) for column in columns]
        self._known[dialect.name] = compiled = _Compiled(
            sql=str(made),
            names=tuple(made.positiontup or parameters),
            positional=bool(made.positional),
            constants=constants,
            binds=tuple((name, it) for name, it in binds.items() if it and name not in constants),
            columns=tuple((place, it) for place, it in enumerate(out) if it),
        )
        return compiled


def _converted(row: Sequence[Any], columns: tuple[tuple[int, Change], ...]) -> Sequence[Any]:
    if not columns:
        return row
    values = list(row)
    for place, change in columns:
        if values[place] is not None:
            values[place] = change(values[place])
    return values


def _in(kind: Any, dialect: Dialect) -> Change | None:
    change: Change | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return change


def _out(kind: Any, dialect: Dialect) -> Change | None:
    if isinstance(kind, Float | Numeric):  # both drivers give floats as such
        return None
    change: Change | None = kind.dialect_impl(dialect).result_processor(dialect, None)
    return change


def _as_sqlalchemys(error: Exception, sql: str, dialect: Dialect) -> BaseException:
    """Return a driver's error as the one that SQLAlchemy raises for it; parameters stay out of it."""
    if not isinstance(error, dialect.loaded_dbapi.Error):
        return error
    return DBAPIError.instance(sql, None, error, dialect.loaded_dbapi.Error, hide_parameters=True, dialect=dialect)
