"""Files and folders that appear under their name complete or not at all.

Contents go to a hidden name in the same folder, are synced, and take their name
by one rename, which is synced too. A run that fails or is stopped leaves nothing
behind, and what was there before stays as it was. No other module renames over a
file: this is the one atomic write.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.files.formats import STDIO

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_path(path: Path | str, *, mode: int = 0o666) -> Iterator[Path]:
    """Yield a hidden file to write to; it becomes `path` when the block ends well, else it is removed.

    `-` is stdout: what was written is copied there at the end. `mode` is who may read a new file, less the umask; one
    that was there keeps its own.
    """
    require_writable(path)
    to_stdout = str(path) == STDIO
    path = Path(path)
    hidden = _hidden_name(Path(tempfile.gettempdir(), "stdout") if to_stdout else path)
    try:
        os.close(os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    except OSError as error:
        raise UserError(f"Can't write in {hidden.parent}: {error.strerror}.") from error
    try:
        yield hidden
        if to_stdout:
            _copy_to_stdout(hidden)
        else:
            if path.exists():
                os.chmod(hidden, path.stat().st_mode & 0o777)
            sync(hidden)
            replace(hidden, path)
    except OSError as error:
        if error.errno in FULL_DISK:
            raise UserError(f"No room left to write {path}: {error.strerror}. Nothing was written.") from error
        raise
    finally:
        hidden.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty hidden folder; it becomes the new folder `path` when the block ends well, else it is removed."""
    require_folder_of(path)
    refuse_existing_folder(path)
    with scratch_folder(path) as hidden:
        yield hidden
        for file in hidden.rglob("*"):
            sync(file)
        refuse_existing_folder(path)
        replace(hidden, path)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Yield an empty draft of the folder `path`, which takes its place when the block ends well, else it is removed."""
    draft = new_draft(path)
    try:
        yield draft
        publish_draft(draft, path)
    except OSError as error:
        if error.errno in FULL_DISK:
            raise UserError(f"No room left to write {path}: {error.strerror}. Nothing was written.") from error
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def draft_of(path: Path) -> Path:
    """Return where a folder is written before it is whole: always the same place, so a killed run's can be emptied."""
    return path.with_name(f".{path.name[:200]}.part")


def new_draft(path: Path) -> Path:
    """Make the empty draft of a folder and return it."""
    draft = draft_of(path)
    shutil.rmtree(draft, ignore_errors=True)
    return make_folder(draft)


def publish_draft(draft: Path, path: Path) -> None:
    """Give a complete draft the name of its folder; what had that name is removed."""
    for file in draft.rglob("*"):
        sync(file)
    with scratch_folder(path) as old:
        if path.exists():
            replace(path, old / path.name)
        replace(draft, path)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Yield an empty hidden folder beside a path, on the same disk; what is left of it goes when the block ends."""
    hidden = _hidden_name(beside)
    try:
        hidden.mkdir()
    except OSError as error:
        raise UserError(f"Can't write in {hidden.parent}: {error.strerror}.") from error
    try:
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def replace(draft: Path, path: Path) -> None:
    """Give a complete and synced file or folder its name, so that the name survives a power cut too."""
    os.replace(draft, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Return when a file's contents, or a folder's names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path | str, content: bytes) -> Path:
    """Write a small file and return its path."""
    try:
        with atomic_path(path) as hidden:
            hidden.write_bytes(content)
    except OSError as error:
        raise UserError(f"Can't write {path}: {error.strerror}.") from error
    return Path(path)


def write_text(path: Path | str, text: str) -> Path:
    """Write a small text file as UTF-8, line ends as they are; half a surrogate pair becomes `?`."""
    return write_bytes(path, text.encode("utf-8", "replace"))


def write_json(path: Path | str, value: Any, *, indent: int | None = 2) -> Path:
    """Write a value as a JSON file."""
    return write_text(path, json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def read_text(path: Path | str, what: str = "file") -> str:
    """Return a UTF-8 text file without its byte-order mark; `what` says in errors what it was read for."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"Can't read the {what} {path}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"The {what} {path} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None


def make_folder(folder: Path) -> Path:
    """Make a folder, and those above it, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Can't make the folder {folder}: {error.strerror}. Name another.") from None
    return folder


def require_folder_of(path: Path | str) -> None:
    """Raise unless the folder that a file will be in exists; `-` needs none."""
    folder = Path(path).parent
    if str(path) != STDIO and not folder.is_dir():
        raise UserError(f"The folder {folder} does not exist. Make it first: mkdir -p {folder}")


def require_writable(path: Path | str) -> None:
    """Raise, before any work, where a file could not be written: it has no folder, or is one."""
    require_folder_of(path)
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder. Name the file to write in it.")
    if Path(path).exists() and not Path(path).is_file() and str(path) != STDIO:
        raise UserError(f"{path} is a device, and would be gone. Write to a file, or to '-' for stdout.")


def check_folder(folder: Path | None) -> None:
    """Raise, before any work, where nothing could be written in a folder, made or not; None is no folder and fine."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file. Give a folder to write into.")
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UserError(f"Can't write in {nearest}. Give another folder for --out.")


def refuse_existing_folder(path: Path) -> None:
    """Raise where a new folder would take the name of something that is there."""
    if path.exists():
        raise UserError(f"{path} is there already. Name a new folder.")


def require_empty_folder(path: Path) -> None:
    """Raise unless a folder is empty or not there, and could be made."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path} is not an empty folder. Name a new one.")
    check_folder(path)


def refuse_input(out: Path | str, *inputs: Path | str) -> None:
    """Raise where the output is one of the inputs: they are read while it is written."""
    for source in (path for several in inputs for path in str(several).splitlines()):
        if STDIO not in (str(out), str(source)) and same_file(source, out):
            raise UserError(f"{out} is the input. Write to another file, then replace the input yourself.")


def same_file(one: Path | str, other: Path | str) -> bool:
    """Return whether two paths are one file that exists."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _hidden_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")


def _copy_to_stdout(hidden: Path) -> None:
    with hidden.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, 1024 * 1024)
    sys.stdout.buffer.flush()
