"""The tables of deciding: communities with their thresholds, what was decided for them, and counts of scores by day.

Texts are in none of them: a post that a community wants reviewed goes to a project. `tables.py` imports this module.
"""

from sqlalchemy import CheckConstraint, Column, Float, ForeignKey, Integer, Table

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import metadata, table_index

communities = Table(
    "communities",
    metadata,
    Column("name", TextColumn, primary_key=True),
    Column("question", TextColumn, nullable=False),
    Column("thresholds", JsonColumn, nullable=False),
    Column("low", Float),
    Column("high", Float),
    Column("keys", JsonColumn, nullable=False),
    Column("project", TextColumn, ForeignKey("projects.id")),
    Column("webhook", TextColumn),
    Column("secret", TextColumn),
    Column("basis", JsonColumn),
    Column("made_at", TimeColumn, nullable=False),
    Column("made_by", TextColumn, nullable=False),
    Column("reviews_told", TextColumn),
)
"""`question` decides; from `low` up to `high` its probability is uncertain. `keys` are ids of keys that may use it.
`reviews_told` is the id of the last verdict that the webhook was told of."""

decisions = Table(
    "decisions",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("at", TimeColumn, nullable=False),
    Column("community", TextColumn, ForeignKey("communities.name"), nullable=False),
    Column("reference", TextColumn),
    Column("model", TextColumn, nullable=False),
    Column("lang", TextColumn),
    Column("decision", TextColumn, nullable=False),
    Column("reasons", JsonColumn, nullable=False),
    Column("post", TextColumn, ForeignKey("posts.id")),
    CheckConstraint("decision IN ('pass', 'flag', 'review')", name="decision"),
    table_index("ix_decisions_community", "community", "id"),
    table_index("ix_decisions_post", "post", where="post IS NOT NULL"),
)
"""`reference` is the sender's own id of the post; `post` the one in the review project."""

score_counts = Table(
    "score_counts",
    metadata,
    Column("day", TextColumn, primary_key=True),
    Column("community", TextColumn, primary_key=True),
    Column("model", TextColumn, primary_key=True),
    Column("question", TextColumn, primary_key=True),
    Column("lang", TextColumn, primary_key=True),
    Column("bucket", Integer, primary_key=True),
    Column("n", Integer, nullable=False),
)
"""How many posts of a day had a probability in each twentieth. `community` is empty for posts of none."""
