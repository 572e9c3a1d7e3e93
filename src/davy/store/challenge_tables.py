"""Tables of challenges: tasks and phases, posts with their labels, people and teams, submissions, boards.

Hidden labels lie in `challenge_entries.labels` and nowhere else; a board holds figures only.
"""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Integer, Table, UniqueConstraint

from davy.store.columns import JsonColumn, TextColumn, TimeColumn
from davy.store.table_base import metadata, table_index

challenges = Table(
    "challenges",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("title", TextColumn, nullable=False),
    Column("visibility", TextColumn, nullable=False),
    Column("tasks", JsonColumn, nullable=False),
    Column("settings", JsonColumn, nullable=False),
    Column("created_at", TimeColumn, nullable=False),
    Column("created_by", TextColumn, nullable=False),
    CheckConstraint("visibility IN ('world', 'accounts', 'people')", name="visibility"),
)

challenge_phases = Table(
    "challenge_phases",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("challenge", TextColumn, ForeignKey("challenges.id"), nullable=False),
    Column("name", TextColumn, nullable=False),
    Column("position", Integer, nullable=False),
    Column("data", TextColumn, nullable=False),
    # Task to its first and last moment, in ISO 8601 with a zone.
    Column("windows", JsonColumn, nullable=False),
    Column("limit", Integer, nullable=False),
    Column("per_day", Integer),
    Column("board", TextColumn, nullable=False),
    Column("counts", TextColumn, nullable=False),
    Column("survey", Integer, nullable=False),
    Column("staggered", Integer, nullable=False),
    Column("embargo", TimeColumn),
    Column("frozen_at", TimeColumn),
    UniqueConstraint("challenge", "name", name="uq_challenge_phases_name"),
    CheckConstraint("board IN ('public', 'teams', 'organisers')", name="board"),
    CheckConstraint("counts IN ('last', 'best')", name="counts"),
)

challenge_data = Table(
    "challenge_data",
    metadata,
    Column("challenge", TextColumn, ForeignKey("challenges.id"), primary_key=True),
    Column("name", TextColumn, primary_key=True),
    # 1: teams download the labels. 0: they never leave the server.
    Column("labels_public", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("data_hash", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
)

challenge_entries = Table(
    "challenge_entries",
    metadata,
    Column("challenge", TextColumn, ForeignKey("challenges.id"), primary_key=True),
    Column("data", TextColumn, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("entry", TextColumn, nullable=False),
    Column("text", TextColumn, nullable=False),
    Column("labels", JsonColumn),
    table_index("ix_challenge_entries_entry", "entry"),
)

challenge_teams = Table(
    "challenge_teams",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("challenge", TextColumn, ForeignKey("challenges.id"), nullable=False),
    Column("name", TextColumn, nullable=False),
    # What the name looks like: two teams whose names could be taken for each other have the same.
    Column("name_key", TextColumn, nullable=False),
    Column("kind", TextColumn, nullable=False),
    Column("captain", TextColumn, ForeignKey("users.id")),
    Column("created_at", TimeColumn, nullable=False),
    Column("withdrawn_at", TimeColumn),
    UniqueConstraint("challenge", "name_key", name="uq_challenge_teams_name"),
    CheckConstraint("kind IN ('team', 'baseline', 'human')", name="kind"),
    table_index("ix_challenge_teams_captain", "captain"),
)

challenge_people = Table(
    "challenge_people",
    metadata,
    Column("challenge", TextColumn, ForeignKey("challenges.id"), primary_key=True),
    Column("user_id", TextColumn, ForeignKey("users.id"), primary_key=True),
    Column("organiser", Integer, nullable=False),
    Column("team", TextColumn, ForeignKey("challenge_teams.id")),
    Column("added_at", TimeColumn, nullable=False),
    Column("accepted_at", TimeColumn),
    table_index("ix_challenge_people_user_id", "user_id"),
    table_index("ix_challenge_people_team", "team"),
)

team_invitations = Table(
    "team_invitations",
    metadata,
    Column("team", TextColumn, ForeignKey("challenge_teams.id"), primary_key=True),
    # Kept as it was typed: whether there is such an account is nobody's business but its owner's.
    Column("login", TextColumn, primary_key=True),
    Column("invited_by", TextColumn, nullable=False),
    Column("at", TimeColumn, nullable=False),
    table_index("ix_team_invitations_login", "login"),
)

submissions = Table(
    "submissions",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("phase", TextColumn, ForeignKey("challenge_phases.id"), nullable=False),
    Column("task", TextColumn, nullable=False),
    Column("team", TextColumn, ForeignKey("challenge_teams.id"), nullable=False),
    Column("by", TextColumn),
    Column("at", TimeColumn, nullable=False),
    Column("file", TextColumn, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("digest", TextColumn, nullable=False),
    # HMAC of the address that it came from, under the server's secret.
    Column("address", TextColumn),
    # Places of the labels, or scores, in the order of the task's entries.
    Column("predictions", JsonColumn, nullable=False),
    Column("job", TextColumn),
    Column("scored_at", TimeColumn),
    Column("figure", JsonColumn),
    Column("survey", JsonColumn),
    Column("note", TextColumn),
    table_index("ix_submissions_phase", "phase", "task", "id"),
    table_index("ix_submissions_team", "team", "id"),
    table_index("ix_submissions_by", "by"),
)

challenge_boards = Table(
    "challenge_boards",
    metadata,
    Column("phase", TextColumn, ForeignKey("challenge_phases.id"), primary_key=True),
    Column("task", TextColumn, primary_key=True),
    Column("made_at", TimeColumn, nullable=False),
    # Hash of the submissions that it ranks: another hash says that it is out of date.
    Column("basis", TextColumn, nullable=False),
    Column("content", JsonColumn, nullable=False),
)
