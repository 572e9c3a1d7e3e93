"""Detectors: which ones the server knows, by name and version."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table of detectors; a server without rows in it answers with its --model."""
    op.create_table(
        "detectors",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("version", _TEXT, nullable=False),
        sa.Column("source", _TEXT, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("is_default", sa.Integer(), nullable=False),
        sa.Column("questions", sa.Text(), nullable=False),
        sa.Column("thresholds", sa.Text(), nullable=False),
        sa.Column("data_hash", _TEXT),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("added_by", _TEXT, nullable=False),
        sa.CheckConstraint("state IN ('active', 'shadow', 'retired')", name=op.f("ck_detectors_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_detectors")),
        sa.UniqueConstraint("name", "version", name="uq_detectors_version"),
    )
    for name, column, condition in (
        ("uq_detectors_active", "name", "state = 'active'"),
        ("uq_detectors_default", "is_default", "is_default = 1"),
    ):
        where = sa.text(condition)
        op.create_index(name, "detectors", [column], unique=True, sqlite_where=where, postgresql_where=where)
