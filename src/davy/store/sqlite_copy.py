"""Copy a SQLite database as it is at one moment, while others go on writing to it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from davy.core.errors import UserError
from davy.files.atomic import atomic_path


def copy_file(source: Path, target: Path) -> None:
    """Write a whole, checked copy of `source` to `target`, which appears only when it is complete."""
    try:
        with (
            atomic_path(target, mode=0o600) as part,
            closing(sqlite3.connect(source, timeout=30)) as old,
            closing(sqlite3.connect(part)) as new,
        ):
            old.backup(new)
            new.execute("PRAGMA journal_mode = DELETE")
            if new.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise UserError(f"{source} is damaged, so it was not copied. Restore a backup: davy database restore")
    except sqlite3.DatabaseError as error:
        raise UserError(f"{source} could not be copied to {target}: {error}. Nothing was changed.") from None
    except OSError as error:
        raise UserError(
            f"{target} can't be written: {error.strerror}. Free some space or name another place."
        ) from None
