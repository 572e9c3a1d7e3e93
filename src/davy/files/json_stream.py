"""The JSON values of an archive, one after the other, in bounded memory.

A file in (`.jsonl`, `.json`, plain or packed as `.zst`, `.gz`, `.xz`, `.bz2`),
values with their byte places out. A place counts in unpacked bytes, so that
reading can go on there. What is wrong is named with file and place; values
before the fault have been given out by then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic_core import from_json

from davy.core.errors import MissingFile, UserError
from davy.files.compression import FAULTS, open_packed
from davy.files.formats import COMPRESSIONS

PIECE = 1 << 20
LINE_CAP = 64 << 20
DOCUMENT_CAP = 8 * LINE_CAP
"""The longest file that is one JSON document over many lines: it is held whole."""


class DamagedFile(UserError):
    """An archive that can't be read on. `place` is where, in unpacked bytes; `line` is the line it is in, or None."""

    def __init__(self, message: str, place: int, *, skippable: bool = False) -> None:
        super().__init__(message)
        self.place, self.skippable = place, skippable


@dataclass(frozen=True, slots=True)
class JsonValue:
    """One JSON value, where it starts and where the next may start."""

    raw: Any
    start: int
    end: int


@dataclass(slots=True)
class ReadCounts:
    """What reading met: values given out, lines that were skipped."""

    values: int = 0
    bad: int = 0
    first_bad: str = ""


def read_values(
    path: Path, *, start: int = 0, encoding: str | None = None, skip_bad: bool = False, counts: ReadCounts | None = None
) -> Iterator[JsonValue]:
    """Yield the values from unpacked byte `start` on. With `skip_bad`, lines that are no JSON are counted, not fatal.

    `encoding` is how to read lines that are not UTF-8.
    """
    counts = counts if counts is not None else ReadCounts()
    for place, number, line in _lines(path, start):
        text = line.strip()
        if not text or text == b"\x00" * len(text):
            continue
        try:
            value = _parsed(text, path, place, number, encoding)
        except DamagedFile as error:
            if error.skippable and not start and not number and _is_document(text):
                yield from _document(path, counts, encoding)
                return
            if not (skip_bad and error.skippable):
                raise
            counts.bad += 1
            counts.first_bad = counts.first_bad or error.message
            continue
        counts.values += 1
        yield JsonValue(value, place, place + len(line))


def read_lines(path: Path, *, start: int = 0, encoding: str | None = None) -> Iterator[JsonValue]:
    """Yield each line of a text file that is not blank as a value with its text."""
    for place, _, line in _lines(path, start):
        if line.strip():
            yield JsonValue(
                {"text": _decoded(line, path, place, encoding).strip("\r\n\ufeff")}, place, place + len(line)
            )


def holds_text(path: Path) -> bool:
    """Return whether a name is one of a text file, packed or not."""
    return _ending(path) == "txt"


def holds_json(path: Path) -> bool:
    """Return whether a name is one of JSON, packed or not; a packed file that does not say is taken for one."""
    ending = _ending(path)
    return ending in ("json", "jsonl", "ndjson") or (ending not in _TABLES and _packed(path))


def _packed(path: Path) -> bool:
    return path.name.lower().rsplit(".", 1)[-1] in COMPRESSIONS


def _ending(path: Path) -> str:
    """Return the ending that says what a file holds, in `RC.jsonl.zst` the `jsonl`."""
    parts = path.name.lower().split(".")
    return parts[-2] if _packed(path) and len(parts) > 2 else parts[-1]


_TABLES = ("csv", "tsv", "tab", "parquet", "pq", "txt")


def _is_document(text: bytes) -> bool:
    return text[:1] in (b"{", b"[")


def _document(path: Path, counts: ReadCounts, encoding: str | None) -> Iterator[JsonValue]:
    """Yield the one value of a file that is a single JSON document over many lines."""
    lines: list[bytes] = []
    size = 0
    for place, _, line in _lines(path, 0, cap=DOCUMENT_CAP):
        lines.append(line)
        size += len(line)
        if size > DOCUMENT_CAP:
            raise DamagedFile(f"{path}: its one JSON document is longer than {DOCUMENT_CAP >> 20} MiB.", place)
    whole = b"".join(lines)
    try:
        value = json.loads(_decoded(whole, path, 0, encoding))
    except json.JSONDecodeError as error:
        raise DamagedFile(
            f"{path}: line {error.lineno}, column {error.colno} is not JSON ({error.msg}). Give one JSON value a line,"
            " or one document.",
            error.pos,
            skippable=True,
        ) from None
    counts.values += 1
    yield JsonValue(value, 0, len(whole))


def _parsed(text: bytes, path: Path, place: int, number: int, encoding: str | None) -> Any:
    try:
        return from_json(text)
    except ValueError:  # slower, but it says what is wrong, and takes what may yet be mended
        pass
    where = f"{path}: line {number + 1}, byte {place}" if number >= 0 else f"{path}: the line at byte {place}"
    try:
        return json.loads(_decoded(text, path, place, encoding))
    except (json.JSONDecodeError, RecursionError) as error:
        what = getattr(error, "msg", "too deep")
        at = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        raise DamagedFile(
            f"{where}: this is not JSON ({what}{at}). Mend it, or leave such lines out with --skip-bad.",
            place,
            skippable=True,
        ) from None


def _decoded(text: bytes, path: Path, place: int, encoding: str | None) -> str:
    try:
        return text.decode("utf-8-sig" if not place else "utf-8")
    except UnicodeDecodeError as error:
        if encoding:
            try:
                return text.decode(encoding)
            except LookupError:
                raise UserError(f"Encoding {encoding!r} is not known. Try cp1252 or latin-1.") from None
            except UnicodeDecodeError:
                pass
        raise DamagedFile(
            f"{path}: byte {place + error.start} (0x{text[error.start]:02x}) is not UTF-8"
            f"{f' and not {encoding}' if encoding else ''}. Say how such lines are written, for example --encoding"
            " cp1252, or leave them out with --skip-bad.",
            place,
            skippable=True,
        ) from None


def _lines(path: Path, start: int, *, cap: int = LINE_CAP) -> Iterator[tuple[int, int, bytes]]:
    """Yield (place, line number from 0 or -1 where unknown, line with its end)."""
    place, number, skip = 0, 0, start
    held: list[bytes] = []  # the pieces of a line whose end is not there yet
    size = 0
    with _open(path) as file:
        while True:
            try:
                piece = file.read1(PIECE)  # type: ignore[attr-defined]  # what is ready: a fault loses nothing before it
            except FAULTS as error:
                raise _cut(path, place + size, error) from None
            if not piece:
                break
            if skip:
                dropped = min(skip, len(piece))
                skip -= dropped
                piece, place = piece[dropped:], place + dropped
                number = -1
                if not piece:
                    continue
            ends = piece.split(b"\n")
            for end in ends[:-1]:
                line = b"".join([*held, end, b"\n"])
                yield place, number, line
                place += len(line)
                number += number >= 0
                held, size = [], 0
            held.append(ends[-1])
            size += len(ends[-1])
            if size > cap:
                raise DamagedFile(f"{path}: the line at byte {place} is longer than {cap >> 20} MiB.", place)
    if skip:
        raise DamagedFile(f"{path} is shorter than when it was read before. Start again with --fresh.", start - skip)
    if size:
        yield place, number, b"".join(held)


def _cut(path: Path, place: int, error: Exception) -> DamagedFile:
    if isinstance(error, OSError) and error.errno:
        return DamagedFile(f"{path}: {error.strerror}, at unpacked byte {place}.", place)
    ending = path.name.rsplit(".", 1)[-1]
    return DamagedFile(
        f"{path} is cut off or damaged at unpacked byte {place}: it is not a whole .{ending} file. Copy it again.",
        place,
    )


def _open(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise UserError(f"{path} is a folder. Name the archives in it.")
    if not path.exists():
        raise MissingFile(f"{path} does not exist. Name an archive that does.")
    try:
        return open_packed(path)
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror}.") from error
