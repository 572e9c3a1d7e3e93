"""Where a database is: a URL as the user wrote it in, one that SQLAlchemy can open out.

`sqlite:///file` and `postgresql://user@host/name` are known. Passwords in a URL
never appear in what `shown` returns, and so never in a message. A URL without one
takes DAVY_DATABASE_PASSWORD, where it is set.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from davy.core.errors import UserError
from davy.core.install import install_extra

DEFAULT = "sqlite:///davy.sqlite"
HOW = "Write it as sqlite:///davy.sqlite or postgresql://user:password@host/name."


def default_url() -> str:
    """Return the database that commands use when none is named: DAVY_DATABASE, else a file in this folder."""
    return os.environ.get("DAVY_DATABASE") or DEFAULT


def parse_url(url: str) -> URL:
    """Return the URL ready for SQLAlchemy; PostgreSQL gets the psycopg 3 driver."""
    if "://" not in url:
        plain = url.strip()
        looks = f" For a file, write sqlite:///{plain}" if plain and not plain.endswith(":") else f" {HOW}"
        raise UserError(f"Database {url!r} is not a URL.{looks}")
    try:
        parsed = make_url(url.strip())
    except (ArgumentError, ValueError):
        raise UserError(f"The database URL can't be read. {HOW}") from None
    kind = parsed.drivername.partition("+")[0]
    if kind == "sqlite":
        return _sqlite(parsed)
    if kind in ("postgresql", "postgres"):
        return _postgres(parsed)
    raise UserError(f"Davy keeps its data in SQLite or PostgreSQL, not in {kind!r}. {HOW}")


def sqlite_path(url: URL) -> Path:
    """Return the file of a SQLite URL."""
    return Path(url.database or "")


def masked_url(url: URL) -> str:
    """Return the URL as a person may see it, its password hidden."""
    query = {key: "***" if "pass" in key else value for key, value in url.query.items()}
    return url.set(drivername=url.drivername.partition("+")[0], query=query).render_as_string(hide_password=True)


def _sqlite(url: URL) -> URL:
    if url.database in (None, "", ":memory:") or url.query:
        raise UserError("A SQLite database is a plain file here, such as sqlite:///davy.sqlite.")
    if "\0" in (url.database or ""):
        raise UserError("The database file's name has a NUL character. Take it out.")
    return url.set(drivername="sqlite+pysqlite")


def _postgres(url: URL) -> URL:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise UserError(f"PostgreSQL needs the psycopg package. Install it: {install_extra('postgres')}") from None
    if not url.database:
        raise UserError("The PostgreSQL URL names no database. Write postgresql://user:password@host/name.")
    password = url.password or os.environ.get("DAVY_DATABASE_PASSWORD")
    return url.set(drivername="postgresql+psycopg", password=password)
