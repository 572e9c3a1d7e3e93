"""All tables: every module that declares some is named here, so that none is missing where all are made or walked."""

from davy.store import (  # noqa: F401 — imported for the tables that they declare; a test counts these
    challenge_tables,
    communities,
    decisions,
    image_library,
    key_usage,
    meme_steps,
    picture_locks,
    retention,
    round_tables,
    shadows,
    suggestions,
    tables,
)
from davy.store.table_base import metadata as metadata
