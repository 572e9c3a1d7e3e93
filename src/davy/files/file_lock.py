"""A lock on an open file that ends with the process, on every system.

POSIX systems lock the whole file with `flock`, Windows its first byte with `msvcrt`.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from davy.core.errors import UserError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def take_lock(file: IO[Any], out: Path) -> None:
    """Hold an open file until it is closed; raise, and close it, if another process holds it.

    `out` names in the error what the other process writes.
    """
    try:
        _lock(file)
    except OSError:
        file.close()
        raise UserError(f"Another davy is writing {out}. Wait for it, or name another output.") from None


def _lock(file: IO[Any]) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt

    file.seek(0)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
