"""How many columns and cells a text table will have: chunks of its bytes in, counts out.

Counted before a reader holds the table, because a few kilobytes can ask for gigabytes: in JSONL every key is a column
of every row. What is counted does not depend on which line end the reader will choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json


class DelimitedCells:
    """Counts the cells of CSV or TSV. With `quotes`, separators and line ends between quotes don't count."""

    def __init__(self, separator: str, *, quotes: bool) -> None:
        self._separator = separator.encode()
        self._quotes = quotes
        self._inside = 0
        self._separators = self._feeds = self._returns = 0

    @property
    def cells(self) -> int:
        """The cells so far."""
        return self._separators + max(self._feeds, self._returns) + 1

    def take(self, chunk: bytes) -> None:
        """Count in the next bytes."""
        if self._quotes:
            parts = chunk.split(b'"')
            chunk = b"".join(parts[self._inside :: 2])
            self._inside = (self._inside + len(parts) - 1) % 2
        self._separators += chunk.count(self._separator)
        self._feeds += chunk.count(b"\n")
        self._returns += chunk.count(b"\r")


class JsonCells:
    """Counts the rows and the different keys of JSONL; lines that are no objects are left to the reader to name."""

    def __init__(self, newline: bytes) -> None:
        self.rows = 0
        self._newline = newline
        self._names: set[str] = set()
        self._rest = b""

    @property
    def columns(self) -> int:
        """The different keys so far."""
        return len(self._names)

    @property
    def cells(self) -> int:
        """The cells so far: every row has every column."""
        return self.rows * self.columns

    @property
    def held(self) -> int:
        """Bytes of the line whose end has not come yet."""
        return len(self._rest)

    def take(self, chunk: bytes) -> None:
        """Count in the next bytes."""
        *lines, self._rest = (self._rest + chunk).split(self._newline)
        for line in lines:
            self._count(line)

    def finish(self) -> None:
        """Count in the last line, which may have no end."""
        self._count(self._rest)
        self._rest = b""

    def _count(self, line: bytes) -> None:
        for value in _objects(line, b"\r" if self._newline == b"\n" else b"\n"):
            self.rows += 1
            self._names.update(value)


def _objects(line: bytes, other_newline: bytes) -> Iterator[dict[str, Any]]:
    """Yield the object of a line; where it is none, those of its parts, were they cut at the other line end."""
    value = _parsed(line)
    parts = [value] if value is not None else map(_parsed, line.split(other_newline))
    yield from (part for part in parts if isinstance(part, dict))


def _parsed(line: bytes) -> Any:
    line = line.strip(b"\xef\xbb\xbf\r\n\t ")
    try:
        try:
            return from_json(line)
        except ValueError:
            return from_json(line.decode("latin-1"))  # another encoding: the keys may be misspelt, but are as many
    except ValueError:
        return None
