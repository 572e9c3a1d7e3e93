"""Rounds: people against a detector, with their entries."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables of rounds."""
    op.create_table(
        "rounds",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("project", _TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("phase", _TEXT, nullable=False),
        sa.Column("question", _TEXT, nullable=False),
        sa.Column("targets", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("goal_each", sa.Integer()),
        sa.Column("goal_all", sa.Integer()),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("opened_at", _TIME, nullable=False),
        sa.Column("opened_by", _TEXT, nullable=False),
        sa.Column("closed_at", _TIME),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'closing', 'closed')", name=op.f("ck_rounds_state")),
        sa.ForeignKeyConstraint(["phase"], ["phases.id"], name=op.f("fk_rounds_phase")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_rounds_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rounds")),
        sa.UniqueConstraint("project", "number", name="uq_rounds_number"),
    )
    op.create_table(
        "entries",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("round", _TEXT, nullable=False),
        sa.Column("project", _TEXT, nullable=False),
        sa.Column("post", _TEXT, nullable=False),
        sa.Column("author", _TEXT, nullable=False),
        sa.Column("label", _TEXT, nullable=False),
        sa.Column("set", _TEXT, nullable=False),
        sa.Column("change", _TEXT),
        sa.Column("parent", _TEXT),
        sa.Column("strategy", _TEXT),
        sa.Column("support", _TEXT, nullable=False),
        sa.Column("predictions", sa.Text(), nullable=False),
        sa.Column("fooled", sa.Integer(), nullable=False),
        sa.Column("dropped", _TEXT),
        sa.Column("seconds", sa.Float()),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("key", _TEXT, nullable=False),
        sa.CheckConstraint("\"set\" IN ('original', 'contrast')", name=op.f("ck_entries_set")),
        sa.CheckConstraint("change IN ('emoji', 'text')", name=op.f("ck_entries_change")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_entries_post")),
        sa.ForeignKeyConstraint(["round"], ["rounds.id"], name=op.f("fk_entries_round")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        sa.UniqueConstraint("post", name=op.f("uq_entries_post")),
        sa.UniqueConstraint("project", "key", name="uq_entries_key"),
    )
    op.create_table(
        "entry_bands",
        sa.Column("project", _TEXT, nullable=False),
        sa.Column("band", _TEXT, nullable=False),
        sa.Column("entry", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["entry"], ["entries.id"], name=op.f("fk_entry_bands_entry")),
        sa.PrimaryKeyConstraint("project", "band", "entry", name=op.f("pk_entry_bands")),
    )
    op.create_table(
        "round_seeds",
        sa.Column("round", _TEXT, nullable=False),
        sa.Column("post", _TEXT, nullable=False),
        sa.Column("support", _TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("predictions", sa.Text(), nullable=False),
        sa.Column("added_at", _TIME, nullable=False),
        sa.Column("added_by", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_round_seeds_post")),
        sa.ForeignKeyConstraint(["round"], ["rounds.id"], name=op.f("fk_round_seeds_round")),
        sa.PrimaryKeyConstraint("round", "post", name=op.f("pk_round_seeds")),
    )
    for name, table, columns, condition, unique in (
        ("uq_rounds_open", "rounds", ["project"], "state <> 'closed'", True),
        ("ix_entries_round", "entries", ["round", "id"], None, False),
        ("ix_entries_author", "entries", ["author", "round", "id"], None, False),
        ("uq_entries_parent", "entries", ["parent"], "parent IS NOT NULL", True),
        ("ix_entry_bands_entry", "entry_bands", ["entry"], None, False),
        ("ix_round_seeds_post", "round_seeds", ["post"], None, False),
    ):
        where = sa.text(condition) if condition else None
        op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)
