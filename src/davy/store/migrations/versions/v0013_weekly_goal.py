"""Rounds: how many entries each person writes in seven days."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column."""
    op.add_column("rounds", sa.Column("goal_week", sa.Integer()))
