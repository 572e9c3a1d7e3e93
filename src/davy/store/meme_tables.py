"""The tables of memes: what people did with each in its phases, and pictures that are locked."""

from sqlalchemy import CheckConstraint, Column, Float, ForeignKey, Table

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import metadata, table_index

meme_steps = Table(
    "meme_steps",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("phase", TextColumn, ForeignKey("phases.id"), nullable=False),
    # The source meme of a filter or a build; the hateful meme of a confounder.
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("step", TextColumn, nullable=False),
    Column("result", TextColumn, nullable=False),
    Column("details", JsonColumn, nullable=False),
    # The meme that came of it.
    Column("made", TextColumn, ForeignKey("posts.id")),
    Column("by", TextColumn, nullable=False),
    Column("seconds", Float),
    Column("at", TimeColumn, nullable=False),
    CheckConstraint("step IN ('filter', 'build', 'image', 'text')", name="step"),
    table_index("ix_meme_steps_project", "project", "id"),
    table_index("ix_meme_steps_post", "post", "step", "id"),
    table_index("ix_meme_steps_made", "made", where="made IS NOT NULL"),
    table_index("ix_meme_steps_by", "by", "id"),
    table_index("ix_meme_steps_phase", "phase"),
)

picture_locks = Table(
    "picture_locks",
    metadata,
    # The picture's key: the same pixels are locked in every project and on the shelf.
    Column("key", TextColumn, primary_key=True),
    Column("project", TextColumn, nullable=False),
    # The id that people see, no reference: the record stays when the post goes.
    Column("post", TextColumn, nullable=False),
    Column("locked_at", TimeColumn, nullable=False),
    Column("locked_by", TextColumn, nullable=False),
    # What the person in charge did about it, in their words.
    Column("reported_at", TimeColumn),
    Column("reported_by", TextColumn),
    Column("note", TextColumn),
    table_index("ix_picture_locks_project", "project", "locked_at"),
)
