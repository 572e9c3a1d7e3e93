"""How much a Parquet file from a stranger would become, measured in a process that can't take more than its share.

A footer can promise little and unpack to gigabytes (one value said once and repeated millions of times), and a failed
allocation ends the process that made it. So a child reads the file through, column by column, under a limit of memory
and time; only its verdict comes back.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from davy.core.errors import UserError

MEMORY = 4 * 2**30
"""Address space of the child; polars reserves one before it reads anything."""
SECONDS = 60
LONGEST_FOOTER = 20_000_000


_DAMAGED = 2


def measure_parquet(path: Path, *, most_cells: int, memory: int = MEMORY) -> dict[str, int]:
    """Return `rows`, `columns` and `bytes` of a Parquet file unpacked; one that can't be read safely is refused."""
    command = [sys.executable, "-m", "davy.actions.parquet_check", str(path), str(most_cells), str(memory)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UserError(
            f"The Parquet file took more than {SECONDS} seconds to read. Upload parts.", status=413
        ) from None
    told = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode == _DAMAGED:
        raise UserError(f"The Parquet file can't be read ({told}). Write it again.", status=422)
    if done.returncode != 0:
        why = told or f"reading it takes more than {memory / 2**30:.1f} GB of memory"
        raise UserError(f"The Parquet file is too large: {why}. Upload parts.", status=413)
    return {name: int(value) for name, value in json.loads(told).items()}


def _measure(path: Path, most_cells: int, memory: int) -> int:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False)
        columns = frame.collect_schema().names()
        rows = int(frame.select(pl.len()).collect().item())
        if rows * len(columns) > most_cells:
            print(f"it has {rows:,} rows of {len(columns):,} columns, more than {most_cells:,} cells")
            return 1
        size = 0
        for name in columns:  # one at a time: no more than one column is in memory
            size += int(frame.select(name).collect(engine="streaming").estimated_size())
    except Exception as error:  # noqa: BLE001 — polars raises several kinds on hostile files
        print(type(error).__name__)
        return _DAMAGED
    print(json.dumps({"rows": rows, "columns": len(columns), "bytes": size}))
    return 0


if __name__ == "__main__":
    sys.exit(_measure(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
