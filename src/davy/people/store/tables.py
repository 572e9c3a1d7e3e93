"""Tables of people and their sessions.

They are used by every answer or by most of the store. What was collected, answered or decided is only ever added to.
An index is here because a query needs it: docs/serve/store.md says which.
"""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Table,
)

from davy.store.columns import JsonColumn, TextColumn, TimeColumn, metadata, table_index

users = Table(
    "users",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("login", TextColumn, nullable=False, unique=True),
    Column("name", TextColumn, nullable=False),
    Column("role", TextColumn, nullable=False),
    Column("language", TextColumn, nullable=False),
    Column("password_hash", TextColumn),
    Column("created_at", TimeColumn, nullable=False),
    Column("disabled_at", TimeColumn),
    Column("choices", JsonColumn),
    CheckConstraint("role IN ('admin', 'expert', 'annotator')", name="role"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("token_hash", TextColumn, nullable=False, unique=True),
    Column("user_id", TextColumn, ForeignKey("users.id"), nullable=False),
    Column("client", TextColumn),
    Column("created_at", TimeColumn, nullable=False),
    Column("seen_at", TimeColumn, nullable=False),
    Column("expires_at", TimeColumn, nullable=False),
    Column("ended_at", TimeColumn),
    table_index("ix_sessions_user_id", "user_id"),
    table_index("ix_sessions_expires_at", "expires_at"),
)
