"""The tables. The migrations must make exactly these; a test compares the two on both databases.

What was collected, answered or decided is only ever added to. Names of
constraints follow one rule, so that a later migration can name what it changes.
An index is here because a query needs it: docs/serve/store.md says which.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    Table,
    UniqueConstraint,
)

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import Serial, table_index
from davy.store.table_base import metadata as metadata

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

invitations = Table(
    "invitations",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("token_hash", TextColumn, nullable=False, unique=True),
    Column("login", TextColumn),
    Column("name", TextColumn),
    Column("role", TextColumn, nullable=False),
    Column("invited_by", TextColumn),
    Column("created_at", TimeColumn, nullable=False),
    Column("expires_at", TimeColumn, nullable=False),
    Column("revoked_at", TimeColumn),
    Column("used_at", TimeColumn),
    Column("used_by", TextColumn, ForeignKey("users.id")),
    Column("project", TextColumn),
    Column("project_roles", TextColumn),
    Column("pool", TextColumn),
    CheckConstraint("role IN ('admin', 'expert', 'annotator')", name="role"),
    table_index("ix_invitations_used_by", "used_by"),
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

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("secret_hash", TextColumn, nullable=False, unique=True),
    Column("prefix", TextColumn, nullable=False),
    Column("name", TextColumn, nullable=False),
    Column("owner", TextColumn, ForeignKey("users.id"), nullable=False),
    Column("scopes", TextColumn, nullable=False),
    Column("created_at", TimeColumn, nullable=False),
    Column("expires_at", TimeColumn),
    Column("revoked_at", TimeColumn),
    Column("used_at", TimeColumn),
    Column("per_minute", Integer),
    Column("per_day", Integer),
    # No foreign key, which SQLite adds by copying the table only: `keys.create` looks whether the project is there.
    Column("project", TextColumn),
    table_index("ix_api_keys_owner", "owner"),
    table_index("ix_api_keys_project", "project", where="project IS NOT NULL"),
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

jobs = Table(
    "jobs",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("kind", TextColumn, nullable=False),
    Column("arguments", JsonColumn, nullable=False),
    Column("owner", TextColumn, nullable=False),
    Column("key", TextColumn, unique=True),
    Column("state", TextColumn, nullable=False),
    Column("created_at", TimeColumn, nullable=False),
    Column("run_after", TimeColumn, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("lease", TextColumn),
    Column("leased_by", TextColumn),
    Column("leased_until", TimeColumn),
    Column("started_at", TimeColumn),
    Column("finished_at", TimeColumn),
    Column("cancel_asked_at", TimeColumn),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("note", TextColumn),
    Column("checkpoint", JsonColumn),
    Column("result", JsonColumn),
    Column("error", TextColumn),
    Column("project", TextColumn),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
    table_index("ix_jobs_waiting", "run_after", "id", where="state = 'waiting'"),
    table_index("ix_jobs_running", "leased_until", where="state = 'running'"),
    table_index("ix_jobs_owner", "owner", "id"),
    table_index("ix_jobs_project", "project", "id", where="project IS NOT NULL"),
)

job_log = Table(
    "job_log",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("job", TextColumn, ForeignKey("jobs.id"), nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("line", TextColumn, nullable=False),
    table_index("ix_job_log_job", "job", "id"),
    sqlite_autoincrement=True,
)

# ---- projects: who labels what, in which phases ---------------------------------------------

projects = Table(
    "projects",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("title", TextColumn, nullable=False),
    Column("scheme", TextColumn, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("settings", JsonColumn, nullable=False),
    Column("state", TextColumn, nullable=False),
    Column("created_at", TimeColumn, nullable=False),
    Column("created_by", TextColumn, nullable=False),
    Column("closed_at", TimeColumn),
    CheckConstraint("state IN ('open', 'closed')", name="state"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)

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

members = Table(
    "members",
    metadata,
    Column("project", TextColumn, ForeignKey("projects.id"), primary_key=True),
    Column("user_id", TextColumn, ForeignKey("users.id"), primary_key=True),
    Column("roles", TextColumn, nullable=False),
    Column("pool", TextColumn),
    Column("pseudonym", TextColumn, nullable=False),
    Column("choices", JsonColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    Column("consented_at", TimeColumn),
    Column("read_until", TimeColumn),
    Column("left_at", TimeColumn),
    UniqueConstraint("project", "pseudonym", name="uq_members_pseudonym"),
    table_index("ix_members_user_id", "user_id"),
)

phases = Table(
    "phases",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("name", TextColumn, nullable=False),
    Column("kind", TextColumn, nullable=False),
    Column("position", Integer, nullable=False),
    Column("answers", Integer),
    Column("in_corpus", Integer, nullable=False),
    Column("settings", JsonColumn, nullable=False),
    Column("state", TextColumn, nullable=False),
    Column("size", Integer, nullable=False),
    Column("opened_at", TimeColumn),
    Column("closed_at", TimeColumn),
    UniqueConstraint("project", "name", name="uq_phases_name"),
    CheckConstraint("state IN ('waiting', 'open', 'closed')", name="state"),
)

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

agreements = Table(
    "agreements",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("phase", TextColumn, ForeignKey("phases.id"), nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("answers", Integer, nullable=False),
    Column("content", JsonColumn, nullable=False),
    table_index("ix_agreements_phase", "phase", "id"),
)

# ---- care: kept apart from labels ------------------------------------------------------------

sittings = Table(
    "sittings",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("user_id", TextColumn, ForeignKey("users.id"), nullable=False),
    Column("started_at", TimeColumn, nullable=False),
    Column("last_at", TimeColumn, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("items", Integer, nullable=False),
    Column("hard", Integer, nullable=False),
    Column("ended_at", TimeColumn),
    # What was done since the last rest; it goes over into a person's next sitting until they have rested.
    Column("unrested_seconds", Float, nullable=False),
    Column("unrested_hard", Integer, nullable=False),
    Column("postponed", Integer, nullable=False),
    Column("rest_until", TimeColumn),
    Column("rest_reason", TextColumn),
    table_index("ix_sittings_user_id", "user_id", "started_at"),
    table_index("ix_sittings_project", "project", "user_id"),
)

check_ins = Table(
    "check_ins",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("user_id", TextColumn, ForeignKey("users.id"), nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("mood", Integer),
    Column("words", TextColumn),
    Column("wants_contact", Integer, nullable=False),
    # The ids of those who were named as wellbeing contacts when it was written: nobody else reads it, ever.
    Column("readers", TextColumn, nullable=False),
    Column("seen_at", TimeColumn),
    Column("seen_by", TextColumn),
    table_index("ix_check_ins_project", "project", "id"),
    table_index("ix_check_ins_user_id", "user_id"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("kind", TextColumn, nullable=False),
    Column("by", TextColumn, nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("post", TextColumn, ForeignKey("posts.id")),
    Column("replies_to", TextColumn),
    Column("text", TextColumn, nullable=False),
    Column("guideline_version", Integer),
    Column("settled_at", TimeColumn),
    CheckConstraint("kind IN ('announcement', 'question', 'answer', 'note')", name="kind"),
    table_index("ix_messages_project", "project", "id"),
    table_index("ix_messages_post", "post", where="post IS NOT NULL"),
)

responses = Table(
    "responses",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("user_id", TextColumn, ForeignKey("users.id"), nullable=False),
    Column("kind", TextColumn, nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("content", JsonColumn, nullable=False),
    CheckConstraint("kind IN ('survey', 'about me')", name="kind"),
    UniqueConstraint("project", "user_id", "kind", name="uq_responses_kind"),
    table_index("ix_responses_user_id", "user_id"),
)

# ---- pictures ------------------------------------------------------------------------------------

images = Table(
    "images",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id")),
    Column("key", TextColumn, nullable=False),
    Column("name", TextColumn, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("mime", TextColumn, nullable=False),
    Column("licence", TextColumn),
    Column("credit", TextColumn),
    Column("source", TextColumn),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    Column("withdrawn_at", TimeColumn),
    table_index("uq_images_project", "project", "key", where="project IS NOT NULL", unique=True),
    table_index("uq_images_shelf", "key", where="project IS NULL", unique=True),
    table_index("ix_images_key", "key"),
)
"""`key` is the SHA-256 of the file; without a project a picture lies on the shelf that all projects share."""

# ---- detectors -----------------------------------------------------------------------------------

detectors = Table(
    "detectors",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("name", TextColumn, nullable=False),
    Column("version", TextColumn, nullable=False),
    Column("source", TextColumn, nullable=False),
    Column("state", TextColumn, nullable=False),
    Column("is_default", Integer, nullable=False),
    Column("questions", JsonColumn, nullable=False),
    Column("thresholds", JsonColumn, nullable=False),
    Column("data_hash", TextColumn),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    UniqueConstraint("name", "version", name="uq_detectors_version"),
    CheckConstraint("state IN ('active', 'shadow', 'retired')", name="state"),
    table_index("uq_detectors_active", "name", where="state = 'active'", unique=True),
    table_index("uq_detectors_default", "is_default", where="is_default = 1", unique=True),
)
"""One version of a name is active, and one detector at most is the default: the database holds both rules."""

# ---- open coding: how a scheme grows ------------------------------------------------------------

codes = Table(
    "codes",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("name", TextColumn, nullable=False),
    Column("description", TextColumn, nullable=False),
    Column("parent", TextColumn),
    Column("made_at", TimeColumn, nullable=False),
    Column("made_by", TextColumn, nullable=False),
    Column("merged_into", TextColumn),
    table_index("ix_codes_project", "project", "id"),
)

coded = Table(
    "coded",
    metadata,
    Column("code", TextColumn, ForeignKey("codes.id"), primary_key=True),
    Column("post", TextColumn, ForeignKey("posts.id"), primary_key=True),
    Column("by", TextColumn, primary_key=True),
    Column("at", TimeColumn, nullable=False),
    Column("note", TextColumn),
    table_index("ix_coded_post", "post"),
)

scheme_drafts = Table(
    "scheme_drafts",
    metadata,
    Column("id", TextColumn, primary_key=True),
    # Every save is a row, so that an earlier state can come back.
    Column("edit", Integer, primary_key=True),
    Column("owner", TextColumn, ForeignKey("users.id"), nullable=False),
    Column("content", JsonColumn, nullable=False),
    Column("saved_at", TimeColumn, nullable=False),
    Column("removed_at", TimeColumn),
    table_index("ix_scheme_drafts_owner", "owner", "id"),
)

project_suites = Table(
    "project_suites",
    metadata,
    Column("id", TextColumn, primary_key=True),
    # Every save is a row: a check's record names the version that was run.
    Column("version", Integer, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("name", TextColumn, nullable=False),
    Column("content", TextColumn, nullable=False),
    Column("saved_at", TimeColumn, nullable=False),
    Column("saved_by", TextColumn, nullable=False),
    Column("removed_at", TimeColumn),
    table_index("ix_project_suites_project", "project", "id"),
)
