"""The tables. The migrations must make exactly these; a test compares the two on both databases.

What was collected, answered or decided is only ever added to. Names of
constraints follow one rule, so that a later migration can name what it changes.
An index is here because a query needs it: docs/store.md says which.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
    text,
)

from davy.store.columns import Json, Moment, Words

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

_Serial = BigInteger().with_variant(Integer, "sqlite")


def _index(name: str, *columns: str, where: str | None = None, unique: bool = False) -> Index:
    """Return an index, partial where `where` says so, written alike for both databases."""
    condition = None if where is None else text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


users = Table(
    "users",
    metadata,
    Column("id", Words, primary_key=True),
    Column("login", Words, nullable=False, unique=True),
    Column("name", Words, nullable=False),
    Column("role", Words, nullable=False),
    Column("language", Words, nullable=False),
    Column("password_hash", Words),
    Column("created_at", Moment, nullable=False),
    Column("disabled_at", Moment),
    CheckConstraint("role IN ('admin', 'expert', 'annotator')", name="role"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("id", Words, primary_key=True),
    Column("token_hash", Words, nullable=False, unique=True),
    Column("login", Words),
    Column("name", Words),
    Column("role", Words, nullable=False),
    Column("invited_by", Words),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("used_at", Moment),
    Column("used_by", Words, ForeignKey("users.id")),
    Column("project", Words),
    Column("project_roles", Words),
    Column("pool", Words),
    CheckConstraint("role IN ('admin', 'expert', 'annotator')", name="role"),
    _index("ix_invitations_used_by", "used_by"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Words, primary_key=True),
    Column("token_hash", Words, nullable=False, unique=True),
    Column("user_id", Words, ForeignKey("users.id"), nullable=False),
    Column("client", Words),
    Column("created_at", Moment, nullable=False),
    Column("seen_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("ended_at", Moment),
    _index("ix_sessions_user_id", "user_id"),
    _index("ix_sessions_expires_at", "expires_at"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Words, primary_key=True),
    Column("secret_hash", Words, nullable=False, unique=True),
    Column("prefix", Words, nullable=False),
    Column("name", Words, nullable=False),
    Column("owner", Words, ForeignKey("users.id"), nullable=False),
    Column("scopes", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("used_at", Moment),
    _index("ix_api_keys_owner", "owner"),
)

events = Table(
    "events",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("by", Words, nullable=False),
    Column("what", Words, nullable=False),
    Column("about", Words, nullable=False),
    Column("details", Json),
    _index("ix_events_about", "about", "id"),
    _index("ix_events_by", "by", "id"),
    sqlite_autoincrement=True,
)

posts = Table(
    "posts",
    metadata,
    Column("id", Words, primary_key=True),
    Column("text", Words),
    Column("lang", Words),
    Column("image", Words),
    Column("source", Words),
    Column("licence", Words),
    Column("collected_at", Words),
    Column("found", Words),
    Column("parent", Words),
    Column("meta", Words),
    Column("added_at", Moment, nullable=False),
    _index("ix_posts_source", "source", "id"),
    _index("ix_posts_parent", "parent", where="parent IS NOT NULL"),
)

schemes = Table(
    "schemes",
    metadata,
    Column("name", Words, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("yaml", Words, nullable=False),
    Column("digest", Words, nullable=False),
    Column("added_at", Moment, nullable=False),
    Column("added_by", Words, nullable=False),
)

guidelines = Table(
    "guidelines",
    metadata,
    Column("scheme", Words, primary_key=True),
    Column("scheme_version", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content", Json, nullable=False),
    Column("digest", Words, nullable=False),
    Column("changes", Words, nullable=False),
    Column("added_at", Moment, nullable=False),
    Column("added_by", Words, nullable=False),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)

annotations = Table(
    "annotations",
    metadata,
    Column("id", Words, primary_key=True),
    Column("post", Words, ForeignKey("posts.id"), nullable=False),
    Column("annotator", Words, nullable=False),
    Column("scheme", Words, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("guideline_version", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    Column("seconds", Float),
    Column("flags", Words, nullable=False),
    Column("comment", Words),
    # Deferrable, so that a restore can add rows in any order.
    Column("replaces", Words, ForeignKey("annotations.id", deferrable=True, initially="IMMEDIATE"), unique=True),
    Column("project", Words),
    Column("phase", Words),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    _index("ix_annotations_post", "post", "id"),
    _index("ix_annotations_annotator", "annotator", "id"),
    _index("ix_annotations_scheme", "scheme", "scheme_version", "id"),
    _index("ix_annotations_phase", "phase", "id", where="phase IS NOT NULL"),
)

answers = Table(
    "answers",
    metadata,
    Column("annotation", Words, ForeignKey("annotations.id"), primary_key=True),
    Column("question", Words, primary_key=True),
    Column("label", Words, primary_key=True),
    Column("position", Integer, nullable=False),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("id", Words, primary_key=True),
    Column("post", Words, ForeignKey("posts.id"), nullable=False),
    Column("scheme", Words, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("question", Words, nullable=False),
    Column("labels", Json, nullable=False),
    Column("basis", Words, nullable=False),
    Column("reason", Words),
    Column("at", Moment, nullable=False),
    Column("by", Words, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("project", Words),
    UniqueConstraint("scheme", "scheme_version", "question", "post", "turn", name="uq_verdicts_turn"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    _index("ix_verdicts_post", "post", "id"),
    _index("ix_verdicts_project", "project", "question", "id", where="project IS NOT NULL"),
)

verdict_annotations = Table(
    "verdict_annotations",
    metadata,
    Column("verdict", Words, ForeignKey("verdicts.id"), primary_key=True),
    Column("annotation", Words, ForeignKey("annotations.id"), primary_key=True),
    _index("ix_verdict_annotations_annotation", "annotation"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Words, primary_key=True),
    Column("kind", Words, nullable=False),
    Column("arguments", Json, nullable=False),
    Column("owner", Words, nullable=False),
    Column("key", Words, unique=True),
    Column("state", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("run_after", Moment, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("lease", Words),
    Column("leased_by", Words),
    Column("leased_until", Moment),
    Column("started_at", Moment),
    Column("finished_at", Moment),
    Column("cancel_asked_at", Moment),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("note", Words),
    Column("checkpoint", Json),
    Column("result", Json),
    Column("error", Words),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
    _index("ix_jobs_waiting", "run_after", "id", where="state = 'waiting'"),
    _index("ix_jobs_running", "leased_until", where="state = 'running'"),
    _index("ix_jobs_owner", "owner", "id"),
)

job_log = Table(
    "job_log",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("job", Words, ForeignKey("jobs.id"), nullable=False),
    Column("at", Moment, nullable=False),
    Column("line", Words, nullable=False),
    _index("ix_job_log_job", "job", "id"),
    sqlite_autoincrement=True,
)

# ---- projects: who labels what, in which phases ---------------------------------------------

projects = Table(
    "projects",
    metadata,
    Column("id", Words, primary_key=True),
    Column("title", Words, nullable=False),
    Column("scheme", Words, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("settings", Json, nullable=False),
    Column("state", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("created_by", Words, nullable=False),
    Column("closed_at", Moment),
    CheckConstraint("state IN ('open', 'closed')", name="state"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)

members = Table(
    "members",
    metadata,
    Column("project", Words, ForeignKey("projects.id"), primary_key=True),
    Column("user_id", Words, ForeignKey("users.id"), primary_key=True),
    Column("roles", Words, nullable=False),
    Column("pool", Words),
    Column("pseudonym", Words, nullable=False),
    Column("choices", Json, nullable=False),
    Column("added_at", Moment, nullable=False),
    Column("added_by", Words, nullable=False),
    Column("consented_at", Moment),
    Column("read_until", Moment),
    Column("left_at", Moment),
    UniqueConstraint("project", "pseudonym", name="uq_members_pseudonym"),
    _index("ix_members_user_id", "user_id"),
)

phases = Table(
    "phases",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project", Words, ForeignKey("projects.id"), nullable=False),
    Column("name", Words, nullable=False),
    Column("kind", Words, nullable=False),
    Column("position", Integer, nullable=False),
    Column("answers", Integer),
    Column("in_corpus", Integer, nullable=False),
    Column("settings", Json, nullable=False),
    Column("state", Words, nullable=False),
    Column("size", Integer, nullable=False),
    Column("opened_at", Moment),
    Column("closed_at", Moment),
    UniqueConstraint("project", "name", name="uq_phases_name"),
    CheckConstraint(
        "kind IN ('training', 'discussion', 'calibration', 'screening', 'production', 'expert')", name="kind"
    ),
    CheckConstraint("state IN ('waiting', 'open', 'closed')", name="state"),
)

items = Table(
    "items",
    metadata,
    Column("id", Words, primary_key=True),
    Column("phase", Words, ForeignKey("phases.id"), nullable=False),
    Column("post", Words, ForeignKey("posts.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("batch", Words),
    Column("gold", Json),
    Column("given", Integer, nullable=False),
    # How many more may take it: answers wanted, less given, less held. In a phase that everyone answers it stays 1.
    Column("room", Integer, nullable=False),
    Column("state", Words, nullable=False),
    UniqueConstraint("phase", "post", name="uq_items_post"),
    CheckConstraint("state IN ('open', 'full', 'settled', 'dropped')", name="state"),
    _index("ix_items_post", "post"),
    _index("ix_items_place", "phase", "position"),
    _index("ix_items_room", "phase", "position", where="room > 0"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", Words, primary_key=True),
    Column("item", Words, ForeignKey("items.id"), nullable=False),
    Column("phase", Words, nullable=False),
    Column("annotator", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("taken_at", Moment, nullable=False),
    Column("leased_until", Moment),
    Column("done_at", Moment),
    Column("annotation", Words, ForeignKey("annotations.id")),
    UniqueConstraint("item", "annotator", name="uq_assignments_item"),
    CheckConstraint("state IN ('held', 'done', 'refused', 'skipped', 'lapsed', 'again')", name="state"),
    _index("ix_assignments_annotator", "annotator", "phase", "done_at"),
    _index("ix_assignments_held", "leased_until", where="state = 'held'"),
    _index("ix_assignments_mine", "annotator", "phase", where="state IN ('held', 'again')"),
    _index("ix_assignments_annotation", "annotation", where="annotation IS NOT NULL"),
)

tallies = Table(
    "tallies",
    metadata,
    # One row a person and phase, so that counting never makes two people wait for each other.
    Column("phase", Words, ForeignKey("phases.id"), primary_key=True),
    Column("annotator", Words, primary_key=True),
    Column("given", Integer, nullable=False),
    Column("refused", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("filled", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("place", Integer, nullable=False),
    Column("last_at", Moment),
)

cases = Table(
    "cases",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project", Words, ForeignKey("projects.id"), nullable=False),
    Column("item", Words, ForeignKey("items.id"), nullable=False),
    Column("post", Words, ForeignKey("posts.id"), nullable=False),
    Column("kind", Words, nullable=False),
    Column("questions", Words, nullable=False),
    Column("why", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("opened_at", Moment, nullable=False),
    Column("held_by", Words),
    Column("leased_until", Moment),
    Column("settled_by", Words),
    Column("settled_at", Moment),
    Column("outcome", Json),
    Column("reason", Words),
    # How far an audit doubts the verdict: the most doubtful come first.
    Column("doubt", Float),
    CheckConstraint("kind IN ('disagreement', 'flag', 'audit')", name="kind"),
    CheckConstraint("state IN ('open', 'settled', 'dropped')", name="state"),
    _index("ix_cases_open", "project", "id", where="state = 'open'"),
    _index("ix_cases_item", "item"),
    _index("uq_cases_open", "item", "kind", where="state = 'open'", unique=True),
    _index("ix_cases_post", "post"),
)

agreements = Table(
    "agreements",
    metadata,
    Column("id", Words, primary_key=True),
    Column("phase", Words, ForeignKey("phases.id"), nullable=False),
    Column("at", Moment, nullable=False),
    Column("answers", Integer, nullable=False),
    Column("content", Json, nullable=False),
    _index("ix_agreements_phase", "phase", "id"),
)

# ---- care: kept apart from labels ------------------------------------------------------------

sittings = Table(
    "sittings",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project", Words, ForeignKey("projects.id"), nullable=False),
    Column("user_id", Words, ForeignKey("users.id"), nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("last_at", Moment, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("items", Integer, nullable=False),
    Column("hard", Integer, nullable=False),
    Column("ended_at", Moment),
    # What was done since the last rest; it goes over into a person's next sitting until they have rested.
    Column("unrested_seconds", Float, nullable=False),
    Column("unrested_hard", Integer, nullable=False),
    Column("postponed", Integer, nullable=False),
    Column("rest_until", Moment),
    Column("rest_reason", Words),
    _index("ix_sittings_user_id", "user_id", "started_at"),
    _index("ix_sittings_project", "project", "user_id"),
)

check_ins = Table(
    "check_ins",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project", Words, ForeignKey("projects.id"), nullable=False),
    Column("user_id", Words, ForeignKey("users.id"), nullable=False),
    Column("at", Moment, nullable=False),
    Column("mood", Integer),
    Column("words", Words),
    Column("wants_contact", Integer, nullable=False),
    # The ids of those who were named as wellbeing contacts when it was written: nobody else reads it, ever.
    Column("readers", Words, nullable=False),
    Column("seen_at", Moment),
    Column("seen_by", Words),
    _index("ix_check_ins_project", "project", "id"),
    _index("ix_check_ins_user_id", "user_id"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project", Words, ForeignKey("projects.id"), nullable=False),
    Column("kind", Words, nullable=False),
    Column("by", Words, nullable=False),
    Column("at", Moment, nullable=False),
    Column("post", Words, ForeignKey("posts.id")),
    Column("replies_to", Words),
    Column("text", Words, nullable=False),
    Column("guideline_version", Integer),
    Column("settled_at", Moment),
    CheckConstraint("kind IN ('announcement', 'question', 'answer', 'note')", name="kind"),
    _index("ix_messages_project", "project", "id"),
    _index("ix_messages_post", "post", where="post IS NOT NULL"),
)

responses = Table(
    "responses",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project", Words, ForeignKey("projects.id"), nullable=False),
    Column("user_id", Words, ForeignKey("users.id"), nullable=False),
    Column("kind", Words, nullable=False),
    Column("at", Moment, nullable=False),
    Column("content", Json, nullable=False),
    CheckConstraint("kind IN ('survey', 'about me')", name="kind"),
    UniqueConstraint("project", "user_id", "kind", name="uq_responses_kind"),
    _index("ix_responses_user_id", "user_id"),
)

# ---- open coding: how a scheme grows ------------------------------------------------------------

codes = Table(
    "codes",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project", Words, ForeignKey("projects.id"), nullable=False),
    Column("name", Words, nullable=False),
    Column("description", Words, nullable=False),
    Column("parent", Words),
    Column("made_at", Moment, nullable=False),
    Column("made_by", Words, nullable=False),
    Column("merged_into", Words),
    _index("ix_codes_project", "project", "id"),
)

coded = Table(
    "coded",
    metadata,
    Column("code", Words, ForeignKey("codes.id"), primary_key=True),
    Column("post", Words, ForeignKey("posts.id"), primary_key=True),
    Column("by", Words, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("note", Words),
    _index("ix_coded_post", "post"),
)
