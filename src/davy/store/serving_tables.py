"""The tables of serving: what keys used, corrections that programs sent, and where a shadow differs from who answers.

Texts are in `suggestions`, whose senders want them reviewed, and in `shadow_differences` where the operator keeps
them. Counts hold no text and no person. `tables.py` imports this module, so that `metadata` knows it.
"""

from sqlalchemy import CheckConstraint, Column, Float, ForeignKey, Integer, Table

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import metadata, table_index

api_usage = Table(
    "api_usage",
    metadata,
    Column("key", TextColumn, primary_key=True),
    Column("day", TextColumn, primary_key=True),
    Column("requests", Integer, nullable=False),
    Column("posts", Integer, nullable=False),
)
"""What each key used on each day (UTC, as 2026-11-16). It has no foreign key: a deleted key's bill stays countable."""

suggestions = Table(
    "suggestions",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("at", TimeColumn, nullable=False),
    Column("by", TextColumn, nullable=False),
    Column("key", TextColumn),
    Column("text", TextColumn, nullable=False),
    Column("lang", TextColumn),
    Column("scores", JsonColumn, nullable=False),
    Column("answers", JsonColumn, nullable=False),
    Column("context", JsonColumn),
    Column("community", TextColumn),
    Column("session", TextColumn),
    Column("client_token", TextColumn),
    Column("state", TextColumn, nullable=False),
    Column("post", TextColumn, ForeignKey("posts.id")),
    Column("reviewed_at", TimeColumn),
    Column("reviewed_by", TextColumn),
    CheckConstraint("state IN ('open', 'taken', 'dismissed')", name="state"),
    table_index("ix_suggestions_state", "state", "id"),
    table_index("ix_suggestions_by", "by"),
    table_index("ix_suggestions_post", "post", where="post IS NOT NULL"),
)
"""Corrections that programs sent: `scores` as they were sent, by attribute; `answers` what they mean, by question."""

shadow_counts = Table(
    "shadow_counts",
    metadata,
    Column("hour", TimeColumn, primary_key=True),
    Column("model", TextColumn, primary_key=True),
    Column("shadow", TextColumn, primary_key=True),
    Column("question", TextColumn, primary_key=True),
    Column("lang", TextColumn, primary_key=True),
    Column("n", Integer, nullable=False),
    Column("both", Integer, nullable=False),
    Column("only_model", Integer, nullable=False),
    Column("only_shadow", Integer, nullable=False),
    Column("other", Integer, nullable=False),
    Column("distance", Float, nullable=False),
)
"""Of n posts: both said yes, one alone did, or (where a question is not yes/no) the labels differ as `other`."""

shadow_differences = Table(
    "shadow_differences",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("at", TimeColumn, nullable=False),
    Column("model", TextColumn, nullable=False),
    Column("shadow", TextColumn, nullable=False),
    Column("question", TextColumn, nullable=False),
    Column("lang", TextColumn),
    Column("label", TextColumn, nullable=False),
    Column("shadow_label", TextColumn, nullable=False),
    Column("probability", Float),
    Column("shadow_probability", Float),
    Column("text", TextColumn),
    table_index("ix_shadow_differences_models", "model", "shadow", "question", "id"),
)
"""Single posts on which a shadow differed; `text` only where the operator keeps texts."""
