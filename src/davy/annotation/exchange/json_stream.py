"""JSON files as streams of objects: an array, or one object a line, packed with gzip or not.

A file of a million tasks is never held whole. What is wrong is said with the
number of the object or line; a text is never quoted.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from davy.core import UserError

CHUNK = 1 << 18
LARGEST = 16_000_000
"""Characters that one object may take."""

Numbered = Iterator[tuple[int, dict[str, Any]]]


def objects(path: Path, what: str = "task") -> Numbered:
    """Yield the objects of a JSON array with their numbers from 1; a file of lines is read as lines."""
    with _opened(path) as file:
        head = _read(file, path.name).lstrip("\ufeff \t\r\n")
        if head.startswith("["):
            yield from _array(file, head[1:], path.name, what)
            return
    yield from lines(path)


def lines(path: Path) -> Numbered:
    """Yield the objects of a JSONL file with the numbers of their lines; blank lines are passed over."""
    number = 0
    with _opened(path) as file:
        # Not `for line in file` with its default: a form feed or U+2028 inside a text ends no line.
        while line := _read(file, path.name, line=True):
            number += 1
            if number == 1:
                line = line.removeprefix("\ufeff")
            if not line.strip():
                continue
            if len(line) >= LARGEST:
                raise UserError(f"{path.name}: line {number} is longer than {LARGEST:,} characters.")
            yield number, _object(line, f"{path.name}: line {number}")
    if number == 0:
        raise UserError(f"{path.name} is empty. Give a file with at least one line.")


def write_lines(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write one object a line."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(_text(row) + "\n")


def write_array(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write a JSON array with one object a line, so that it can be read by eye and compared."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        before = "[\n"
        for row in rows:
            file.write(before + _text(row))
            before = ",\n"
        file.write("\n]\n" if before == ",\n" else "[]\n")


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def _opened(path: Path) -> IO[str]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return path.open(encoding="utf-8", newline="\n")


def _array(file: IO[str], rest: str, name: str, what: str) -> Numbered:
    decoder = json.JSONDecoder(parse_constant=_no_number)
    number = 0
    while True:
        rest = rest.lstrip(" \t\r\n,")
        if rest.startswith("]"):
            return
        place = f"{name}: {what} {number + 1}"
        try:
            value, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError) as error:
            more = _read(file, name)
            if not more or isinstance(error, RecursionError):
                raise UserError(f"{place} is not JSON, or the file is cut short.") from None
            rest += more
            if len(rest) > LARGEST:
                raise UserError(f"{place} is longer than {LARGEST:,} characters, or is not JSON.") from None
            continue
        number += 1
        if not isinstance(value, dict):
            raise UserError(f"{place} is not an object.")
        yield number, value
        rest = rest[end:]
        if len(rest) < CHUNK // 2:
            rest += _read(file, name)


def _read(file: IO[str], name: str, *, line: bool = False) -> str:
    try:
        return file.readline(LARGEST) if line else file.read(CHUNK)
    except (UnicodeDecodeError, OSError, EOFError):
        raise UserError(f"{name} is not UTF-8, or is damaged. Save it as UTF-8.") from None


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise UserError(f"{place} is not JSON.") from None
    if not isinstance(value, dict):
        raise UserError(f"{place} is not an object.")
    return value


def _no_number(_: str) -> None:
    """Return null for NaN and infinity, which JSON does not have and some tools write."""
