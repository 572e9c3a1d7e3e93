"""Projects: phases, items and assignments; expert cases; care; open coding."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_MOMENT = sa.DateTime(timezone=True)
_JSON = sa.Text()


def upgrade() -> None:
    """Make the tables of the workbench, and let answers know their project."""
    _projects()
    _work()
    _care()
    _coding()
    _older_tables()


def _projects() -> None:
    """Projects, who is in them, and their phases."""
    op.create_table(
        "projects",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("title", _WORDS, nullable=False),
        sa.Column("scheme", _WORDS, nullable=False),
        sa.Column("scheme_version", sa.Integer(), nullable=False),
        sa.Column("settings", _JSON, nullable=False),
        sa.Column("state", _WORDS, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("created_by", _WORDS, nullable=False),
        sa.Column("closed_at", _MOMENT),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_projects_state")),
        sa.ForeignKeyConstraint(
            ["scheme", "scheme_version"], ["schemes.name", "schemes.version"], name=op.f("fk_projects_scheme")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
    )
    op.create_table(
        "members",
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("user_id", _WORDS, nullable=False),
        sa.Column("roles", _WORDS, nullable=False),
        sa.Column("pool", _WORDS),
        sa.Column("pseudonym", _WORDS, nullable=False),
        sa.Column("choices", _JSON, nullable=False),
        sa.Column("added_at", _MOMENT, nullable=False),
        sa.Column("added_by", _WORDS, nullable=False),
        sa.Column("consented_at", _MOMENT),
        sa.Column("read_until", _MOMENT),
        sa.Column("left_at", _MOMENT),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_members_project")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_members_user_id")),
        sa.PrimaryKeyConstraint("project", "user_id", name=op.f("pk_members")),
        sa.UniqueConstraint("project", "pseudonym", name="uq_members_pseudonym"),
    )
    op.create_index("ix_members_user_id", "members", ["user_id"])
    op.create_table(
        "phases",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("name", _WORDS, nullable=False),
        sa.Column("kind", _WORDS, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Integer()),
        sa.Column("in_corpus", sa.Integer(), nullable=False),
        sa.Column("settings", _JSON, nullable=False),
        sa.Column("state", _WORDS, nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("opened_at", _MOMENT),
        sa.Column("closed_at", _MOMENT),
        sa.CheckConstraint(
            "kind IN ('training', 'discussion', 'calibration', 'screening', 'production', 'expert')",
            name=op.f("ck_phases_kind"),
        ),
        sa.CheckConstraint("state IN ('waiting', 'open', 'closed')", name=op.f("ck_phases_state")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_phases_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phases")),
        sa.UniqueConstraint("project", "name", name="uq_phases_name"),
    )


def _work() -> None:
    """What is to be answered, by whom, and what came of it."""
    op.create_table(
        "items",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("phase", _WORDS, nullable=False),
        sa.Column("post", _WORDS, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("batch", _WORDS),
        sa.Column("gold", _JSON),
        sa.Column("given", sa.Integer(), nullable=False),
        sa.Column("room", sa.Integer(), nullable=False),
        sa.Column("state", _WORDS, nullable=False),
        sa.CheckConstraint("state IN ('open', 'full', 'settled', 'dropped')", name=op.f("ck_items_state")),
        sa.ForeignKeyConstraint(["phase"], ["phases.id"], name=op.f("fk_items_phase")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_items_post")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
        sa.UniqueConstraint("phase", "post", name="uq_items_post"),
    )
    op.create_index("ix_items_place", "items", ["phase", "position"])
    op.create_index("ix_items_post", "items", ["post"])
    op.create_index(
        "ix_items_room",
        "items",
        ["phase", "position"],
        sqlite_where=sa.text("room > 0"),
        postgresql_where=sa.text("room > 0"),
    )
    op.create_table(
        "assignments",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("item", _WORDS, nullable=False),
        sa.Column("phase", _WORDS, nullable=False),
        sa.Column("annotator", _WORDS, nullable=False),
        sa.Column("state", _WORDS, nullable=False),
        sa.Column("taken_at", _MOMENT, nullable=False),
        sa.Column("leased_until", _MOMENT),
        sa.Column("done_at", _MOMENT),
        sa.Column("annotation", _WORDS),
        sa.CheckConstraint(
            "state IN ('held', 'done', 'refused', 'skipped', 'lapsed', 'again')", name=op.f("ck_assignments_state")
        ),
        sa.ForeignKeyConstraint(["annotation"], ["annotations.id"], name=op.f("fk_assignments_annotation")),
        sa.ForeignKeyConstraint(["item"], ["items.id"], name=op.f("fk_assignments_item")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("item", "annotator", name="uq_assignments_item"),
    )
    op.create_index(
        "ix_assignments_annotation",
        "assignments",
        ["annotation"],
        sqlite_where=sa.text("annotation IS NOT NULL"),
        postgresql_where=sa.text("annotation IS NOT NULL"),
    )
    op.create_index("ix_assignments_annotator", "assignments", ["annotator", "phase", "done_at"])
    op.create_index(
        "ix_assignments_held",
        "assignments",
        ["leased_until"],
        sqlite_where=sa.text("state = 'held'"),
        postgresql_where=sa.text("state = 'held'"),
    )
    op.create_index(
        "ix_assignments_mine",
        "assignments",
        ["annotator", "phase"],
        sqlite_where=sa.text("state IN ('held', 'again')"),
        postgresql_where=sa.text("state IN ('held', 'again')"),
    )
    op.create_table(
        "tallies",
        sa.Column("phase", _WORDS, nullable=False),
        sa.Column("annotator", _WORDS, nullable=False),
        sa.Column("given", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("filled", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("last_at", _MOMENT),
        sa.ForeignKeyConstraint(["phase"], ["phases.id"], name=op.f("fk_tallies_phase")),
        sa.PrimaryKeyConstraint("phase", "annotator", name=op.f("pk_tallies")),
    )
    op.create_table(
        "cases",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("item", _WORDS, nullable=False),
        sa.Column("post", _WORDS, nullable=False),
        sa.Column("kind", _WORDS, nullable=False),
        sa.Column("questions", _WORDS, nullable=False),
        sa.Column("why", _WORDS, nullable=False),
        sa.Column("state", _WORDS, nullable=False),
        sa.Column("opened_at", _MOMENT, nullable=False),
        sa.Column("held_by", _WORDS),
        sa.Column("leased_until", _MOMENT),
        sa.Column("settled_by", _WORDS),
        sa.Column("settled_at", _MOMENT),
        sa.Column("outcome", _JSON),
        sa.Column("reason", _WORDS),
        sa.Column("doubt", sa.Float()),
        sa.CheckConstraint("kind IN ('disagreement', 'flag', 'audit')", name=op.f("ck_cases_kind")),
        sa.CheckConstraint("state IN ('open', 'settled', 'dropped')", name=op.f("ck_cases_state")),
        sa.ForeignKeyConstraint(["item"], ["items.id"], name=op.f("fk_cases_item")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_cases_post")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_cases_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
    )
    op.create_index("ix_cases_item", "cases", ["item"])
    op.create_index(
        "uq_cases_open",
        "cases",
        ["item", "kind"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index(
        "ix_cases_open",
        "cases",
        ["project", "id"],
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index("ix_cases_post", "cases", ["post"])
    op.create_table(
        "agreements",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("phase", _WORDS, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("content", _JSON, nullable=False),
        sa.ForeignKeyConstraint(["phase"], ["phases.id"], name=op.f("fk_agreements_phase")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreements")),
    )
    op.create_index("ix_agreements_phase", "agreements", ["phase", "id"])


def _care() -> None:
    """Hours, check-ins, the team's channel, surveys."""
    op.create_table(
        "sittings",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("user_id", _WORDS, nullable=False),
        sa.Column("started_at", _MOMENT, nullable=False),
        sa.Column("last_at", _MOMENT, nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("hard", sa.Integer(), nullable=False),
        sa.Column("ended_at", _MOMENT),
        sa.Column("unrested_seconds", sa.Float(), nullable=False),
        sa.Column("unrested_hard", sa.Integer(), nullable=False),
        sa.Column("postponed", sa.Integer(), nullable=False),
        sa.Column("rest_until", _MOMENT),
        sa.Column("rest_reason", _WORDS),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_sittings_project")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sittings_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sittings")),
    )
    op.create_index("ix_sittings_user_id", "sittings", ["user_id", "started_at"])
    op.create_index("ix_sittings_project", "sittings", ["project", "user_id"])
    op.create_table(
        "check_ins",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("user_id", _WORDS, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("mood", sa.Integer()),
        sa.Column("words", _WORDS),
        sa.Column("wants_contact", sa.Integer(), nullable=False),
        sa.Column("readers", _WORDS, nullable=False),
        sa.Column("seen_at", _MOMENT),
        sa.Column("seen_by", _WORDS),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_check_ins_project")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_check_ins_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_check_ins")),
    )
    op.create_index("ix_check_ins_project", "check_ins", ["project", "id"])
    op.create_index("ix_check_ins_user_id", "check_ins", ["user_id"])
    op.create_table(
        "messages",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("kind", _WORDS, nullable=False),
        sa.Column("by", _WORDS, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("post", _WORDS),
        sa.Column("replies_to", _WORDS),
        sa.Column("text", _WORDS, nullable=False),
        sa.Column("guideline_version", sa.Integer()),
        sa.Column("settled_at", _MOMENT),
        sa.CheckConstraint("kind IN ('announcement', 'question', 'answer', 'note')", name=op.f("ck_messages_kind")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_messages_post")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_messages_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
    )
    op.create_index(
        "ix_messages_post",
        "messages",
        ["post"],
        sqlite_where=sa.text("post IS NOT NULL"),
        postgresql_where=sa.text("post IS NOT NULL"),
    )
    op.create_index("ix_messages_project", "messages", ["project", "id"])
    op.create_table(
        "responses",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("user_id", _WORDS, nullable=False),
        sa.Column("kind", _WORDS, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("content", _JSON, nullable=False),
        sa.CheckConstraint("kind IN ('survey', 'about me')", name=op.f("ck_responses_kind")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_responses_project")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_responses_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_responses")),
        sa.UniqueConstraint("project", "user_id", "kind", name="uq_responses_kind"),
    )
    op.create_index("ix_responses_user_id", "responses", ["user_id"])


def _coding() -> None:
    """Posts grouped under notes until a scheme has grown."""
    op.create_table(
        "codes",
        sa.Column("id", _WORDS, nullable=False),
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("name", _WORDS, nullable=False),
        sa.Column("description", _WORDS, nullable=False),
        sa.Column("parent", _WORDS),
        sa.Column("made_at", _MOMENT, nullable=False),
        sa.Column("made_by", _WORDS, nullable=False),
        sa.Column("merged_into", _WORDS),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_codes_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_codes")),
    )
    op.create_index("ix_codes_project", "codes", ["project", "id"])
    op.create_table(
        "coded",
        sa.Column("code", _WORDS, nullable=False),
        sa.Column("post", _WORDS, nullable=False),
        sa.Column("by", _WORDS, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("note", _WORDS),
        sa.ForeignKeyConstraint(["code"], ["codes.id"], name=op.f("fk_coded_code")),
        sa.ForeignKeyConstraint(["post"], ["posts.id"], name=op.f("fk_coded_post")),
        sa.PrimaryKeyConstraint("code", "post", "by", name=op.f("pk_coded")),
    )
    op.create_index("ix_coded_post", "coded", ["post"])


def _older_tables() -> None:
    """Answers, verdicts and invitations know their project."""
    op.add_column("annotations", sa.Column("project", _WORDS))
    op.add_column("annotations", sa.Column("phase", _WORDS))
    op.create_index(
        "ix_annotations_phase",
        "annotations",
        ["phase", "id"],
        sqlite_where=sa.text("phase IS NOT NULL"),
        postgresql_where=sa.text("phase IS NOT NULL"),
    )
    op.add_column("invitations", sa.Column("project", _WORDS))
    op.add_column("invitations", sa.Column("project_roles", _WORDS))
    op.add_column("invitations", sa.Column("pool", _WORDS))
    op.add_column("verdicts", sa.Column("project", _WORDS))
    op.create_index(
        "ix_verdicts_project",
        "verdicts",
        ["project", "question", "id"],
        sqlite_where=sa.text("project IS NOT NULL"),
        postgresql_where=sa.text("project IS NOT NULL"),
    )
