"""Pictures: which ones a project has, with licence, credit and source. Their bytes are files."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the table of pictures."""
    op.create_table(
        "images",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("project", _TEXT),
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("mime", _TEXT, nullable=False),
        sa.Column("licence", _TEXT),
        sa.Column("credit", _TEXT),
        sa.Column("source", _TEXT),
        sa.Column("added_at", _TIME, nullable=False),
        sa.Column("added_by", _TEXT, nullable=False),
        sa.Column("withdrawn_at", _TIME),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_images_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_images")),
    )
    for name, columns, condition in (
        ("uq_images_project", ["project", "key"], "project IS NOT NULL"),
        ("uq_images_shelf", ["key"], "project IS NULL"),
    ):
        where = sa.text(condition)
        op.create_index(name, "images", columns, unique=True, sqlite_where=where, postgresql_where=where)
    op.create_index("ix_images_key", "images", ["key"])
