"""Memes: what people did with each in its phases, and pictures that are locked."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "meme_steps",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("project", _TEXT, nullable=False),
        sa.Column("phase", _TEXT, nullable=False),
        sa.Column("post", _TEXT, nullable=False),
        sa.Column("step", _TEXT, nullable=False),
        sa.Column("result", _TEXT, nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("made", _TEXT),
        sa.Column("by", _TEXT, nullable=False),
        sa.Column("seconds", sa.Float()),
        sa.Column("at", _TIME, nullable=False),
        sa.CheckConstraint("step IN ('filter', 'build', 'image', 'text')", name=op.f("ck_meme_steps_step")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_meme_steps_project")),
        sa.ForeignKeyConstraint(["phase"], ["phases.id"], name=op.f("fk_meme_steps_phase")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_meme_steps_post")),
        sa.ForeignKeyConstraint(["made"], ["posts.id"], name=op.f("fk_meme_steps_made")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_meme_steps")),
    )
    made = sa.text("made IS NOT NULL")
    op.create_index("ix_meme_steps_project", "meme_steps", ["project", "id"])
    op.create_index("ix_meme_steps_post", "meme_steps", ["post", "step", "id"])
    op.create_index("ix_meme_steps_made", "meme_steps", ["made"], sqlite_where=made, postgresql_where=made)
    op.create_index("ix_meme_steps_by", "meme_steps", ["by", "id"])
    op.create_index("ix_meme_steps_phase", "meme_steps", ["phase"])
    op.create_table(
        "picture_locks",
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("project", _TEXT, nullable=False),
        sa.Column("post", _TEXT, nullable=False),
        sa.Column("locked_at", _TIME, nullable=False),
        sa.Column("locked_by", _TEXT, nullable=False),
        sa.Column("reported_at", _TIME),
        sa.Column("reported_by", _TEXT),
        sa.Column("note", _TEXT),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_picture_locks")),
    )
    op.create_index("ix_picture_locks_project", "picture_locks", ["project", "locked_at"])
