"""A project into a file, whole or not at all: what the shell and the exports page share.

The stage that makes rows and formats must not read or write tables itself
(stages don't import each other), so this door hands it `collect.files`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotate.exchange.formats import Format, ending_of, find
from davy.annotate.exchange.rows import About, Answered
from davy.core.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Project, Scheme
    from davy.store import Connection, Store


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks an export for. `phases` is `all`, names joined by commas, or None: what enters the corpus."""

    project: str
    format: str = "long"
    phases: str | None = None
    question: str | None = None
    raw: bool = False
    comments: bool = True


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote."""

    posts: int
    answers: int
    settled: int
    annotators: int
    phases: tuple[str, ...]


Progress = Callable[[int, int], object]
"""Called with how many posts are done, of how many at most."""


def export(store: Store, wish: Wish, out: Path, *, progress: Progress | None = None) -> Exported:
    """Write a project to `out` and return what was written; the store is read at one moment."""
    from davy.annotate.exchange.gather import choose_phases, gather, size_of
    from davy.store import projects

    format = find(wish.format)
    with store.read() as db:
        project = projects.get(db, wish.project)
        scheme = scheme_of(db, project)
        chosen = choose_phases(db, project, wish.phases)
        about = _about(db, project, scheme, wish)
        count = _Count(progress, size_of(chosen))
        rows = count.through(gather(db, project, scheme, chosen, comments=wish.comments))
        _write(format, rows, out, about)
    return replace(count.found, annotators=len(count.people), phases=tuple(phase.name for phase in chosen))


def scheme_of(db: Connection, project: Project) -> Scheme:
    """Return the scheme that a project asks."""
    from davy.annotate.agreement import scheme_of as read

    return read(db, project)


def about_files(scheme: Scheme, **more: Any) -> About:
    """Return what formats need to know, with tables read and written by `collect.files`."""
    from davy.collect import files

    def read_table(path: Path, kind: str | None) -> Iterator[pl.DataFrame]:
        return files.batches(path, format=kind)

    def write_table(frames: Iterable[pl.DataFrame], path: Path, kind: str | None) -> None:
        files.write(frames, path, format=kind)

    return About(scheme=scheme, read_table=read_table, write_table=write_table, **more)


def _about(db: Connection, project: Project, scheme: Scheme, wish: Wish) -> About:  # noqa: ARG001
    return about_files(scheme, project=project.id, title=project.title, question=wish.question, raw=wish.raw)


def _write(format: Format, rows: Iterable[Answered], out: Path, about: About) -> None:
    from davy.collect.writing import atomic

    if not format.folder:
        with atomic(out) as hidden:
            format.write(rows, hidden, replace(about, kind=ending_of(format, out)))
        return
    with _hidden_folder(out) as folder:
        format.write(rows, folder, about)
        if out.suffix.lower() == ".zip":
            with atomic(out) as hidden:
                _pack(folder, hidden)
        elif out.exists():
            raise UserError(f"{out} is there already. Name a new folder, or a file that ends in .zip.")
        else:
            os.replace(folder, out)


@contextmanager
def _hidden_folder(out: Path) -> Iterator[Path]:
    """Yield an empty folder beside `out`; what is left of it goes when the block ends."""
    if not out.parent.is_dir():
        raise UserError(f"The folder {out.parent} does not exist. Make it first: mkdir -p {out.parent}")
    if out.suffix.lower() != ".zip" and out.exists():
        raise UserError(f"{out} is there already. Name a new folder, or a file that ends in .zip.")
    try:
        hidden = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    except OSError as error:
        raise UserError(f"Can't write in {out.parent}: {error.strerror}.") from error
    try:
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _pack(folder: Path, out: Path) -> None:
    """Zip a folder; the times in it are all one, so that the same rows give the same bytes."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            about = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            with path.open("rb") as file, archive.open(about, "w", force_zip64=True) as packed:
                shutil.copyfileobj(file, packed, 1 << 20)


class _Count:
    """Counts rows as they pass and says how far the export is."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.found = Exported(0, 0, 0, 0, ())
        self.people: set[str] = set()
        self._progress = progress
        self._total = total

    def through(self, rows: Iterable[Answered]) -> Iterator[Answered]:
        posts = answers = settled = 0
        for row in rows:
            posts += 1
            answers += len(row.given)
            settled += bool(row.settled)
            self.people.update(given.annotator for given in row.given)
            if self._progress is not None and posts % 200 == 0:
                self._progress(posts, max(posts, self._total))
            yield row
        self.found = Exported(posts, answers, settled, 0, ())
        if self._progress is not None:
            self._progress(posts, posts)
