"""How much a Parquet, Arrow or Excel file from a stranger would become, measured in a process with little room.

A footer can promise little and unpack to gigabytes (one value said once and repeated millions of times), and a failed
allocation or a crash in native code ends the process that met it. So a child reads the file through, column by column,
under a limit of memory and time; only its verdict comes back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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


if __name__ == "__main__":
    sys.exit(_measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
