"""Tables of what runs with every answer, and of what most of the store joins with; other modules declare their own.

What was collected, answered or decided is only ever added to. Names of
constraints follow one rule, so that a later migration can name what it changes.
An index is here because a query needs it: docs/serve/store.md says which. `davy.store.schema` has all tables.
"""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    Table,
    UniqueConstraint,
)

from davy.core import Member, Phase, Project
from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.rows import Rows
from davy.store.table_base import Serial, metadata, table_index

users = Table(
    "users",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("login", TextColumn, nullable=False, unique=True),
    Column("name", TextColumn, nullable=False),
    Column("role", TextColumn, nullable=False),
    Column("language", TextColumn, nullable=False),
    Column("password_hash", TextColumn),
    Column("created_at", TimeColumn, nullable=False),
    Column("disabled_at", TimeColumn),
    Column("choices", JsonColumn),
    CheckConstraint("role IN ('admin', 'expert', 'annotator')", name="role"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("token_hash", TextColumn, nullable=False, unique=True),
    Column("user_id", TextColumn, ForeignKey("users.id"), nullable=False),
    Column("client", TextColumn),
    Column("created_at", TimeColumn, nullable=False),
    Column("seen_at", TimeColumn, nullable=False),
    Column("expires_at", TimeColumn, nullable=False),
    Column("ended_at", TimeColumn),
    table_index("ix_sessions_user_id", "user_id"),
    table_index("ix_sessions_expires_at", "expires_at"),
)

events = Table(
    "events",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("at", TimeColumn, nullable=False),
    Column("by", TextColumn, nullable=False),
    Column("what", TextColumn, nullable=False),
    Column("about", TextColumn, nullable=False),
    Column("details", JsonColumn),
    table_index("ix_events_about", "about", "id"),
    table_index("ix_events_by", "by", "id"),
    sqlite_autoincrement=True,
)

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
    table_index("uq_posts_project", "project", "public_id", where="project IS NOT NULL", unique=True),
    table_index("uq_posts_shelf", "public_id", where="project IS NULL", unique=True),
)

schemes = Table(
    "schemes",
    metadata,
    Column("name", TextColumn, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("yaml", TextColumn, nullable=False),
    Column("digest", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
)

guidelines = Table(
    "guidelines",
    metadata,
    Column("scheme", TextColumn, primary_key=True),
    Column("scheme_version", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content", JsonColumn, nullable=False),
    Column("digest", TextColumn, nullable=False),
    Column("changes", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)

annotations = Table(
    "annotations",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("annotator", TextColumn, nullable=False),
    Column("scheme", TextColumn, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("guideline_version", Integer, nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("seconds", Float),
    Column("flags", TextColumn, nullable=False),
    Column("comment", TextColumn),
    # Deferrable, so that a restore can add rows in any order.
    Column("replaces", TextColumn, ForeignKey("annotations.id", deferrable=True, initially="IMMEDIATE"), unique=True),
    Column("project", TextColumn),
    Column("phase", TextColumn),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    table_index("ix_annotations_post", "post", "id"),
    table_index("ix_annotations_annotator", "annotator", "id"),
    table_index("ix_annotations_scheme", "scheme", "scheme_version", "id"),
    table_index("ix_annotations_phase", "phase", "id", where="phase IS NOT NULL"),
)

answers = Table(
    "answers",
    metadata,
    Column("annotation", TextColumn, ForeignKey("annotations.id"), primary_key=True),
    Column("question", TextColumn, primary_key=True),
    Column("label", TextColumn, primary_key=True),
    Column("position", Integer, nullable=False),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("scheme", TextColumn, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("question", TextColumn, nullable=False),
    Column("labels", JsonColumn, nullable=False),
    Column("basis", TextColumn, nullable=False),
    Column("reason", TextColumn),
    Column("at", TimeColumn, nullable=False),
    Column("by", TextColumn, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("project", TextColumn),
    UniqueConstraint("scheme", "scheme_version", "question", "post", "turn", name="uq_verdicts_turn"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    table_index("ix_verdicts_post", "post", "id"),
    table_index("ix_verdicts_project", "project", "question", "id", where="project IS NOT NULL"),
)

verdict_annotations = Table(
    "verdict_annotations",
    metadata,
    Column("verdict", TextColumn, ForeignKey("verdicts.id"), primary_key=True),
    Column("annotation", TextColumn, ForeignKey("annotations.id"), primary_key=True),
    table_index("ix_verdict_annotations_annotation", "annotation"),
)

# ---- projects: who labels what, in which phases ---------------------------------------------

PROJECTS = Rows(
    Project,
    "projects",
    CheckConstraint("state IN ('open', 'closed')", name="state"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)
projects = PROJECTS.table

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
    table_index("ix_items_room", "phase", "position", where="room > 0"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("item", TextColumn, ForeignKey("items.id"), nullable=False),
    Column("phase", TextColumn, nullable=False),
    Column("annotator", TextColumn, nullable=False),
    Column("state", TextColumn, nullable=False),
    Column("taken_at", TimeColumn, nullable=False),
    Column("leased_until", TimeColumn),
    Column("done_at", TimeColumn),
    Column("annotation", TextColumn, ForeignKey("annotations.id")),
    UniqueConstraint("item", "annotator", name="uq_assignments_item"),
    CheckConstraint("state IN ('held', 'done', 'refused', 'skipped', 'lapsed', 'again')", name="state"),
    table_index("ix_assignments_annotator", "annotator", "phase", "done_at"),
    table_index("ix_assignments_held", "leased_until", where="state = 'held'"),
    table_index("ix_assignments_mine", "annotator", "phase", where="state IN ('held', 'again')"),
    table_index("ix_assignments_annotation", "annotation", where="annotation IS NOT NULL"),
)

tallies = Table(
    "tallies",
    metadata,
    # One row a person and phase, so that counting never makes two people wait for each other.
    Column("phase", TextColumn, ForeignKey("phases.id"), primary_key=True),
    Column("annotator", TextColumn, primary_key=True),
    Column("given", Integer, nullable=False),
    Column("refused", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("filled", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("place", Integer, nullable=False),
    Column("last_at", TimeColumn),
)

cases = Table(
    "cases",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("item", TextColumn, ForeignKey("items.id"), nullable=False),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("kind", TextColumn, nullable=False),
    Column("questions", TextColumn, nullable=False),
    Column("why", TextColumn, nullable=False),
    Column("state", TextColumn, nullable=False),
    Column("opened_at", TimeColumn, nullable=False),
    Column("held_by", TextColumn),
    Column("leased_until", TimeColumn),
    Column("settled_by", TextColumn),
    Column("settled_at", TimeColumn),
    Column("outcome", JsonColumn),
    Column("reason", TextColumn),
    # How far an audit doubts the verdict: the most doubtful come first.
    Column("doubt", Float),
    CheckConstraint("kind IN ('disagreement', 'flag', 'audit')", name="kind"),
    CheckConstraint("state IN ('open', 'settled', 'dropped')", name="state"),
    table_index("ix_cases_open", "project", "id", where="state = 'open'"),
    table_index("ix_cases_item", "item"),
    table_index("uq_cases_open", "item", "kind", where="state = 'open'", unique=True),
    table_index("ix_cases_post", "post"),
)
