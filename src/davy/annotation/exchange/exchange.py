"""Export a project into a file, import a file into a project: whole or not at all.

A store and a request in, a summary out. Each format has a module
beside this one (`formats`); files are unpacked, checked and written here.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from davy.annotation.exchange.corpus import majority_flags
from davy.annotation.exchange.data_statement import DataStatement
from davy.annotation.exchange.formats import ExchangeFormat, ending_of, find_format
from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, ExportedPicture
from davy.core.answers import SEPARATOR
from davy.core.errors import UserError
from davy.files.atomic import (
    FULL_DISK,
    atomic_folder,
    atomic_path,
    refuse_existing_folder,
    scratch_folder,
    write_text,
)
from davy.files.file_safety import UploadLimits, check_contents

if TYPE_CHECKING:
    from davy.annotation.exchange.import_checks import ImportPlan
    from davy.annotation.exchange.row_import import ImportSummary, OpenTransaction
    from davy.store import Connection, Store


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What somebody asks an export for. `phases` is `all`, names, or None: what enters the corpus."""

    project: str
    format: str = "long"
    phases: str | Sequence[str] | None = None
    question: str | None = None
    raw: bool = False
    comments: bool = True


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """What an export wrote."""

    posts: int
    answers: int
    settled: int
    annotators: int
    phases: tuple[str, ...]
    flags: Mapping[str, int] = field(default_factory=dict)
    """Flag → posts of which more than half of the people raised it."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What somebody asks an import for. Without `phase`, each answer goes into the phase that its file names."""

    project: str
    format: str
    phase: str | None = None
    question: str | None = None
    prefix: str = ""
    posts_only: bool = False
    raw: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    """What is where in a long table that has its own names: `item` → `tweet_id`."""
    corpus: str | None = None
    """The public corpus that the file of answers belongs to; it knows the columns."""


Progress = Callable[[int, int], object]
"""Called with how many posts are done, of how many at most."""


def export_project(
    store: Store,
    wish: ExportRequest,
    out: Path,
    *,
    statement: Path | None = None,
    images: Path | None = None,
    progress: Progress | None = None,
) -> ExportSummary:
    """Write a project to `out`, and where asked its data statement, and its pictures into a new folder `images`.

    Return what was written. The store is read at one moment.
    """
    from davy.annotation.exchange.row_export import choose_phases, gather_rows, size_of
    from davy.annotation.project.images import folder_of, write_folder
    from davy.annotation.project.project_scheme import scheme_of
    from davy.annotation.project.store import images as stored_images
    from davy.annotation.project.store import projects

    format = find_format(wish.format)
    if not format.folder:
        ending_of(format, out)
    if images is not None:
        refuse_existing_folder(images)
    with store.read() as db:
        project = projects.get(db, wish.project)
        scheme = scheme_of(db, project)
        chosen = choose_phases(db, project, wish.phases)
        data_statement = DataStatement.of_project(db, project, scheme, chosen)
        about = ExchangeContext(
            scheme,
            project=project.id,
            title=project.title,
            question=wish.question,
            raw=wish.raw,
            statement=data_statement.text,
            picture=_pictures_of(store, db, project.id) if stored_images.count(db, project.id) else None,
        )
        count = _Count(progress, size_of(chosen))
        rows = gather_rows(db, project, scheme, chosen, comments=wish.comments)
        with _room_for(out):
            _write(format, count.through(data_statement.through(rows)), out, about)
        if images is not None:
            write_folder(folder_of(store), stored_images.of_posts(db, project.id, count.images), images)
        if statement is not None:
            write_text(statement, data_statement.text())
    return replace(count.found, annotators=len(count.people), phases=tuple(phase.name for phase in chosen))


def _pictures_of(store: Store, db: Connection, project_id: str) -> Callable[[str], ExportedPicture | None]:
    """Return what gives a post's picture by its key; None where it is not here, or was locked or withdrawn."""
    from davy.annotation.project.images import folder_of
    from davy.annotation.project.store import images as stored_images

    folder = folder_of(store)

    def read(key: str) -> ExportedPicture | None:
        row = stored_images.find(db, project_id, key)
        path = folder.find(key) if row is not None else None
        if row is None or path is None:
            return None
        return ExportedPicture(path.read_bytes(), row.licence, row.credit, row.source)

    return read


def export_survey(store: Store, project_id: str, out: Path) -> int:
    """Write the survey's scale answers of people who allowed it, by their labels' pseudonyms; return how many."""
    import polars as pl

    from davy.annotation.care.survey import linked_answers
    from davy.annotation.project.store import projects
    from davy.files import tables

    with store.read() as db:
        found = linked_answers(db, projects.get(db, project_id))
    names = {"annotator": pl.String, "question": pl.String, "words": pl.String, "answer": pl.Int64}
    rows = [(who, question.id, question.words.said_in("en"), step) for who, question, step in found]
    tables.write(pl.DataFrame(rows, schema=names, orient="row").lazy(), out)
    return len(rows)


def import_file(
    store: Store,
    wish: ImportRequest,
    file: Path,
    *,
    by: str,
    progress: Progress | None = None,
    writing: OpenTransaction | None = None,
    done: ImportSummary | None = None,
) -> ImportSummary:
    """Read a file into a project and return what came in; a file with anything wrong in it changes nothing.

    It is read through once to check it, and a second time to write it in short transactions. `writing` opens these: a
    background job keeps its own record there, and gives it as `done` when it goes on.
    """
    from davy.annotation.exchange.row_import import PAUSE, check_rows, place_rows

    format = find_format(wish.format)
    if (wish.columns or wish.corpus) and format.name != "long":
        raise UserError(f"--column and --corpus are for long tables; {format.name} knows its own columns.")
    with _answers_of(wish.corpus, file) as file, _unpacked(format, file) as source:
        with store.read() as db:
            plan, about = _plan(db, wish, format, file)
            total = check_rows(db, format.read(source, about), plan, progress)
        return place_rows(
            writing or (lambda _: store.write()),
            format.read(source, about),
            plan,
            total,
            by=by,
            done=done,
            pause=PAUSE if store.sqlite else 0.0,
            progress=progress,
        )


def add_posts(store: Store, project_id: str, phase: str, rows: Sequence[AnsweredPost], *, by: str) -> ImportSummary:
    """Add posts to a phase of a project; where one does not fit, none is added."""
    from davy.annotation.exchange.import_checks import ImportPlan
    from davy.annotation.exchange.row_import import check_rows, place_rows
    from davy.annotation.project.project_scheme import scheme_of
    from davy.annotation.project.store import phases, projects

    with store.read() as db:
        project = projects.get(db, project_id)
        chosen = phases.by_name(db, project_id, phase)
        plan = ImportPlan(project, scheme_of(db, project), {chosen.name: chosen}, chosen, posts_only=True)
        total = check_rows(db, rows, plan)
    return place_rows(lambda _: store.write(), rows, plan, total, by=by, pause=0.0)


def _plan(
    db: Connection, wish: ImportRequest, format: ExchangeFormat, file: Path
) -> tuple[ImportPlan, ExchangeContext]:
    from davy.annotation.exchange.import_checks import ImportPlan
    from davy.annotation.project.project_scheme import scheme_of
    from davy.annotation.project.store import phases, projects

    project = projects.get(db, wish.project)
    scheme = scheme_of(db, project)
    every = {phase.name: phase for phase in phases.of_project(db, project.id)}
    if not every:
        raise UserError(f"Project {project.id!r} has no phases yet. Add one first.", status=409)
    chosen = None if wish.phase is None else phases.by_name(db, project.id, wish.phase)
    kind = None if format.folder or file.is_dir() or file.suffix.lower() == ".zip" else ending_of(format, file)
    about = ExchangeContext(
        scheme, project=project.id, question=wish.question, raw=wish.raw, kind=kind, columns=wish.columns
    )
    return ImportPlan(project, scheme, every, chosen, wish.prefix, wish.posts_only), about


@contextmanager
def _answers_of(corpus: str | None, file: Path) -> Iterator[Path]:
    """Yield the file, or of a public corpus its answers as a long table."""
    if corpus is None:
        yield file
        return
    from davy.corpus.collect import corpora
    from davy.files import tables

    with tempfile.TemporaryDirectory(prefix="davy-import-", ignore_cleanup_errors=True) as folder:
        made = Path(folder) / f"{corpus}.parquet"
        tables.write(corpora.load(corpus, file, answers=True).posts, made)
        yield made


@contextmanager
def _unpacked(format: ExchangeFormat, file: Path) -> Iterator[Path]:
    """Yield what a format reads: the file itself, or the folder that a zip holds."""
    if not file.exists():
        raise UserError(f"{file} does not exist.")
    zipped = file.is_file() and file.suffix.lower() == ".zip"
    if format.folder and not zipped and not file.is_dir():
        raise UserError(f"{file.name} is no {format.name} export. Give a folder, or a file that ends in .zip.")
    if not zipped:
        if file.is_dir() and not format.folder and format.name != "doccano":
            raise UserError(f"{file} is a folder. Name the file to read.")
        yield file
        return
    if not format.folder and format.name != "doccano":
        raise UserError(f"{file.name} is a zip, which {format.name} is not. Unpack it and name the file.")
    check_contents(file, file.name, UploadLimits())
    with tempfile.TemporaryDirectory(prefix="davy-import-", ignore_cleanup_errors=True) as folder:
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        yield _top(Path(folder))


def _top(folder: Path) -> Path:
    """Return the folder that an archive is about: many zips hold one folder with everything in it."""
    inside = [path for path in folder.iterdir() if path.name != "__MACOSX"]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() and inside[0].name != "default" else folder


@contextmanager
def _room_for(out: Path) -> Iterator[None]:
    """Turn a full disk into one line, also where it is polars that met it: its errors carry the number in words."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        if getattr(error, "errno", None) in FULL_DISK or any(f"(os error {n})" in str(error) for n in FULL_DISK):
            raise UserError(
                f"No room left to write {out}. Nothing was written. Free some space.", status=507
            ) from error
        raise


def _write(format: ExchangeFormat, rows: Iterable[AnsweredPost], out: Path, about: ExchangeContext) -> None:
    if not format.folder:
        with atomic_path(out) as hidden:
            format.write(rows, hidden, replace(about, kind=ending_of(format, out)))
        return
    if out.suffix.lower() != ".zip":
        with atomic_folder(out) as folder:
            format.write(rows, folder, about)
        return
    with scratch_folder(out) as folder, atomic_path(out) as hidden:
        format.write(rows, folder, about)
        _pack(folder, hidden)


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
        self.found = ExportSummary(0, 0, 0, 0, ())
        self.people: set[str] = set()
        self.images: set[str] = set()
        self._progress = progress
        self._total = total

    def through(self, rows: Iterable[AnsweredPost]) -> Iterator[AnsweredPost]:
        posts = answers = settled = 0
        flags: Counter[str] = Counter()
        for row in rows:
            posts += 1
            flags.update((majority_flags(row) or "").split(SEPARATOR) if row.given else ())
            answers += len(row.given)
            settled += bool(row.settled)
            self.people.update(given.annotator for given in row.given)
            if row.image is not None:
                self.images.add(row.image)
            if self._progress is not None and posts % 200 == 0:
                self._progress(posts, max(posts, self._total))
            yield row
        flags.pop("", None)
        self.found = ExportSummary(posts, answers, settled, 0, (), dict(flags.most_common()))
        if self._progress is not None:
            self._progress(posts, posts)
