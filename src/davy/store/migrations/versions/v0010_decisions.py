"""Deciding: communities with thresholds, what was decided for them, and counts of scores by day."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "communities",
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("question", _TEXT, nullable=False),
        sa.Column("thresholds", sa.Text(), nullable=False),
        sa.Column("low", sa.Float()),
        sa.Column("high", sa.Float()),
        sa.Column("keys", sa.Text(), nullable=False),
        sa.Column("project", _TEXT),
        sa.Column("webhook", _TEXT),
        sa.Column("secret", _TEXT),
        sa.Column("basis", sa.Text()),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("made_by", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_communities_project")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_communities")),
    )
    op.create_table(
        "decisions",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("community", _TEXT, nullable=False),
        sa.Column("reference", _TEXT),
        sa.Column("model", _TEXT, nullable=False),
        sa.Column("lang", _TEXT),
        sa.Column("decision", _TEXT, nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("post", _TEXT),
        sa.CheckConstraint("decision IN ('pass', 'flag', 'review')", name=op.f("ck_decisions_decision")),
        sa.ForeignKeyConstraint(["community"], ["communities.name"], name=op.f("fk_decisions_community")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_decisions_post")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
    )
    op.create_index("ix_decisions_community", "decisions", ["community", "id"])
    where = sa.text("post IS NOT NULL")
    op.create_index("ix_decisions_post", "decisions", ["post"], sqlite_where=where, postgresql_where=where)
    op.create_table(
        "score_counts",
        sa.Column("day", _TEXT, nullable=False),
        sa.Column("community", _TEXT, nullable=False),
        sa.Column("model", _TEXT, nullable=False),
        sa.Column("question", _TEXT, nullable=False),
        sa.Column("lang", _TEXT, nullable=False),
        sa.Column("bucket", sa.Integer(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint(
            "day", "community", "model", "question", "lang", "bucket", name=op.f("pk_score_counts")
        ),
    )
