"""Answers of a paid service, kept on disk so that no text is paid for twice.

A key and numbers in, the numbers out again. Texts are kept only as hashes,
salted by a secret of this machine, so that the files can't be matched against
known texts elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from davy.core.errors import UserError


def cache_folder() -> Path:
    """Return where caches live: `DAVY_CACHE`, or `davy` in the user's cache folder."""
    given = os.environ.get("DAVY_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "davy"


class DiskCache:
    """Numbers by text for one service and version. Lines are appended, so several processes can share the file."""

    def __init__(self, folder: Path, name: str) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._salt = _salt(folder / "salt")
        except OSError as error:
            raise UserError(f"Can't keep answers in {folder}: {error.strerror}. Set DAVY_CACHE to a folder.") from error
        self._path = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.jsonl"
        self._known: dict[str, Any] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
                self._remember(line)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, text: str, lang: str | None) -> Any | None:
        """Return what is known about a text, or None."""
        return self._known.get(self._key(text, lang))

    def put(self, text: str, lang: str | None, numbers: Any) -> None:
        """Keep what a service said about a text."""
        key = self._key(text, lang)
        self._known[key] = numbers
        line = json.dumps([key, numbers]) + "\n"
        # One write of one line to a file opened for appending: lines of two processes never mix.
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)

    def _key(self, text: str, lang: str | None) -> str:
        return hashlib.blake2b(f"{lang or ''}\0{text}".encode(), key=self._salt, digest_size=20).hexdigest()

    def _remember(self, line: str) -> None:
        try:
            key, numbers = json.loads(line)
        except (ValueError, TypeError):  # a piece of a line that a killed process left; its text is asked about again
            return
        self._known[key] = numbers


def _salt(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_bytes()
    with os.fdopen(handle, "wb") as file:
        salt = secrets.token_bytes(32)
        file.write(salt)
    return salt
