"""How much a table file from a stranger would become, found before a reader holds it.

A few kilobytes can ask for gigabytes. In JSONL every key is a column of every row, so the columns and cells of a text
are counted from chunks of its bytes, whichever line end the reader will choose. A footer of Parquet, Arrow or Excel can
promise little and unpack to gigabytes, and a failed allocation or a crash in native code ends the process that met it.
So a child reads such a file through, column by column, under a limit of memory and time; only its verdict comes back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from davy.core.errors import UserError

MEMORY = 4 * 2**30
"""Address space of the child; polars reserves one before it reads anything."""
SECONDS = 60
THREADS = {"POLARS_MAX_THREADS": "2"}
"""Each thread reserves addresses, so the same file would be refused on a machine with more cores."""
LONGEST_FOOTER = 20_000_000
ARROW = b"ARROW1"
"""How an Arrow file begins; Arrow's streams begin otherwise."""

_DAMAGED, _TOO_LARGE = 2, 3


def measure_table(path: Path, *, most_cells: int, kind: str = "Parquet", memory: int = MEMORY) -> dict[str, int]:
    """Return `rows`, `columns` and `bytes` of a file unpacked; one that can't be read safely is refused."""
    command = [sys.executable, "-m", "davy.files.unpacked_size", str(path), kind, str(most_cells), str(memory)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, env=os.environ | THREADS)
    except subprocess.TimeoutExpired:
        raise UserError(
            f"The {kind} file took more than {SECONDS} seconds to read. Use parts of it.", status=413
        ) from None
    output = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode == _DAMAGED:
        raise UserError(f"The {kind} file can't be read ({output}). Write it again.", status=422)
    if done.returncode == _TOO_LARGE:
        raise UserError(f"The {kind} file is too large: {output}. Use parts of it.", status=413)
    if done.returncode != 0:
        more = f"is damaged, or reading it takes more than {memory / 2**30:.1f} GB of memory"
        raise UserError(f"The {kind} file {more}. Write it again, or use parts of it.", status=413)
    return {name: int(value) for name, value in json.loads(output).items()}


def _measure(path: Path, kind: str, most_cells: int, memory: int) -> int:
    _limit_memory(memory)
    import polars as pl

    try:
        if kind == "Parquet":
            frame = pl.scan_parquet(path, glob=False)
        elif kind == "Excel":  # one text said once may stand in a million cells
            frame = pl.read_excel(path, engine="calamine", infer_schema_length=None).lazy()
        else:
            with path.open("rb") as file:
                is_file = file.read(len(ARROW)) == ARROW
            frame = (pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)).lazy()
        columns = frame.collect_schema().names()
        rows = int(frame.select(pl.len()).collect().item())
        if rows * len(columns) > most_cells:
            print(f"it has {rows:,} rows of {len(columns):,} columns, more than {most_cells:,} cells")
            return _TOO_LARGE
        size = 0
        for name in columns:  # one at a time: no more than one column is in memory
            read = frame.select(name).collect(engine="streaming")
            _ = read.hash_rows() if kind == "Arrow" else None  # every value is looked at, so that a bad one shows here
            size += int(read.estimated_size())
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001 — polars raises several kinds on hostile files
        print(type(error).__name__)
        return _DAMAGED
    print(json.dumps({"rows": rows, "columns": len(columns), "bytes": size}))
    return 0


def _limit_memory(memory: int) -> None:
    """Limit this process's address space, on systems that can: Windows can't, and macOS refuses some limits."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        if sys.platform == "linux":
            raise


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


if __name__ == "__main__":
    sys.exit(_measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
