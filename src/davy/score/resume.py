"""Write scored posts so that an interrupted run can go on where it stopped.

Scored frames in; parts beside the output while the work lasts; the output whole
at the end. A folder `OUT.parts` holds what was scored so far, and says from
which input and by which model. The output itself appears only when it is
complete.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    Writer = Callable[[Iterable[pl.DataFrame]], Any]

STATE = "state.json"


class ScoreParts:
    """The scored rows so far, in a folder beside the output. Open it with `opened`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = sum(_height(path) for path in self._paths())

    def add(self, frame: pl.DataFrame) -> None:
        """Keep one more scored frame; it is on disk when this returns."""
        path = self.folder / f"{len(self._paths()):08d}.arrow"
        draft = path.with_suffix(".tmp")
        with draft.open("wb") as file:
            frame.write_ipc(file, compression="lz4")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        self.rows += len(frame)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield what was kept, in order."""
        import polars as pl

        for path in self._paths():
            yield pl.read_ipc(path)

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.arrow"))


@contextmanager
def open_parts(out: Path, run: Mapping[str, Any], *, resume: bool | None = None) -> Iterator[ScoreParts]:
    """Yield the parts of an output, emptied unless they belong to this very run; one process at a time.

    `run` says what the rows depend on (input hash, model and version, options).
    `resume=None` goes on where it can, True insists on it, False starts afresh.
    """
    folder = out.with_name(f"{out.name}.parts")
    if resume and not (folder / STATE).exists():
        raise UserError(f"There is nothing to resume: no {folder}. Leave --resume out to start.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Can't write {out}: {error.strerror}. Give another --out.") from error
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"Another davy is writing {out}. Wait for it or give another --out.") from None
        _settle(folder, run, resume)
        parts = ScoreParts(folder)
        try:
            yield parts
        finally:
            if not parts.rows:  # nothing to go on from, so nothing is left behind
                shutil.rmtree(folder, ignore_errors=True)


def write_parts(parts: ScoreParts, write: Writer) -> None:
    """Write all parts to the output, then remove them."""
    write(parts.frames())
    shutil.rmtree(parts.folder)


def input_hash(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def skip_rows(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Yield frames without their first `rows` rows; the first frame is kept, even when empty, for its columns."""
    for i, frame in enumerate(frames):
        rest = frame[min(rows, len(frame)) :]
        rows -= len(frame) - len(rest)
        if len(rest) or not i:
            yield rest


def _settle(folder: Path, run: Mapping[str, Any], resume: bool | None) -> None:
    """Empty the folder unless its state is this run's; then write the state."""
    state = folder / STATE
    try:
        before = json.loads(state.read_text(encoding="utf-8")) if state.exists() else None
    except ValueError:
        before = None
    if before == dict(run) and resume is not False:
        return
    if resume and before is not None:
        changed = ", ".join(sorted(key for key in {*before, *run} if before.get(key) != run.get(key)))
        raise UserError(f"{folder} is from another run ({changed} changed), so it can't go on. Leave --resume out.")
    for path in (*folder.glob("*.arrow"), *folder.glob("*.tmp")):
        path.unlink()
    state.write_text(json.dumps(dict(run)), encoding="utf-8")


def _height(path: Path) -> int:
    import polars as pl

    return int(pl.scan_ipc(path).select(pl.len()).collect().item())
