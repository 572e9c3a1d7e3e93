"""What a run of `davy collect` has kept and how far it came, in a folder beside its output.

The folder `OUT.parts` holds frames of posts and a state that is written last: what
it does not name does not count. The output appears only when it is whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from davy.collect.records import COLUMNS
from davy.core.errors import UserError
from davy.files import tables
from davy.files.formats import format_of

STATE = "state.json"


@dataclass(slots=True)
class CollectCounts:
    """What a run did; `taken` is by strategy, `read` and `no_post` count values of the archives."""

    read: int = 0
    no_post: int = 0
    bad: int = 0
    repeated: int = 0
    matched: int = 0
    kept: int = 0
    first_bad: str = ""
    taken: dict[str, int] = field(default_factory=dict)
    over: dict[str, int] = field(default_factory=dict)
    """Posts that a strategy matched after its cap was reached."""
    resumed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as HTTP would."""
        return asdict(self)


class CollectRun:
    """What was kept so far and how far reading came, in a folder beside the output."""

    def __init__(self, folder: Path, run: dict[str, Any], state: dict[str, Any] | None) -> None:
        self.folder, self._run = folder, run
        self.archive = state["archive"] if state else 0
        self.place = state["place"] if state else 0
        self.done = CollectCounts(**state["done"]) if state else CollectCounts()
        self.done.resumed = state is not None
        self._count = state["parts"] if state else 0

    def add(self, kept: pl.DataFrame) -> None:
        """Keep one more frame; it counts once `mark` was called."""
        with (self.folder / f"{self._count:08d}.arrow").open("wb") as file:
            kept.write_ipc(file, compression="lz4")
            file.flush()
            os.fsync(file.fileno())
        self._count += 1

    def mark(self, archive: int, place: int) -> None:
        """Write how far reading came."""
        self.archive, self.place = archive, place
        state = {"run": self._run, "archive": archive, "place": place, "parts": self._count, "done": asdict(self.done)}
        draft = self.folder / "state.tmp"
        draft.write_text(json.dumps(state), encoding="utf-8")
        os.replace(draft, self.folder / STATE)

    def ids(self) -> set[str]:
        """Return the ids of what was kept."""
        return {key for path in self._paths() for key in pl.read_ipc(path, columns=["id"])["id"]}

    def finish(self, out: Path) -> None:
        """Write the output whole and remove the folder."""
        # Posts of earlier corpora bring columns with answers: every part gets them all.
        columns = list(dict.fromkeys([*COLUMNS, *(c for path in self._paths() for c in pl.read_ipc_schema(path))]))
        empty = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        parts = (pl.read_ipc(path) for path in self._paths())
        filled = (pl.concat([empty, part], how="diagonal") for part in parts)
        tables.write(filled if self._paths() else [empty], out)
        shutil.rmtree(self.folder)

    def _paths(self) -> list[Path]:
        return [self.folder / f"{number:08d}.arrow" for number in range(self._count)]


@contextmanager
def open_run(out: Path, run: dict[str, Any], *, fresh: bool) -> Iterator[CollectRun]:
    """Yield the parts of an output, emptied unless they belong to this very run; one process at a time."""
    format_of(out)
    if not out.parent.is_dir():
        raise UserError(f"The folder {out.parent} does not exist. Make it first: mkdir -p {out.parent}")
    folder = out.with_name(f"{out.name}.parts")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"Another davy is writing {out}. Wait for it, or give another --out.") from None
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            state = None
        if fresh or (state is not None and state["run"] != run):
            for path in (*folder.glob("*.arrow"), folder / STATE):
                path.unlink(missing_ok=True)
            state = None
        parts = CollectRun(folder, run, state)
        try:
            yield parts
        finally:
            if not (parts.done.kept and (folder / STATE).exists()):  # nothing to go on from, so nothing is left behind
                shutil.rmtree(folder, ignore_errors=True)
