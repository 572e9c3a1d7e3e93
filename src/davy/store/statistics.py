"""What the database knows of its tables' sizes, and plans its queries by: brought up to date after many rows came in.

SQLite never counts by itself, and PostgreSQL only a minute or more after an import. Without it a page of a large
project may read all of a project's rows for each post that it shows.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from davy.store.columns import metadata

SAMPLED = 5_000
"""Rows of each index that SQLite looks at, so that the largest table costs milliseconds."""


def analyze(db: Connection) -> None:
    """Bring the statistics up to date, within a transaction that writes."""
    if db.dialect.name != "sqlite":
        db.execute(text(f"ANALYZE {', '.join(db.dialect.identifier_preparer.format_table(it) for it in _tables())}"))
        return
    db.execute(text(f"PRAGMA analysis_limit = {SAMPLED}"))
    # A table that is made anew changes the schema: only then do other connections read what is in it.
    db.execute(text("DROP TABLE IF EXISTS sqlite_stat1"))
    db.execute(text("ANALYZE"))


def _tables() -> list[Any]:
    import davy.store.schema  # noqa: F401 — fills metadata

    return list(metadata.tables.values())
