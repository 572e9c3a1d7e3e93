"""Serving: quotas of keys and what they used, corrections that programs sent, and how a shadow differs."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables; keys of today have no quota of their own."""
    op.add_column("api_keys", sa.Column("per_minute", sa.Integer()))
    op.add_column("api_keys", sa.Column("per_day", sa.Integer()))
    op.create_table(
        "api_usage",
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("day", _TEXT, nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("posts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", "day", name=op.f("pk_api_usage")),
    )
    _suggestions()
    _shadows()


def _suggestions() -> None:
    op.create_table(
        "suggestions",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("by", _TEXT, nullable=False),
        sa.Column("key", _TEXT),
        sa.Column("text", _TEXT, nullable=False),
        sa.Column("lang", _TEXT),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("answers", sa.Text(), nullable=False),
        sa.Column("context", sa.Text()),
        sa.Column("community", _TEXT),
        sa.Column("session", _TEXT),
        sa.Column("client_token", _TEXT),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("post", _TEXT),
        sa.Column("reviewed_at", _TIME),
        sa.Column("reviewed_by", _TEXT),
        sa.CheckConstraint("state IN ('open', 'taken', 'dismissed')", name=op.f("ck_suggestions_state")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_suggestions_post")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suggestions")),
    )
    op.create_index("ix_suggestions_state", "suggestions", ["state", "id"])
    op.create_index("ix_suggestions_by", "suggestions", ["by"])
    where = sa.text("post IS NOT NULL")
    op.create_index("ix_suggestions_post", "suggestions", ["post"], sqlite_where=where, postgresql_where=where)


def _shadows() -> None:
    op.create_table(
        "shadow_counts",
        sa.Column("hour", _TIME, nullable=False),
        sa.Column("model", _TEXT, nullable=False),
        sa.Column("shadow", _TEXT, nullable=False),
        sa.Column("question", _TEXT, nullable=False),
        sa.Column("lang", _TEXT, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("both", sa.Integer(), nullable=False),
        sa.Column("only_model", sa.Integer(), nullable=False),
        sa.Column("only_shadow", sa.Integer(), nullable=False),
        sa.Column("other", sa.Integer(), nullable=False),
        sa.Column("distance", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("hour", "model", "shadow", "question", "lang", name=op.f("pk_shadow_counts")),
    )
    op.create_table(
        "shadow_differences",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("model", _TEXT, nullable=False),
        sa.Column("shadow", _TEXT, nullable=False),
        sa.Column("question", _TEXT, nullable=False),
        sa.Column("lang", _TEXT),
        sa.Column("label", _TEXT, nullable=False),
        sa.Column("shadow_label", _TEXT, nullable=False),
        sa.Column("probability", sa.Float()),
        sa.Column("shadow_probability", sa.Float()),
        sa.Column("text", _TEXT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shadow_differences")),
    )
    op.create_index("ix_shadow_differences_models", "shadow_differences", ["model", "shadow", "question", "id"])
