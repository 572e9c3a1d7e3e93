"""Accounts: how a person likes to work, kept in every project and browser."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column."""
    op.add_column("users", sa.Column("choices", sa.Text()))
