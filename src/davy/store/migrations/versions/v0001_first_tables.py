"""The first tables.

A migration is a record of what was done: it names plain types and never
imports tables.py, so that it makes the same tables when those have moved on.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_MOMENT = sa.DateTime(timezone=True)
_JSON = sa.Text()
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the first tables."""
    _people()
    _posts()
    _answers()
    _jobs()


def _people() -> None:
    """Accounts and the record of what they did."""
    op.create_table(
        "users",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("login", _WORDS, nullable=False),
        sa.Column("name", _WORDS, nullable=False),
        sa.Column("role", _WORDS, nullable=False),
        sa.Column("language", _WORDS, nullable=False),
        sa.Column("password_hash", _WORDS),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("disabled_at", _MOMENT),
        sa.CheckConstraint("role IN ('admin', 'expert', 'annotator')", name=op.f("ck_users_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("login", name=op.f("uq_users_login")),
    )
    op.create_table(
        "invitations",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("token_hash", _WORDS, nullable=False),
        sa.Column("login", _WORDS),
        sa.Column("name", _WORDS),
        sa.Column("role", _WORDS, nullable=False),
        sa.Column("invited_by", _WORDS),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("revoked_at", _MOMENT),
        sa.Column("used_at", _MOMENT),
        sa.Column("used_by", _WORDS),
        sa.CheckConstraint("role IN ('admin', 'expert', 'annotator')", name=op.f("ck_invitations_role")),
        sa.ForeignKeyConstraint(["used_by"], ["users.id"], name=op.f("fk_invitations_used_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitations_token_hash")),
    )
    op.create_index("ix_invitations_used_by", "invitations", ["used_by"])
    op.create_table(
        "sessions",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("token_hash", _WORDS, nullable=False),
        sa.Column("user_id", _WORDS, nullable=False),
        sa.Column("client", _WORDS),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("seen_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("ended_at", _MOMENT),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sessions_token_hash")),
    )
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_table(
        "api_keys",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("secret_hash", _WORDS, nullable=False),
        sa.Column("prefix", _WORDS, nullable=False),
        sa.Column("name", _WORDS, nullable=False),
        sa.Column("owner", _WORDS, nullable=False),
        sa.Column("scopes", _WORDS, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT),
        sa.Column("revoked_at", _MOMENT),
        sa.Column("used_at", _MOMENT),
        sa.ForeignKeyConstraint(["owner"], ["users.id"], name=op.f("fk_api_keys_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_api_keys_secret_hash")),
    )
    op.create_index("ix_api_keys_owner", "api_keys", ["owner"])
    op.create_table(
        "events",
        sa.Column("id", _SERIAL, autoincrement=True, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("by", _WORDS, nullable=False),
        sa.Column("what", _WORDS, nullable=False),
        sa.Column("about", _WORDS, nullable=False),
        sa.Column("details", _JSON),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_about", "events", ["about", "id"])
    op.create_index("ix_events_by", "events", ["by", "id"])


def _posts() -> None:
    """What is looked at, and by which questions."""
    op.create_table(
        "posts",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("text", _WORDS),
        sa.Column("lang", _WORDS),
        sa.Column("image", _WORDS),
        sa.Column("source", _WORDS),
        sa.Column("licence", _WORDS),
        sa.Column("collected_at", _WORDS),
        sa.Column("found", _WORDS),
        sa.Column("parent", _WORDS),
        sa.Column("meta", _WORDS),
        sa.Column("added_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_posts")),
    )
    op.create_index(
        "ix_posts_parent",
        "posts",
        ["parent"],
        sqlite_where=sa.text("parent IS NOT NULL"),
        postgresql_where=sa.text("parent IS NOT NULL"),
    )
    op.create_index("ix_posts_source", "posts", ["source", "id"])
    op.create_table(
        "schemes",
        sa.Column("name", _WORDS, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("yaml", _WORDS, nullable=False),
        sa.Column("digest", _WORDS, nullable=False),
        sa.Column("added_at", _MOMENT, nullable=False),
        sa.Column("added_by", _WORDS, nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name=op.f("pk_schemes")),
    )
    op.create_table(
        "guidelines",
        sa.Column("scheme", _WORDS, nullable=False),
        sa.Column("scheme_version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", _JSON, nullable=False),
        sa.Column("digest", _WORDS, nullable=False),
        sa.Column("changes", _WORDS, nullable=False),
        sa.Column("added_at", _MOMENT, nullable=False),
        sa.Column("added_by", _WORDS, nullable=False),
        sa.ForeignKeyConstraint(
            ["scheme", "scheme_version"], ["schemes.name", "schemes.version"], name=op.f("fk_guidelines_scheme")
        ),
        sa.PrimaryKeyConstraint("scheme", "scheme_version", "version", name=op.f("pk_guidelines")),
    )


def _answers() -> None:
    """What people said, and what was settled."""
    op.create_table(
        "annotations",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("post", _WORDS, nullable=False),
        sa.Column("annotator", _WORDS, nullable=False),
        sa.Column("scheme", _WORDS, nullable=False),
        sa.Column("scheme_version", sa.Integer(), nullable=False),
        sa.Column("guideline_version", sa.Integer(), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("seconds", sa.Float()),
        sa.Column("flags", _WORDS, nullable=False),
        sa.Column("comment", _WORDS),
        sa.Column("replaces", _WORDS),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_annotations_post")),
        sa.ForeignKeyConstraint(
            ["replaces"],
            ["annotations.id"],
            name=op.f("fk_annotations_replaces"),
            initially="IMMEDIATE",
            deferrable=True,
        ),
        sa.ForeignKeyConstraint(
            ["scheme", "scheme_version"], ["schemes.name", "schemes.version"], name=op.f("fk_annotations_scheme")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotations")),
        sa.UniqueConstraint("replaces", name=op.f("uq_annotations_replaces")),
    )
    op.create_index("ix_annotations_annotator", "annotations", ["annotator", "id"])
    op.create_index("ix_annotations_post", "annotations", ["post", "id"])
    op.create_index("ix_annotations_scheme", "annotations", ["scheme", "scheme_version", "id"])
    op.create_table(
        "answers",
        sa.Column("annotation", _WORDS, nullable=False),
        sa.Column("question", _WORDS, nullable=False),
        sa.Column("label", _WORDS, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["annotation"], ["annotations.id"], name=op.f("fk_answers_annotation")),
        sa.PrimaryKeyConstraint("annotation", "question", "label", name=op.f("pk_answers")),
    )
    op.create_table(
        "verdicts",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("post", _WORDS, nullable=False),
        sa.Column("scheme", _WORDS, nullable=False),
        sa.Column("scheme_version", sa.Integer(), nullable=False),
        sa.Column("question", _WORDS, nullable=False),
        sa.Column("labels", _JSON, nullable=False),
        sa.Column("basis", _WORDS, nullable=False),
        sa.Column("reason", _WORDS),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("by", _WORDS, nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_verdicts_post")),
        sa.ForeignKeyConstraint(
            ["scheme", "scheme_version"], ["schemes.name", "schemes.version"], name=op.f("fk_verdicts_scheme")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verdicts")),
        sa.UniqueConstraint("scheme", "scheme_version", "question", "post", "turn", name="uq_verdicts_turn"),
    )
    op.create_index("ix_verdicts_post", "verdicts", ["post", "id"])
    op.create_table(
        "verdict_annotations",
        sa.Column("verdict", _WORDS, nullable=False),
        sa.Column("annotation", _WORDS, nullable=False),
        sa.ForeignKeyConstraint(["annotation"], ["annotations.id"], name=op.f("fk_verdict_annotations_annotation")),
        sa.ForeignKeyConstraint(["verdict"], ["verdicts.id"], name=op.f("fk_verdict_annotations_verdict")),
        sa.PrimaryKeyConstraint("verdict", "annotation", name=op.f("pk_verdict_annotations")),
    )
    op.create_index("ix_verdict_annotations_annotation", "verdict_annotations", ["annotation"])


def _jobs() -> None:
    """Work in the background."""
    op.create_table(
        "jobs",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("kind", _WORDS, nullable=False),
        sa.Column("arguments", _JSON, nullable=False),
        sa.Column("owner", _WORDS, nullable=False),
        sa.Column("key", _WORDS),
        sa.Column("state", _WORDS, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("run_after", _MOMENT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("lease", _WORDS),
        sa.Column("leased_by", _WORDS),
        sa.Column("leased_until", _MOMENT),
        sa.Column("started_at", _MOMENT),
        sa.Column("finished_at", _MOMENT),
        sa.Column("cancel_asked_at", _MOMENT),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger()),
        sa.Column("note", _WORDS),
        sa.Column("checkpoint", _JSON),
        sa.Column("result", _JSON),
        sa.Column("error", _WORDS),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_jobs_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("key", name=op.f("uq_jobs_key")),
    )
    op.create_index("ix_jobs_owner", "jobs", ["owner", "id"])
    op.create_index(
        "ix_jobs_running",
        "jobs",
        ["leased_until"],
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "ix_jobs_waiting",
        "jobs",
        ["run_after", "id"],
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "job_log",
        sa.Column("id", _SERIAL, autoincrement=True, nullable=False),
        sa.Column("job", _WORDS, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("line", _WORDS, nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_job_log_job")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_log")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_log_job", "job_log", ["job", "id"])
