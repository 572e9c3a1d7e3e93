"""Where the server keeps files that people asked for or sent: one folder a job, readable by its owner only.

Beside the SQLite file unless `--files` names another place; with PostgreSQL it
has to be named, since several servers must share it. Files go after a while.
"""

from __future__ import annotations

import shutil
import time
from datetime import timedelta
from pathlib import Path

from davy.core.errors import UserError
from davy.store.url import parse_url, sqlite_path

KEPT = timedelta(days=7)
"""How long an export waits to be fetched."""
MODELS = "models"
ENCODERS = "encoders"
REPORTS = "reports"
"""Folders of trained models, of encoders to train from and of reports, which stay: reports show no text in clear."""
STAY = (MODELS, ENCODERS, REPORTS)
DESCRIPTION = "description"
EVALUATION = "evaluation"
SPLIT = "split.json"
"""What lies in the folder of a training beside its model."""
WORDS = "words.txt"
"""The word list of a plan that a page sent, beside its sample."""


def files_folder(database: str, files: Path | None = None) -> Path | None:
    """Return the folder for files: the one that was named, else beside the SQLite file, else None.

    The path is absolute, so that a page, a job and a link in another folder name the same file.
    """
    if files is not None:
        return files.absolute()
    url = parse_url(database)
    if url.get_backend_name() != "sqlite":
        return None
    path = sqlite_path(url)
    return path.with_name(path.name + ".files").absolute()


def make_folder(folder: Path, job: str) -> Path:
    """Return an empty folder for a job; what an earlier attempt left in it is gone."""
    own = folder / job
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(mode=0o700)
    except OSError as error:
        raise UserError(f"Can't keep files in {folder}: {error.strerror}. Name another place with --files.") from error
    return own


def keep_folder(folder: Path, job: str) -> Path:
    """Return a job's folder with what an earlier attempt left in it, from which the next one goes on."""
    own = folder / job
    try:
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Can't keep files in {folder}: {error.strerror}. Name another place with --files.") from error
    return own


def discard(folder: Path, job: str) -> None:
    """Remove what a job keeps; once is enough, twice does no harm."""
    shutil.rmtree(folder / job, ignore_errors=True)


def find_file(folder: Path | None, job: str, name: str) -> Path | None:
    """Return a job's file if it is still there; a name that leads elsewhere is none."""
    if folder is None or not name or Path(name).name != name or Path(job).name != job:
        return None
    path = folder / job / name
    return path if path.is_file() and not path.is_symlink() else None


def find_old(folder: Path, *, kept: timedelta = KEPT, now: float | None = None) -> list[Path]:
    """Return the folders that have been kept for long enough."""
    oldest = (time.time() if now is None else now) - kept.total_seconds()
    return [
        own
        for own in (folder.iterdir() if folder.is_dir() else ())
        if own.name not in STAY and own.is_dir() and own.stat().st_mtime < oldest
    ]


def sweep(folder: Path, *, kept: timedelta = KEPT, now: float | None = None) -> int:
    """Remove what has been kept for long enough, and return how many folders went."""
    old = find_old(folder, kept=kept, now=now)
    for own in old:
        shutil.rmtree(own, ignore_errors=True)
    return len(old)
