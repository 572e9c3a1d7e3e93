"""The tables of rounds: rounds, their entries, keys that find near duplicates, and texts to start from."""

from sqlalchemy import CheckConstraint, Column, Float, ForeignKey, Integer, Table, UniqueConstraint

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import metadata, table_index

rounds = Table(
    "rounds",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("name", TextColumn, nullable=False),
    Column("phase", TextColumn, ForeignKey("phases.id"), nullable=False),
    Column("question", TextColumn, nullable=False),
    Column("targets", JsonColumn, nullable=False),
    Column("rules", JsonColumn, nullable=False),
    Column("goal_each", Integer),
    Column("goal_all", Integer),
    Column("state", TextColumn, nullable=False),
    Column("opened_at", TimeColumn, nullable=False),
    Column("opened_by", TextColumn, nullable=False),
    Column("closed_at", TimeColumn),
    # What closing gave; written by the stage that closes.
    Column("outcome", JsonColumn, nullable=False),
    Column("goal_week", Integer),
    UniqueConstraint("project", "number", name="uq_rounds_number"),
    CheckConstraint("state IN ('open', 'closing', 'closed')", name="state"),
    # The next round needs the target that this one makes: one at a time.
    table_index("uq_rounds_open", "project", where="state <> 'closed'", unique=True),
)

entries = Table(
    "entries",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("round", TextColumn, ForeignKey("rounds.id"), nullable=False),
    Column("project", TextColumn, nullable=False),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False, unique=True),
    Column("author", TextColumn, nullable=False),
    Column("label", TextColumn, nullable=False),
    Column("set", TextColumn, nullable=False),
    Column("change", TextColumn),
    Column("parent", TextColumn),
    Column("strategy", TextColumn),
    Column("support", TextColumn, nullable=False),
    Column("predictions", JsonColumn, nullable=False),
    Column("fooled", Integer, nullable=False),
    # A drop that no expert's case says: when its round was closed.
    Column("dropped", TextColumn),
    Column("seconds", Float),
    Column("created_at", TimeColumn, nullable=False),
    # The same for texts that differ only in case and white space.
    Column("key", TextColumn, nullable=False),
    UniqueConstraint("project", "key", name="uq_entries_key"),
    CheckConstraint("\"set\" IN ('original', 'contrast')", name="set"),
    CheckConstraint("change IN ('emoji', 'text')", name="change"),
    table_index("ix_entries_round", "round", "id"),
    table_index("ix_entries_author", "author", "round", "id"),
    table_index("uq_entries_parent", "parent", where="parent IS NOT NULL", unique=True),
)
"""`parent` is an original's id; one contrast an original."""

entry_bands = Table(
    "entry_bands",
    metadata,
    Column("project", TextColumn, primary_key=True),
    Column("band", TextColumn, primary_key=True),
    Column("entry", TextColumn, ForeignKey("entries.id"), primary_key=True),
    table_index("ix_entry_bands_entry", "entry"),
)
"""Texts that share a band are compared word by word before a new entry counts."""

round_seeds = Table(
    "round_seeds",
    metadata,
    Column("round", TextColumn, ForeignKey("rounds.id"), primary_key=True),
    Column("post", TextColumn, ForeignKey("posts.id"), primary_key=True),
    Column("support", TextColumn, nullable=False),
    Column("position", Integer, nullable=False),
    Column("predictions", JsonColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    table_index("ix_round_seeds_post", "post"),
)
"""Texts to start an entry from; `support` says of which kind. The posts are hidden from those who don't run it."""
