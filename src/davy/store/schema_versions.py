"""Which version a database is of, and how it gets to ours.

Migrations are the numbered files in `migrations/versions`; the database notes
the last one it had in the table `davy_version`. That table also tells a Davy
database from someone else's. A change to tables.py needs a new file there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select, table
from sqlalchemy import column as sql_column

from davy.core.errors import UserError

VERSION_TABLE = "davy_version"
_BEFORE_RELEASE = re.compile("00(0[1-9]|1[0-8])")
_LOCK = 0x64617679  # any number, the same in every Davy


def list_versions() -> list[str]:
    """Return the versions that this Davy knows, oldest first."""
    scripts = ScriptDirectory.from_config(_config())
    return [script.revision for script in scripts.walk_revisions()][::-1]


def newest_version() -> str:
    """Return the version that this Davy works with."""
    return list_versions()[-1]


def refuse_unreleased(what: str, version: str | None, *, database: str, first: str = "") -> None:
    """Raise where `what` is of a version from before the first release, with how to get the projects out of it."""
    if version is not None and _BEFORE_RELEASE.fullmatch(version):
        raise UserError(
            f"{what} was made by a Davy from before the first release (version {version}), which this one can't read. "
            f"With a checkout from before 2026-11-19, {first}run for each project: "
            f"davy project export PROJECT --phase all --out FILE --database {database}"
        )


def version_of(db: Connection) -> str | None:
    """Return the version of a database, or None where it is not one of ours."""
    if not inspect(db).has_table(VERSION_TABLE):
        return None
    return db.scalar(select(sql_column("version_num")).select_from(table(VERSION_TABLE)))


def tables_in(db: Connection) -> Sequence[str]:
    """Return the names of all tables, ours or not."""
    return inspect(db).get_table_names()


def upgrade(db: Connection, to: str = "head") -> None:
    """Bring a database to a version in the caller's transaction: all of it or nothing."""
    if db.dialect.name == "postgresql":
        # Two servers that start at once upgrade one after the other; the lock ends with the transaction.
        db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    config = _config()
    config.attributes["connection"] = db
    command.upgrade(config, to)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config
