"""What every table is made of: column types that mean the same on SQLite and PostgreSQL, indexes, ids, and the time.

Text is checked before it is stored, because PostgreSQL can't hold a NUL and neither database can hold half of a
surrogate pair: what one takes, both take. Ids are made here and not by the database, so that rows can move between the
two. `metadata` is the one set of tables; `davy.store.schema` imports the modules that fill it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Index, Integer, MetaData, Text, TypeDecorator, text

from davy.core.errors import UserError

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_SET_BACK: ContextVar[timedelta | None] = ContextVar("set_back", default=None)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

Serial = BigInteger().with_variant(Integer, "sqlite")


def now() -> datetime:
    """Return the time in UTC, to the microsecond."""
    back = _SET_BACK.get()
    return datetime.now(UTC) if back is None else datetime.now(UTC) - back


@contextmanager
def clock_set_back(by: timedelta) -> Iterator[None]:
    """Let what a block writes be that long ago. For made-up history alone, such as the demo's."""
    before = _SET_BACK.set(by)
    try:
        yield
    finally:
        _SET_BACK.reset(before)


def new_id() -> str:
    """Return a fresh id of 20 letters and digits; later ids sort after earlier ones (to the microsecond)."""
    number = (time.time_ns() // 1_000 << 45) | secrets.randbits(45)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(95, -1, -5))


def new_token() -> str:
    """Return a secret with 256 bits of chance, safe in a URL."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Return what is stored of a secret. Tokens are pure chance, so one round of SHA-256 is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class TextColumn(TypeDecorator[str]):
    """Text that both databases can hold, and sort alike: by code point, not by the server's language."""

    impl = Text().with_variant(Text(collation="C"), "postgresql")
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None or (value.isascii() and "\0" not in value):
            return value
        if "\0" in value:
            raise UserError("A text has a NUL character (U+0000), which can't be stored. Remove it and try again.")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UserError(
                f"A text has half of a surrogate pair at character {error.start}, so it is not Unicode. "
                "Read the file again with its right encoding."
            ) from None
        return value


class TimeColumn(TypeDecorator[datetime]):
    """A point in time: aware in Python, UTC in the database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"time {value} has no zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JsonColumn(TypeDecorator[Any]):
    """A JSON value kept as text, so that it reads back as it was written and never as code."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        try:
            return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise UserError(f"A value can't be kept as JSON: {error}. Use text, numbers, lists and objects.") from None

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        return None if value is None else json.loads(value)


def table_index(name: str, *columns: str, where: str | None = None, unique: bool = False) -> Index:
    """Return an index, partial where `where` says so, written alike for both databases."""
    condition = None if where is None else text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
