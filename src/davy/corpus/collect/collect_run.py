"""What a run of `davy collect` has kept and how far it came, so that it can go on there (see files/run_folder.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from davy.corpus.collect.records import COLUMNS
from davy.files import tables
from davy.files.formats import output_format
from davy.files.run_folder import RunFolder, open_run_folder


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
    profiles: dict[str, list[int]] = field(default_factory=dict)
    """Posts of each listed account of a strategy, accounts in the order of their names."""
    left_out_columns: list[str] = field(default_factory=list)
    """Columns of plain files that no post keeps."""
    resumed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as HTTP would."""
        return asdict(self)


class CollectRun:
    """What was kept so far and how far reading came: a run folder whose progress is an archive and a place in it."""

    def __init__(self, kept: RunFolder) -> None:
        self._kept = kept
        self.folder = kept.folder
        self.archive: int = kept.progress.get("archive", 0)
        self.place: int = kept.progress.get("place", 0)
        self.done = CollectCounts(**kept.progress.get("done", {}))
        self.done.resumed = kept.resumed

    def add(self, posts: pl.DataFrame) -> None:
        """Keep one more frame; it counts once `mark` was called."""
        self._kept.add(posts)

    def mark(self, archive: int, place: int) -> None:
        """Write how far reading came."""
        self.archive, self.place = archive, place
        self._kept.save(archive=archive, place=place, done=asdict(self.done))

    def ids(self) -> set[str]:
        """Return the ids of what was kept."""
        return {key for path in self._kept.paths for key in pl.read_ipc(path, columns=["id"])["id"]}

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield what was kept so far."""
        return self._kept.frames()

    def finish(self, out: Path) -> None:
        """Write the output whole and remove the folder."""
        # Posts of earlier corpora bring columns with answers: every part gets them all.
        columns = list(dict.fromkeys([*COLUMNS, *(c for path in self._kept.paths for c in pl.read_ipc_schema(path))]))
        empty = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))

        def write(parts: Iterable[pl.DataFrame]) -> None:
            tables.write((pl.concat([empty, part], how="diagonal") for part in chain([empty], parts)), out)

        self._kept.finish(write)


@contextmanager
def open_run(out: Path, run: dict[str, Any], *, fresh: bool) -> Iterator[CollectRun]:
    """Yield the run of an output, begun anew unless what is there belongs to this very run."""
    output_format(out)
    with open_run_folder(out, run, resume=False if fresh else None) as kept:
        yield CollectRun(kept)
