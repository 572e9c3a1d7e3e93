"""What a long run has done so far, in a folder beside its output, so that the run can go on after a stop.

`OUT.parts` holds frames as Arrow files and `state.json`, which is written last:
a part that the state does not count does not exist. The state also says what the
run depends on (inputs, model, options); another run does not go on from it. One
process at a time holds the folder. The output itself appears only when it is
complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.files.atomic import require_folder_of, sync, write_json
from davy.files.file_lock import take_lock

if TYPE_CHECKING:
    import polars as pl

STATE = "state.json"


class RunFolder:
    """The parts of an output so far, and how far the run came. Open it with `open_run_folder`."""

    def __init__(self, folder: Path, run: Mapping[str, Any], state: Mapping[str, Any] | None) -> None:
        self.folder, self._run = folder, dict(run)
        self.resumed = state is not None
        self.rows: int = state["rows"] if state else 0
        self.progress: dict[str, Any] = state["progress"] if state else {}
        """What was saved with the last state: whatever the run needs to go on."""
        self._count: int = state["parts"] if state else 0

    @property
    def paths(self) -> list[Path]:
        """The Arrow files in their order."""
        return [self.folder / f"{number:08d}.arrow" for number in range(self._count)]

    def add(self, frame: pl.DataFrame) -> None:
        """Keep one more frame; it counts once `save` was called."""
        path = self.folder / f"{self._count:08d}.arrow"
        frame.write_ipc(path, compression="lz4")
        sync(path)
        self._count += 1
        self.rows += len(frame)

    def save(self, **progress: Any) -> None:
        """Write that the parts count, and how far the run came."""
        self.progress = progress
        state = {"run": self._run, "parts": self._count, "rows": self.rows, "progress": progress}
        write_json(self.folder / STATE, state, indent=None)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield what was kept, in order."""
        import polars as pl

        for path in self.paths:
            yield pl.read_ipc(path)

    def finish(self, write: Callable[[Iterable[pl.DataFrame]], Any]) -> None:
        """Have all parts written to the output, then remove the folder."""
        write(self.frames())
        shutil.rmtree(self.folder)


@contextmanager
def open_run_folder(out: Path, run: Mapping[str, Any], *, resume: bool | None = None) -> Iterator[RunFolder]:
    """Yield the folder of an output, emptied unless it belongs to this very run.

    `resume=None` goes on where it can, True insists on it, False starts afresh.
    """
    require_folder_of(out)
    folder = out.with_name(f"{out.name}.parts")
    if resume and not (folder / STATE).exists():
        raise UserError(f"There is nothing to resume: no {folder}. Leave --resume out to start.")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"Can't write {out}: {error.strerror}. Give another --out.") from error
    with lock_folder(folder, out):
        state = _state_of(folder, run, resume)
        if state is None:
            _empty(folder)
        kept = RunFolder(folder, run, state)
        try:
            yield kept
        finally:
            if not _read_state(folder).get("rows"):  # nothing to go on from, so nothing is left behind
                shutil.rmtree(folder, ignore_errors=True)


def skip_rows(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Yield frames without their first `rows` rows; the first frame is kept, even when empty, for its columns."""
    for i, frame in enumerate(frames):
        rest = frame[min(rows, len(frame)) :]
        rows -= len(frame) - len(rest)
        if len(rest) or not i:
            yield rest


@contextmanager
def lock_folder(folder: Path, out: Path) -> Iterator[None]:
    """Hold a folder for one process; `out` names in the error what another one is writing."""
    path = folder / "lock"
    with path.open("w") as lock:
        take_lock(lock, out)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _state_of(folder: Path, run: Mapping[str, Any], resume: bool | None) -> dict[str, Any] | None:
    """Return the state to go on from, or None to start afresh."""
    state = _read_state(folder)
    before = state.get("run")
    # JSON knows no tuples: what the run depends on is compared as it was written.
    if before == json.loads(json.dumps(dict(run))) and resume is not False:
        return state
    if resume:
        known = before if isinstance(before, dict) else {}
        changed = ", ".join(sorted(key for key in {*known, *run} if known.get(key) != run.get(key)))
        raise UserError(f"{folder} is from another run ({changed} changed), so it can't go on. Leave --resume out.")
    return None


def _read_state(folder: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state


def _empty(folder: Path) -> None:
    for path in (*folder.glob("*.arrow"), *folder.glob("*.tmp"), folder / STATE):
        path.unlink(missing_ok=True)
