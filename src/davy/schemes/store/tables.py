"""Tables of schemes and their guidelines.

They are used by every answer or by most of the store. What was collected, answered or decided is only ever added to.
An index is here because a query needs it: docs/serve/store.md says which.
"""

from sqlalchemy import (
    Column,
    ForeignKeyConstraint,
    Integer,
    Table,
)

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import metadata

schemes = Table(
    "schemes",
    metadata,
    Column("name", TextColumn, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("yaml", TextColumn, nullable=False),
    Column("digest", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
)

guidelines = Table(
    "guidelines",
    metadata,
    Column("scheme", TextColumn, primary_key=True),
    Column("scheme_version", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content", JsonColumn, nullable=False),
    Column("digest", TextColumn, nullable=False),
    Column("changes", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)
