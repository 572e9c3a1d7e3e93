"""Tables of projects and of what belongs to them: members, posts, phases, items, guidelines.

They are used by every answer or by most of the store. What was collected, answered or decided is only ever added to.
An index is here because a query needs it: docs/serve/store.md says which.
"""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    Table,
    UniqueConstraint,
)

from davy.annotation.project.project import Member, Phase, Project
from davy.store.columns import JsonColumn, TextColumn, TimeColumn, metadata, table_index
from davy.store.rows import Rows

posts = Table(
    "posts",
    metadata,
    # The key that other tables point at. It never leaves the store: people see `public_id`.
    Column("id", TextColumn, primary_key=True),
    Column("text", TextColumn),
    Column("lang", TextColumn),
    Column("image", TextColumn),
    Column("source", TextColumn),
    Column("licence", TextColumn),
    Column("collected_at", TextColumn),
    Column("found", TextColumn),
    Column("parent", TextColumn),
    Column("meta", TextColumn),
    Column("added_at", TimeColumn, nullable=False),
    Column("public_id", TextColumn, nullable=False, server_default=""),
    # Whose it is. Without a project it lies on the shared shelf.
    Column("project", TextColumn),
    # The account that wrote it here; nobody judges their own entry.
    Column("author", TextColumn),
    # 1: seen by those who run the project, and by whom a phase gives it to.
    Column("hidden", Integer, nullable=False, server_default="0"),
    table_index("ix_posts_parent", "parent", where="parent IS NOT NULL"),
    table_index("ix_posts_lang", "project", "lang", where="lang IS NOT NULL"),
    table_index("ix_posts_source", "project", "source", where="source IS NOT NULL"),
    table_index("uq_posts_project", "project", "public_id", where="project IS NOT NULL", unique=True),
    table_index("uq_posts_shelf", "public_id", where="project IS NULL", unique=True),
)

PROJECTS = Rows(
    Project,
    "projects",
    CheckConstraint("state IN ('open', 'closed')", name="state"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)

projects = PROJECTS.table
IS_THERE = projects.c.deleted_at.is_(None)
"""The condition that a project was not deleted. Every query that finds projects has it, but for withdrawals."""

project_guidelines = Table(
    "project_guidelines",
    metadata,
    Column("project", TextColumn, ForeignKey("projects.id"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content", JsonColumn, nullable=False),
    Column("digest", TextColumn, nullable=False),
    Column("changes", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
)

MEMBERS = Rows(
    Member,
    "members",
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    UniqueConstraint("project", "pseudonym", name="uq_members_pseudonym"),
    table_index("ix_members_user_id", "user_id"),
    key=("project", "user"),
    references={"project": "projects.id", "user": "users.id"},
    joined={"roles": "|"},
    names={"user": "user_id"},
)

members = MEMBERS.table

PHASES = Rows(
    Phase,
    "phases",
    UniqueConstraint("project", "name", name="uq_phases_name"),
    CheckConstraint("state IN ('waiting', 'open', 'closed')", name="state"),
    references={"project": "projects.id"},
)

phases = PHASES.table

items = Table(
    "items",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("phase", TextColumn, ForeignKey("phases.id"), nullable=False),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("batch", TextColumn),
    Column("gold", JsonColumn),
    Column("given", Integer, nullable=False),
    # How many more may take it: answers wanted, less given, less held. In a phase that everyone answers it stays 1.
    Column("room", Integer, nullable=False),
    Column("state", TextColumn, nullable=False),
    UniqueConstraint("phase", "post", name="uq_items_post"),
    CheckConstraint("state IN ('open', 'full', 'settled', 'dropped')", name="state"),
    table_index("ix_items_post", "post"),
    table_index("ix_items_place", "phase", "position"),
    table_index("ix_items_batch", "phase", "batch", where="batch IS NOT NULL"),
    table_index("ix_items_room", "phase", "position", where="room > 0"),
)
