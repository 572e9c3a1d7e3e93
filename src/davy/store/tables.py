"""The table of events: who did what, when. Tables of features are in the features; `davy.schema` has all."""

from sqlalchemy import (
    Column,
    Table,
)

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import Serial, metadata, table_index

events = Table(
    "events",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("at", TimeColumn, nullable=False),
    Column("by", TextColumn, nullable=False),
    Column("what", TextColumn, nullable=False),
    Column("about", TextColumn, nullable=False),
    Column("details", JsonColumn),
    table_index("ix_events_about", "about", "id"),
    table_index("ix_events_by", "by", "id"),
    sqlite_autoincrement=True,
)
