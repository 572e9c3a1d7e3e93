"""Statements that run with every answer: built and compiled once, then handed straight to the database's driver.

SQLAlchemy spends three to five times as long on a small statement as the driver does: it looks the statement up,
sets up a context, describes the result. A `PreparedStatement` does that once a database. It runs in the caller's
transaction; values go through the same column types both ways, and errors are SQLAlchemy's own. `send` does not
wait for an answer: in a transaction with a pipeline the statement goes out with the next that does.

Not for lists in `IN (…)`, whose text differs from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Dialect, Float, Numeric, literal_column
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import Delete, Insert, Select, Update

from davy.store.pipeline import Pipeline, pipeline_of, statement_name, to_sqlalchemy_error

Converter = Callable[[Any], Any]

ONE: Any = literal_column("1")
"""For `.limit(ONE)`: PostgreSQL keeps a plan for a limit that it can read, and guesses for one that is a value."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement as one database's driver takes it."""

    sql: str
    name: bytes
    names: tuple[str, ...]
    """The parameters in the order of the text, where they go by place."""
    constants: Mapping[str, Any]
    """Values that are part of the statement."""
    binds: tuple[tuple[str, Converter], ...]
    columns: tuple[tuple[int, Converter], ...]
    reads: bool
    """Whether rows come back."""


class SentStatement:
    """A statement that was sent: what came of it is there when it is asked for."""

    __slots__ = (
        "_changed",
        "_columns",
        "_dialect",
        "_n",
        "_pipeline",
        "_refused",
        "_rows",
        "checked",
        "name",
        "reads",
        "sql",
        "values",
    )

    def __init__(
        self,
        compiled: _Compiled,
        dialect: Dialect,
        values: Sequence[Any],
        pipeline: Pipeline | None,
        changed: Callable[[int], None] | None,
        refused: Callable[[], Exception] | None,
    ) -> None:
        self.sql, self.name, self.values, self.reads = compiled.sql, compiled.name, values, compiled.reads
        self._columns, self._dialect, self._pipeline = compiled.columns, dialect, pipeline
        self._changed, self._refused = changed, refused
        self.checked = changed is not None
        self._rows: list[Sequence[Any]] = []
        self._n = 0

    def rows(self) -> list[Sequence[Any]]:
        """Return all rows of the result."""
        self._wait()
        return self._rows

    def one(self) -> Sequence[Any] | None:
        """Return the first row, or None."""
        self._wait()
        return self._rows[0] if self._rows else None

    def n(self) -> int:
        """Return how many rows were changed or added."""
        self._wait()
        return self._n

    def arrived(self, rows: Sequence[Any], n: int) -> None:
        """Take what came of it."""
        self._pipeline = None
        self._rows = [_converted(row, self._columns) for row in rows] if self._columns else list(rows)
        self._n = n
        if self._changed is not None:
            self._changed(n)

    def failed(self, error: Exception) -> BaseException:
        """Return what to raise for a driver's error: SQLAlchemy's own, without the parameters, or the sender's."""
        known = to_sqlalchemy_error(error, self.sql, self._dialect)
        return self._refused() if self._refused is not None and isinstance(known, IntegrityError) else known

    def _wait(self) -> None:
        if self._pipeline is not None:
            self._pipeline.flush()


class PreparedStatement:
    """One statement. `rows`, `one` and `run` execute it with values for its `bindparam`s; `send` does not wait."""

    def __init__(self, statement: Select[Any] | Insert | Update | Delete) -> None:
        self._statement = statement
        self._known: dict[str, _Compiled] = {}

    def rows(self, db: Connection, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Return all rows of the result."""
        return self._sent(db, values).rows()

    def one(self, db: Connection, values: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return the first row, or None."""
        return self._sent(db, values).one()

    def run(self, db: Connection, values: Mapping[str, Any]) -> int:
        """Return how many rows were changed or added."""
        return self.send(db, values).n()

    def prefetch(self, db: Connection, values: Mapping[str, Any]) -> None:
        """In a pipelined transaction, send a read whose rows are asked for later; the next read like it takes them."""
        pipeline = pipeline_of(db)
        if pipeline is not None:
            pipeline.prefetched[self] = (dict(values), self.send(db, values))

    def _sent(self, db: Connection, values: Mapping[str, Any]) -> SentStatement:
        pipeline = pipeline_of(db)
        early = pipeline.prefetched.pop(self, None) if pipeline is not None else None
        return early[1] if early is not None and early[0] == values else self.send(db, values)

    def send(
        self,
        db: Connection,
        values: Mapping[str, Any],
        *,
        changed: Callable[[int], None] | None = None,
        refused: Callable[[], Exception] | None = None,
    ) -> SentStatement:
        """Return the statement as sent.

        `changed` is told how many rows were changed, and may raise; `refused` gives the error to raise where a
        constraint of the database refuses it.
        """
        pipeline = pipeline_of(db)
        compiled = self._known.get(db.dialect.name if pipeline is None else "pipeline") or self._compile(
            db.dialect, pipeline
        )
        given = {**compiled.constants, **values}
        for name, change in compiled.binds:
            given[name] = change(given[name])
        sent = SentStatement(
            compiled, db.dialect, tuple(given[name] for name in compiled.names), pipeline, changed, refused
        )
        # Who listens to statements, as tests of what a page costs do, hears these as well.
        for listener in db.engine.dispatch.before_cursor_execute:
            listener(db, self, sent.sql, sent.values or given, None, False)
        if pipeline is not None:
            pipeline.add(sent)
        else:
            _execute(db, sent, sent.values or given)
        return sent

    def _compile(self, dialect: Dialect, pipeline: Pipeline | None) -> _Compiled:
        if pipeline is not None:
            from sqlalchemy.dialects.postgresql import psycopg

            dialect = psycopg.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
        made: Any = self._statement.compile(dialect=dialect)
        parameters = {name: parameter for parameter, name in made.bind_names.items()}
        binds = {name: _in(parameter.type, dialect) for name, parameter in parameters.items()}
        constants = {name: it.effective_value for name, it in parameters.items() if not it.required}
        constants |= {name: change(constants[name]) for name in constants if (change := binds[name])}
        columns: Any = getattr(self._statement, "exported_columns", ())
        out = [_out(column.type, dialect) for column in columns]
        self._known[dialect.name if pipeline is None else "pipeline"] = compiled = _Compiled(
            sql=str(made),
            name=statement_name(str(made)),
            names=tuple(made.positiontup or ()),
            constants=constants,
            binds=tuple((name, it) for name, it in binds.items() if it and name not in constants),
            columns=tuple((place, it) for place, it in enumerate(out) if it),
            reads=bool(out),
        )
        return compiled


def _execute(db: Connection, sent: SentStatement, values: Any) -> None:
    """Run a statement at once and give it what came of it."""
    raw = db.connection.dbapi_connection
    assert raw is not None
    cursor = raw.cursor()
    try:
        cursor.execute(sent.sql, values)
        rows = cursor.fetchall() if sent.reads else []
        n = cursor.rowcount
    except Exception as error:
        raise sent.failed(error) from error
    finally:
        cursor.close()
    sent.arrived(rows, n)


def _converted(row: Sequence[Any], columns: tuple[tuple[int, Converter], ...]) -> Sequence[Any]:
    values = list(row)
    for place, change in columns:
        if values[place] is not None:
            values[place] = change(values[place])
    return values


def _in(kind: Any, dialect: Dialect) -> Converter | None:
    change: Converter | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return change


def _out(kind: Any, dialect: Dialect) -> Converter | None:
    if isinstance(kind, Float | Numeric):  # both drivers give floats as such
        return None
    change: Converter | None = kind.dialect_impl(dialect).result_processor(dialect, None)
    return change
