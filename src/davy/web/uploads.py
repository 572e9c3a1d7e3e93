"""Check what strangers upload before anything reads it.

A stream of bytes in, an `Upload` out: a temporary file of a known kind within
every limit. The type is what the content says; the name is only for display.
Nothing is unpacked to disk, and what fails leaves no file behind.
"""

from __future__ import annotations

import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile

from davy.core.errors import UserError
from davy.files.file_safety import UploadLimits, check_contents, megabytes


@dataclass(frozen=True, slots=True)
class Upload:
    """A checked file: csv, tsv, jsonl, json, parquet, xlsx, zip or image; `gzip`: the text in it is packed."""

    path: Path
    name: str
    kind: str
    size: int
    sha256: str
    gzip: bool = False

    def discard(self) -> None:
        """Remove the temporary file; once is enough, twice does no harm."""
        self.path.unlink(missing_ok=True)


TEXT_KINDS: tuple[str, ...] = ("csv", "tsv", "jsonl")
TABLE_KINDS: tuple[str, ...] = (*TEXT_KINDS, "parquet", "xlsx")
"""What posts may come in."""
KINDS: tuple[str, ...] = (*TEXT_KINDS, "parquet", "zip", "image")


@dataclass
class _Receiver:
    """Writes chunks to a temporary file and stops at the size limit."""

    limits: UploadLimits
    path: Path
    size: int = 0
    digest: Any = field(default_factory=sha256)

    def take(self, chunk: bytes, file: Any) -> None:
        self.size += len(chunk)
        if self.size > self.limits.size:
            raise UserError(f"The upload is larger than {megabytes(self.limits.size)}. Split it up.", status=413)
        self.digest.update(chunk)
        file.write(chunk)


def receive(
    chunks: Iterable[bytes],
    name: str,
    *,
    kinds: tuple[str, ...] = KINDS,
    limits: UploadLimits | None = None,
    folder: Path | None = None,
) -> Upload:
    """Store and check an upload that comes in chunks; raises `UserError` and leaves nothing when it is refused."""
    limits = limits or UploadLimits()
    with _kept_when_good(folder) as path:
        receiver = _Receiver(limits, path)
        with path.open("wb") as file:
            for chunk in chunks:
                receiver.take(chunk, file)
        return _checked(receiver, name, kinds)


def receive_file(
    sent: UploadFile, *, kinds: tuple[str, ...] = KINDS, limits: UploadLimits | None = None, folder: Path | None = None
) -> Upload:
    """Store and check a file of a form, as `receive` does."""
    chunks = iter(partial(sent.file.read, 1 << 20), b"")
    return receive(chunks, sent.filename or "", kinds=kinds, limits=limits, folder=folder)


@contextmanager
def _kept_when_good(folder: Path | None) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix="davy-upload-", dir=folder)
    os.close(handle)
    path = Path(name)
    try:
        yield path
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _checked(receiver: _Receiver, name: str, kinds: tuple[str, ...]) -> Upload:
    if not receiver.size:
        raise UserError("The upload is empty. Choose a file with content.", status=422)
    clean = safe_name(name)
    kind, packed = check_contents(receiver.path, clean, receiver.limits)
    if kind not in kinds:
        raise UserError(f"The upload is a {kind} file; expected {' or '.join(kinds)}.", status=415)
    return Upload(receiver.path, clean, kind, receiver.size, receiver.digest.hexdigest(), packed)


_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def safe_name(name: str, fallback: str = "upload") -> str:
    """Return a file name that is safe to show and to store: no folders, no controls, no leading dot, 100 characters."""
    base = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    base = "".join(char for char in base if char.isprintable() and char not in '<>:"|?*' and char != "\ufffd")
    base = re.sub(r"\s+", " ", base).strip(" .")
    stem, dot, ending = base.rpartition(".")
    if len(base) > 100:
        base = f"{stem[: 99 - len(ending)]}.{ending}" if dot and len(ending) <= 10 else base[:100]
    return fallback if not base or _RESERVED.match(base) else base
