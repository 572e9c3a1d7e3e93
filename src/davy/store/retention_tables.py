"""The table of rules by which the server deletes what is old. `tables.py` imports this module."""

from sqlalchemy import Column, Integer, Table

from davy.store.columns import TextColumn, TimeColumn
from davy.store.table_base import metadata

retention_rules = Table(
    "retention_rules",
    metadata,
    # Empty for a rule of the whole server: a key can't hold NULL.
    Column("project", TextColumn, primary_key=True),
    Column("what", TextColumn, primary_key=True),
    Column("days", Integer, nullable=False),
    Column("set_at", TimeColumn, nullable=False),
    Column("set_by", TextColumn, nullable=False),
)
