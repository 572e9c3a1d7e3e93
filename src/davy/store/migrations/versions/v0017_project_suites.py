"""Suites that projects write in the browser."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "project_suites",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("content", _TEXT, nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("saved_by", _TEXT, nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", "version", name=op.f("pk_project_suites")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_project_suites_project")),
    )
    op.create_index("ix_project_suites_project", "project_suites", ["project", "id"])
