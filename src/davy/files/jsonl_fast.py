"""Lines of JSON whose keys and kinds are known from the lines before them: the quick way from bytes to columns.

Lines of a block in, one list of values for each column out; or None where a line
is not as the lines before it, and must be read the careful way (see
jsonl_columns.py), which takes any line and names the one that is wrong.

A column of JSON is not parsed, only checked: its cells are the very bytes of the
file. What else differs from line to line (a number, then a text) is not guessed at
here: `int` and `float` are told apart afterwards, by the types of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

Values = list[Any]
_NULL = b"null"
CHECKED_KINDS: dict[str, Any] = {"json": msgspec.Raw, "text": str | None, "boolean": bool | None}
"""What a line must hold in columns of these kinds to be read here; in all others any value is taken."""


class LineDecoder:
    """Reads lines that have the keys, and the kinds, of those before them."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._row: Callable[[bytes], Any] | None = None
        self._cells: list[Callable[[Any], Any]] = []

    def columns(self, lines: list[bytes], kinds: dict[str, str]) -> dict[str, Values] | None:
        """Return the values of each known column, JSON as bytes; None where a line is not as those before."""
        if kinds != self._kinds:
            self._learn(kinds)
        if self._row is None:
            return None
        try:
            rows = list(map(self._row, lines))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        columns = {name: list(map(cell, rows)) for name, cell in zip(kinds, self._cells, strict=True)}
        for name, kind in kinds.items():
            if kind == "json":
                columns[name] = [None if cell == _NULL else cell for cell in map(bytes, columns[name])]
        return columns

    def _learn(self, kinds: dict[str, str]) -> None:
        """Make a reader for lines with these keys; a key that is missing from a line is null."""
        self._kinds = dict(kinds)
        self._row = None
        if not kinds:
            return
        names = {f"field{place}": name for place, name in enumerate(kinds)}
        fields: list[Any] = []
        for field, name in names.items():
            kind = kinds[name]
            fields.append((field, CHECKED_KINDS.get(kind, Any), msgspec.Raw(_NULL) if kind == "json" else None))
        try:
            row = msgspec.defstruct("Row", fields, rename=names, forbid_unknown_fields=True, gc=False)
        except ValueError:  # a key with a quote, a backslash or a control character in it
            return
        self._row = msgspec.json.Decoder(row).decode
        self._cells = [attrgetter(field) for field in names]
