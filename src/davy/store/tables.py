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
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    _index("ix_annotations_post", "post", "id"),
    _index("ix_annotations_annotator", "annotator", "id"),
    _index("ix_annotations_scheme", "scheme", "scheme_version", "id"),
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
    UniqueConstraint("scheme", "scheme_version", "question", "post", "turn", name="uq_verdicts_turn"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    _index("ix_verdicts_post", "post", "id"),
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
