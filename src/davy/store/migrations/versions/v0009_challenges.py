"""Challenges: tasks, phases, posts with hidden labels, teams, submissions and boards."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "challenges",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("title", _TEXT, nullable=False),
        sa.Column("visibility", _TEXT, nullable=False),
        sa.Column("tasks", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("created_by", _TEXT, nullable=False),
        sa.CheckConstraint("visibility IN ('world', 'accounts', 'people')", name=op.f("ck_challenges_visibility")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenges")),
    )
    op.create_table(
        "challenge_phases",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("challenge", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("data", _TEXT, nullable=False),
        sa.Column("windows", sa.Text(), nullable=False),
        sa.Column("limit", sa.Integer(), nullable=False),
        sa.Column("per_day", sa.Integer()),
        sa.Column("board", _TEXT, nullable=False),
        sa.Column("counts", _TEXT, nullable=False),
        sa.Column("survey", sa.Integer(), nullable=False),
        sa.Column("staggered", sa.Integer(), nullable=False),
        sa.Column("embargo", _TIME),
        sa.Column("frozen_at", _TIME),
        sa.CheckConstraint("board IN ('public', 'teams', 'organisers')", name=op.f("ck_challenge_phases_board")),
        sa.CheckConstraint("counts IN ('last', 'best')", name=op.f("ck_challenge_phases_counts")),
        sa.ForeignKeyConstraint(["challenge"], ["challenges.id"], name=op.f("fk_challenge_phases_challenge")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenge_phases")),
        sa.UniqueConstraint("challenge", "name", name="uq_challenge_phases_name"),
    )
    op.create_table(
        "challenge_data",
        sa.Column("challenge", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("labels_public", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("data_hash", _TEXT, nullable=False),
        sa.Column("added_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["challenge"], ["challenges.id"], name=op.f("fk_challenge_data_challenge")),
        sa.PrimaryKeyConstraint("challenge", "name", name=op.f("pk_challenge_data")),
    )
    op.create_table(
        "challenge_entries",
        sa.Column("challenge", _TEXT, nullable=False),
        sa.Column("data", _TEXT, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entry", _TEXT, nullable=False),
        sa.Column("text", _TEXT, nullable=False),
        sa.Column("labels", sa.Text()),
        sa.ForeignKeyConstraint(["challenge"], ["challenges.id"], name=op.f("fk_challenge_entries_challenge")),
        sa.PrimaryKeyConstraint("challenge", "data", "position", name=op.f("pk_challenge_entries")),
    )
    op.create_index("ix_challenge_entries_entry", "challenge_entries", ["entry"])
    op.create_table(
        "challenge_teams",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("challenge", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("name_key", _TEXT, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("captain", _TEXT),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("withdrawn_at", _TIME),
        sa.CheckConstraint("kind IN ('team', 'baseline', 'human')", name=op.f("ck_challenge_teams_kind")),
        sa.ForeignKeyConstraint(["captain"], ["users.id"], name=op.f("fk_challenge_teams_captain")),
        sa.ForeignKeyConstraint(["challenge"], ["challenges.id"], name=op.f("fk_challenge_teams_challenge")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenge_teams")),
        sa.UniqueConstraint("challenge", "name_key", name="uq_challenge_teams_name"),
    )
    op.create_index("ix_challenge_teams_captain", "challenge_teams", ["captain"])
    op.create_table(
        "challenge_people",
        sa.Column("challenge", _TEXT, nullable=False),
        sa.Column("user_id", _TEXT, nullable=False),
        sa.Column("organiser", sa.Integer(), nullable=False),
        sa.Column("team", _TEXT),
        sa.Column("added_at", _TIME, nullable=False),
        sa.Column("accepted_at", _TIME),
        sa.ForeignKeyConstraint(["challenge"], ["challenges.id"], name=op.f("fk_challenge_people_challenge")),
        sa.ForeignKeyConstraint(["team"], ["challenge_teams.id"], name=op.f("fk_challenge_people_team")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_challenge_people_user_id")),
        sa.PrimaryKeyConstraint("challenge", "user_id", name=op.f("pk_challenge_people")),
    )
    op.create_index("ix_challenge_people_team", "challenge_people", ["team"])
    op.create_index("ix_challenge_people_user_id", "challenge_people", ["user_id"])
    op.create_table(
        "team_invitations",
        sa.Column("team", _TEXT, nullable=False),
        sa.Column("login", _TEXT, nullable=False),
        sa.Column("invited_by", _TEXT, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["team"], ["challenge_teams.id"], name=op.f("fk_team_invitations_team")),
        sa.PrimaryKeyConstraint("team", "login", name=op.f("pk_team_invitations")),
    )
    op.create_index("ix_team_invitations_login", "team_invitations", ["login"])
    op.create_table(
        "submissions",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("phase", _TEXT, nullable=False),
        sa.Column("task", _TEXT, nullable=False),
        sa.Column("team", _TEXT, nullable=False),
        sa.Column("by", _TEXT),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("file", _TEXT, nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("digest", _TEXT, nullable=False),
        sa.Column("address", _TEXT),
        sa.Column("predictions", sa.Text(), nullable=False),
        sa.Column("job", _TEXT),
        sa.Column("scored_at", _TIME),
        sa.Column("figure", sa.Text()),
        sa.Column("survey", sa.Text()),
        sa.Column("note", _TEXT),
        sa.ForeignKeyConstraint(["phase"], ["challenge_phases.id"], name=op.f("fk_submissions_phase")),
        sa.ForeignKeyConstraint(["team"], ["challenge_teams.id"], name=op.f("fk_submissions_team")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
    )
    op.create_index("ix_submissions_by", "submissions", ["by"])
    op.create_index("ix_submissions_phase", "submissions", ["phase", "task", "id"])
    op.create_index("ix_submissions_team", "submissions", ["team", "id"])
    op.create_table(
        "challenge_boards",
        sa.Column("phase", _TEXT, nullable=False),
        sa.Column("task", _TEXT, nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("basis", _TEXT, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["phase"], ["challenge_phases.id"], name=op.f("fk_challenge_boards_phase")),
        sa.PrimaryKeyConstraint("phase", "task", name=op.f("pk_challenge_boards")),
    )
