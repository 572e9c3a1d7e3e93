"""Kinds of phase are a table in the code (`core.phase_kind`), so the database takes whatever that table has."""

from alembic import op

revision = "0004"
down_revision = "0003"

_NAME = "ck_phases_kind"
_CHECK = "kind IN ('training', 'discussion', 'calibration', 'screening', 'production', 'expert')"


def upgrade() -> None:
    """Drop the CHECK on `phases.kind`."""
    db = op.get_bind()
    if db.dialect.name != "sqlite":
        op.drop_constraint(_NAME, "phases")
        return
    # SQLite can't drop a constraint, and rebuilding a table that others point at would need foreign keys off, which no
    # transaction allows. A CHECK is only text in the schema: SQLite's manual removes it by this update.
    version = db.exec_driver_sql("PRAGMA schema_version").scalar_one()
    db.exec_driver_sql("PRAGMA writable_schema = ON")
    db.exec_driver_sql(
        "UPDATE sqlite_schema SET sql = replace(sql, ?, '') WHERE type = 'table' AND name = 'phases'",
        (f"CONSTRAINT {_NAME} CHECK ({_CHECK}), ",),
    )
    db.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    db.exec_driver_sql("PRAGMA writable_schema = RESET")
