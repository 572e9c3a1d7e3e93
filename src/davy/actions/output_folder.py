"""The folder that an action writes into, checked before the work begins so that no pass is wasted on it."""

from __future__ import annotations

import os
from pathlib import Path

from davy.core.errors import UserError


def check_folder(out: Path | None) -> None:
    """Raise where nothing could be written in the folder; None is no folder and fine."""
    if out is None:
        return
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file. Give a folder to write into.")
    nearest = next(parent for parent in (out, *out.absolute().parents) if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UserError(f"Can't write in {nearest}. Give another folder for --out.")


def make_folder(out: Path) -> None:
    """Make the folder and those above it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Can't make the folder {out}: {error.strerror}. Give another --out.") from None
