"""Pictures of a project: files that posts name in; stored pictures, and posts that name them by key, out.

Reading and writing pictures is slow, so it comes first (`storing_pictures`), outside of the transaction that then
notes them (`add_pictures`). What was kept and not noted, because something failed, is removed again. Projects share
files, so both look at the files under one lock (`store.images.lock_files`).
"""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from davy.annotation.exchange.spreadsheet_cells import escape_formula, unescape_formula
from davy.annotation.project.store import images, picture_locks, posts
from davy.annotation.project.store.images import StoredImage
from davy.core import UserError
from davy.files.atomic import atomic_folder
from davy.image.image_folder import ImageFile, ImageFolder
from davy.image.picture import MAX_BYTES, read_picture
from davy.image.picture_names import ENDINGS, last_part, match_names, picture_paths
from davy.store import Connection, Store

if TYPE_CHECKING:
    import polars as pl

CREDITS_FILE = "credits.csv"
"""A table beside the pictures: `name`, `licence`, `credit`, `source`. Exports write it; imports and uploads read it."""

LONGEST_CREDIT = 500
_CREDIT_COLUMNS = ("licence", "credit", "source")
_SHOWN_NAMES = 5


@dataclass(frozen=True, slots=True)
class Credit:
    """Whose a picture is, and under what licence it may be used."""

    licence: str | None = None
    credit: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        for value in (self.licence, self.credit, self.source):
            if value is not None and len(value) > LONGEST_CREDIT:
                raise UserError(f"Licence, credit and source have at most {LONGEST_CREDIT} characters each.")


@dataclass(frozen=True, slots=True)
class PictureFiles:
    """Pictures by name, each read when it is wanted; `credits` by name where a table came with them."""

    place: str
    """What errors call the folder or the archive."""
    read: Mapping[str, Callable[[], bytes]]
    credits: Mapping[str, Credit] = field(default_factory=dict)

    def matches(self, wanted: Iterable[str]) -> dict[str, str | None]:
        """Return the file that each name means, or None."""
        return match_names(self.read, wanted)


def pictures_in_folder(folder: Path) -> PictureFiles:
    """Return the pictures in a folder and the folders in it."""
    paths = picture_paths(folder)
    table = folder / CREDITS_FILE
    credits = read_credits(table.read_bytes()) if table.is_file() else {}
    return PictureFiles(str(folder), {name: path.read_bytes for name, path in paths.items()}, credits)


def pictures_in_zip(path: Path, name: str) -> PictureFiles:
    """Return the pictures in a zip that was checked on the way in (`web.uploads`); folders of macOS are left out."""

    def reader(member: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            with zipfile.ZipFile(path) as archive, archive.open(member) as file:
                return file.read(MAX_BYTES + 1)

        return read

    with zipfile.ZipFile(path) as archive:
        members = [entry for entry in archive.infolist() if not entry.is_dir() and "__MACOSX" not in entry.filename]
    readers = {entry.filename: reader(entry) for entry in members if entry.filename.lower().endswith(ENDINGS)}
    tables = [entry for entry in members if last_part(entry.filename) == CREDITS_FILE]
    return PictureFiles(name, readers, read_credits(reader(tables[0])()) if tables else {})


def joined(parts: Sequence[PictureFiles]) -> PictureFiles:
    """Return the pictures of several folders or archives as one."""
    return PictureFiles(
        ", ".join(part.place for part in parts),
        {name: read for part in parts for name, read in part.read.items()},
        {name: credit for part in parts for name, credit in part.credits.items()},
    )


def folder_of(store: Store) -> ImageFolder:
    """Return where a store's pictures are kept."""
    path = images.folder_path(store.url)
    if path is None:
        raise UserError("With this database set DAVY_IMAGES to the folder for pictures, one that all servers share.")
    return ImageFolder(path)


class StoredPictures(dict[str, StoredImage]):
    """Pictures whose files are kept, by the names that posts use; what is not there any more can be kept again."""

    def __init__(self, folder: ImageFolder, files: PictureFiles) -> None:
        super().__init__()
        self.folder = folder
        self.new_keys: set[str] = set()
        """Keys of the files that came with these pictures; the others were there before, or came with others."""
        self._files = files
        self._sources: dict[str, str] = {}

    def put(self, name: str, source: str, credit: Credit) -> None:
        """Keep the picture in the file `source` as what posts call `name`."""
        kept = self._put_file(source)
        if kept.is_new:
            self.new_keys.add(kept.key)
        self._sources[name] = source
        self[name] = StoredImage(
            key=kept.key,
            name=name,
            width=kept.width,
            height=kept.height,
            size=kept.size,
            mime=kept.mime,
            licence=credit.licence,
            credit=credit.credit,
            source=credit.source,
        )

    def put_missing(self) -> None:
        """Write the files again that somebody removed since."""
        for name, image in self.items():
            if self.folder.find(image.key) is None:
                self._put_file(self._sources[name])
                self.new_keys.add(image.key)

    def _put_file(self, source: str) -> ImageFile:
        return self.folder.put(read_picture(self._files.read[source](), name=f"The picture {source!r}"))


@contextmanager
def storing_pictures(
    store: Store,
    files: PictureFiles,
    wanted: Collection[str],
    *,
    credit: Credit | None = None,
    later: bool = False,
) -> Iterator[StoredPictures]:
    """Keep the pictures that posts want, and yield them for `add_pictures` by the names that posts use.

    Where one is missing, nothing is kept; with `later`, it may come another time. When the block fails, the files that
    it wrote and that nobody has go again. Somebody else who is about to note one of them loses nothing: `add_pictures`
    writes it again.
    """
    stored = StoredPictures(folder_of(store), files)
    try:
        _store(stored, files, wanted, credit or Credit(), later=later)
        yield stored
    except BaseException:
        if stored.new_keys:
            with store.write() as db:
                discard_unused(db, stored.folder, stored.new_keys)
        raise


def _store(
    stored: StoredPictures, files: PictureFiles, wanted: Collection[str], credit: Credit, *, later: bool
) -> None:
    sources = files.matches(sorted(wanted))
    missing = [name for name, source in sources.items() if source is None]
    if missing and not later:
        raise missing_pictures(missing, len(sources), files.place)
    for name, source in sources.items():
        if source is not None:
            stored.put(name, source, files.credits.get(source) or files.credits.get(last_part(source)) or credit)


def missing_pictures(missing: Sequence[str], among: int, place: str) -> UserError:
    """Return the error that lists pictures which posts name and nobody gave."""
    listed = ", ".join(repr(name[:80]) for name in missing[:_SHOWN_NAMES])
    more = f" and {len(missing) - _SHOWN_NAMES:,} more" if len(missing) > _SHOWN_NAMES else ""
    return UserError(
        f"{len(missing):,} of the {among:,} pictures that posts name are not in {place}: {listed}{more}. "
        "Add them, or give them later on the project's page Pictures.",
        status=422,
    )


def wanted_names(frames: Iterable[pl.DataFrame]) -> set[str]:
    """Return the images that posts in frames name."""
    return {name for frame in frames if "image" in frame.columns for name in frame["image"].drop_nulls() if name}


def with_known_keys(db: Connection, project: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose posts name pictures that a project has by key, as its posts do; other names stay."""
    import polars as pl

    if not wanted_names([frame]):
        return frame
    keys = {image.name: image.key for image in images.of_project(db, project)}
    return frame.with_columns(pl.col("image").cast(pl.String).replace(keys)) if keys else frame


def add_pictures(db: Connection, project: str | None, stored: StoredPictures | None, *, by: str) -> int:
    """Note stored pictures as a project's, let its posts that name them have their keys; return how many are new.

    A file that somebody else wrote first, and took away when their own upload failed, is written again.
    """
    if not stored:
        return 0
    images.lock_files(db)
    n = images.add(db, project, stored.values(), by=by)
    stored.put_missing()
    if project is not None:
        images.link(db, project, {name: image.key for name, image in stored.items() if name != image.key})
    return n


def missing_names(db: Connection, project: str) -> list[str]:
    """Return the pictures that a project's posts name and that are not here."""
    wanted = images.names_wanted(db, project)
    known = images.keys_of(db, project, wanted)
    return [name for name in wanted if name not in known]


def discard_unused(db: Connection, folder: ImageFolder, keys: Iterable[str]) -> None:
    """Remove files that no project has, such as those of a project that could not be made.

    `db` writes: until it ends, nobody notes one of these pictures; whoever does so next finds that its file is gone and
    writes it again.
    """
    images.lock_files(db)
    keys = set(keys)
    for key in keys - images.keys_in_use(db, keys):
        folder.remove(key)


def add_missing(
    store: Store, project: str, files: PictureFiles, *, by: str, credit: Credit | None = None
) -> tuple[int, list[str]]:
    """Add those pictures that a project's posts still wait for; return how many came, and the names still missing."""
    with store.read() as db:
        wanted = missing_names(db, project)
    with storing_pictures(store, files, wanted, credit=credit, later=True) as stored, store.write() as db:
        return add_pictures(db, project, stored, by=by), missing_names(db, project)


def lock_picture(store: Store, project: str, post_id: str, *, by: str) -> int:
    """Lock the picture of a post as a suspected picture of child abuse, and return how many files that locked.

    First in the database, so that nobody gets it from now on, then the files themselves.
    """
    with store.write() as db:
        keys = picture_locks.lock(db, project, posts.find_key(db, project, post_id), by=by)
    folder = folder_of(store)
    for key in keys:
        folder.lock(key)
    return len(keys)


def files_of(folder: ImageFolder, rows: Sequence[StoredImage]) -> list[tuple[str, Path | bytes]]:
    """Return what an export of pictures holds, by name: each file under its key, then the table of credits.

    One whose file is gone is an error, since an export must hold all; it is said before anything is written or sent.
    """
    files: list[tuple[str, Path | bytes]] = []
    for row in rows:
        path = folder.find(row.key)
        if path is None:
            raise UserError(
                f"The file of picture {row.name[:80]!r} is gone from {folder.path}. Restore a backup.", status=409
            )
        files.append((f"{row.key}.png", path))
    return [*files, (CREDITS_FILE, write_credits(rows))]


def write_folder(folder: ImageFolder, rows: Sequence[StoredImage], out: Path) -> None:
    """Write pictures and their credits into a new folder, which appears when it is complete."""
    with atomic_folder(out) as hidden:
        for name, data in files_of(folder, rows):
            if isinstance(data, bytes):
                (hidden / name).write_bytes(data)
            else:
                shutil.copyfile(data, hidden / name)


def write_credits(rows: Iterable[StoredImage]) -> bytes:
    """Return the table of credits for pictures that are written under their keys."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(("name", "licence", "credit", "source", "file"))
    for row in rows:
        cells = (row.licence or "", row.credit or "", row.source or "", row.name)
        table.writerow((f"{row.key}.png", *map(escape_formula, cells)))
    return out.getvalue().encode()


def read_credits(raw: bytes) -> dict[str, Credit]:
    """Return whose the pictures are, by name, from a table of credits."""
    try:
        rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error):
        raise UserError(
            f"{CREDITS_FILE} can't be read. Save it as UTF-8, with columns name, licence, credit."
        ) from None
    return {
        row["name"]: Credit(*(unescape_formula((row.get(column) or "").strip()) or None for column in _CREDIT_COLUMNS))
        for row in rows
        if row.get("name")
    }
