"""PostgreSQL's pipeline mode: statements whose results can wait are sent together, and their results come together.

Saving an answer and giving out the next post takes some twenty statements. One at a time, that is twenty times that
a thread and a server process put each other to sleep and wake each other up, which costs more than the work itself.
In a pipeline they are a handful of round trips, `BEGIN` and `COMMIT` among them. A pipeline belongs to one write
transaction (`store.write(pipelined=True)`); a statement that needs its result sends what waits first, so the order
stays as it was written. Outside of `store`, hints of what is read next (`prefetch`) are all there is to know of it.
"""

from __future__ import annotations

import hashlib
import select
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError

_HERE = "davy pipeline"
_KNOWN = "davy statements"


class PipelineStatement(Protocol):
    """What a pipeline carries: SQL with `$1`, its values, and who takes what comes of it."""

    sql: str
    name: bytes
    """What it is prepared as."""
    values: Sequence[Any]
    checked: bool
    """Whether `arrived` may raise, so that it must come before the end of the transaction."""

    def arrived(self, rows: Sequence[Any], n: int) -> None:
        """Take the rows, and how many were changed."""

    def failed(self, error: Exception) -> BaseException:
        """Return what to raise for an error of this statement."""


class Pipeline:
    """Statements of one transaction that have not gone out yet."""

    def __init__(self, db: Connection) -> None:
        self._raw: Any = db.connection.dbapi_connection
        self._db, self._dialect = db, db.dialect
        self._known: dict[str, Any] = db.info.setdefault(_KNOWN, {})
        self._waiting: list[PipelineStatement] = []
        self.prefetched: dict[object, tuple[dict[str, Any], Any]] = {}
        """Statements that were sent early, with their values, until one like them asks for their rows."""

    def add(self, statement: PipelineStatement) -> None:
        """Let a statement wait."""
        self._waiting.append(statement)

    def flush(self, *, commit: bool = False) -> None:
        """Send what waits and take what comes back; the first error is raised as its statement says."""
        if commit and any(it.checked for it in self._waiting):
            self.flush()
        sent, self._waiting = self._waiting, []
        if not sent and not commit:
            return
        pg = self._raw.pgconn
        try:
            pg.enter_pipeline_mode()
            asked = self._send(pg, sent, commit=commit)
            results = _received(pg, len(asked))
            pg.exit_pipeline_mode()
        except BaseException as error:
            # Between two commands' answers a connection is of no use any more; its transaction ends with it.
            self._db.invalidate(error)
            raise to_sqlalchemy_error(error, "", self._dialect) from error
        for what, result in zip(asked, results, strict=True):
            self._check(what, result)
        results = [result for what, result in zip(asked, results, strict=True) if not isinstance(what, str)]
        for statement, result in zip(sent, results, strict=True):
            statement.arrived(self._rows(statement.sql, result), result.command_tuples or 0)

    def _send(self, pg: Any, sent: list[PipelineStatement], *, commit: bool) -> list[PipelineStatement | str]:
        """Send the statements and return what was asked for, in order: each of them, and the commands around them."""
        asked: list[PipelineStatement | str] = []
        if pg.transaction_status == 0:  # nothing has begun yet
            pg.send_query_params(b"BEGIN", None)
            asked.append("BEGIN")
        for statement in sent:
            if statement.sql not in self._known and statement.sql not in asked:
                pg.send_prepare(statement.name, statement.sql.encode())
                asked.append(statement.sql)
            pg.send_query_prepared(statement.name, [_text(value) for value in statement.values])
            asked.append(statement)
        if commit:
            pg.send_query_params(b"COMMIT", None)
            asked.append("COMMIT")
        pg.pipeline_sync()
        return asked

    def _check(self, what: PipelineStatement | str, result: Any) -> None:
        import psycopg

        status = psycopg.pq.ExecStatus(result.status)
        if status in (psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK):
            if what == "COMMIT" and result.command_status != b"COMMIT":
                raise RuntimeError("the transaction had failed before, so nothing of it was kept")
            if isinstance(what, str) and what not in ("BEGIN", "COMMIT"):
                self._known[what] = psycopg.adapt.Transformer(self._raw)
            return
        error = psycopg.errors.error_from_result(result)
        raise (
            to_sqlalchemy_error(error, what, self._dialect) if isinstance(what, str) else what.failed(error)
        ) from error

    def _rows(self, sql: str, result: Any) -> list[Any]:
        if not result.nfields:
            return []
        reader = self._known[sql]
        reader.set_pgresult(result)
        rows: list[Any] = reader.load_rows(0, result.ntuples, tuple)
        return rows


def to_sqlalchemy_error(error: BaseException, sql: str, dialect: Dialect) -> BaseException:
    """Return a driver's error as the one that SQLAlchemy raises for it; parameters stay out of it."""
    base = dialect.loaded_dbapi.Error
    if not isinstance(error, base):
        return error
    return DBAPIError.instance(sql, None, error, base, hide_parameters=True, dialect=dialect)


def begin_pipeline(db: Connection) -> None:
    """Let this write transaction's statements go out together where the database is PostgreSQL."""
    if db.dialect.name == "postgresql":
        db.info[_HERE] = Pipeline(db)


def pipeline_of(db: Connection) -> Pipeline | None:
    """Return the transaction's pipeline, or None where every statement goes at once."""
    pipeline: Pipeline | None = db.info.get(_HERE)
    return pipeline


def before_statement(db: Connection, _cursor: Any, _sql: str, _values: Any, context: Any, _many: bool) -> None:
    """Send what waits: a statement of SQLAlchemy's own, which has a context, is next."""
    if context is not None and (pipeline := pipeline_of(db)) is not None:
        pipeline.flush()


def before_commit(db: Connection) -> None:
    """Send what waits, and the end of the transaction with it."""
    if (pipeline := db.info.pop(_HERE, None)) is not None:
        pipeline.flush(commit=True)


def before_rollback(db: Connection) -> None:
    """Forget what waits; with a connection that is gone, it went."""
    if not db.invalidated:
        db.info.pop(_HERE, None)


def statement_name(sql: str) -> bytes:
    """Return the name that a statement is prepared under."""
    return b"davy_" + hashlib.sha256(sql.encode()).hexdigest()[:24].encode()


def _text(value: Any) -> bytes | None:
    """Return a value as PostgreSQL reads it."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    return (value.isoformat(" ") if isinstance(value, datetime) else str(value)).encode()


def _received(pg: Any, n: int) -> list[Any]:
    """Return the results of `n` commands, and wait for them without holding up other threads."""
    import psycopg

    results: list[Any] = []
    waits = select.poll()
    out = pg.flush()
    while True:
        waits.register(pg.socket, select.POLLIN | (select.POLLOUT if out else 0))
        waits.poll()
        pg.consume_input()
        out = pg.flush() if out else 0
        while not pg.is_busy():
            result = pg.get_result()
            if result is None:
                continue  # the end of one command's results
            if result.status == psycopg.pq.ExecStatus.PIPELINE_SYNC:
                assert len(results) == n, (len(results), n)
                return results
            results.append(result)
