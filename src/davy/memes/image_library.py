"""The image library: fill it with licensed pictures, and search it by words and by what a picture looks like.

A folder or uploaded pictures in, or a table with the columns `image`, `words`, `licence`, `credit` and `source`. A
picture without a licence is refused: nobody could say later whether a meme may be published.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.project import images as pictures
from davy.annotation.project.images import Credit, PictureFiles, pictures_in_folder
from davy.annotation.project.store import images
from davy.annotation.project.store.images import StoredImage
from davy.core.errors import KeyedError, UserError
from davy.core.reporter import SILENT, Reporter
from davy.files import tables
from davy.image.perceptual_hash import likeness, pack_likeness, unpack_likenesses
from davy.image.picture import read_picture
from davy.memes.store import image_library
from davy.memes.store.image_library import LibraryImage
from davy.store import Store

if TYPE_CHECKING:
    import numpy as np

MOST = 24
_WORD = re.compile(r"\w+")

LONGEST_WORDS = 500
COLUMNS: tuple[str, ...] = ("image", "words", "licence", "credit", "source")


def search_library(
    library: Sequence[LibraryImage], words: str = "", *, like: np.ndarray | None = None, most: int = MOST
) -> list[LibraryImage]:
    """Return pictures that have the words, those with most of them first; `like` orders them by how alike they look.

    A word is found by its beginning: "dog" finds "dogs". Without words, every picture is looked at.
    """
    asked = list(dict.fromkeys(_words(words)))
    hits = [(_hits(asked, row), row) for row in library] if asked else [(0, row) for row in library]
    kept = [(n, row) for n, row in hits if n or not asked]
    alike = _alike([row for _, row in kept], like)
    ranked = sorted(range(len(kept)), key=lambda place: (-kept[place][0], -alike[place], place))
    return [kept[place][1] for place in ranked[:most]]


def _alike(rows: Sequence[LibraryImage], like: np.ndarray | None) -> list[float]:
    if like is None or not rows:
        return [0.0] * len(rows)
    alike: list[float] = (unpack_likenesses([row.likeness for row in rows]) @ like).tolist()
    return alike


def _hits(asked: Sequence[str], row: LibraryImage) -> int:
    known = _words(f"{row.words} {row.image.name}")
    return sum(any(word.startswith(wanted) for word in known) for wanted in asked)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("_", " "))


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """A picture file that is to come into the library."""

    name: str
    read: Callable[[], bytes]
    words: str
    credit: Credit


def add_to_library(
    store: Store, source: Path | PictureFiles, *, credit: Credit, words: str = "", by: str, reporter: Reporter = SILENT
) -> tuple[int, int]:
    """Add the pictures of a folder, a table or a form; return how many are new and how many were given.

    `credit` and `words` hold for those that have none of their own. All come in, or none.
    """
    if isinstance(source, Path) and source.is_file():
        files = list(_table_files(source, credit, words))
    else:
        found = pictures_in_folder(source) if isinstance(source, Path) else source
        files = list(_picture_files(found, credit, words))
    if not files:
        raise KeyedError("no_pictures_in", f"There are no pictures in {source}.")
    for file in files:
        _check(file)
    folder = pictures.folder_of(store)
    rows: list[LibraryImage] = []
    new_keys: set[str] = set()
    reporter.begin("Adding pictures", len(files))
    try:
        for file in files:
            picture = read_picture(file.read(), name=f"The picture {file.name!r}")
            kept = folder.put(picture)
            if kept.is_new:
                new_keys.add(kept.key)
            own = file.credit
            stored = StoredImage(
                kept.key, file.name, kept.width, kept.height, kept.size, kept.mime, own.licence, own.credit, own.source
            )
            rows.append(LibraryImage(stored, file.words, pack_likeness(likeness(picture.image))))
            reporter.advance()
        with store.write() as db:
            images.lock_files(db)
            n = image_library.add(db, rows, by=by)
            for file, row in zip(files, rows, strict=True):
                if folder.find(row.key) is None:  # whoever wrote it first has taken it away
                    new_keys.add(folder.put(read_picture(file.read())).key)
    except BaseException:
        with store.write() as db:
            pictures.discard_unused(db, folder, new_keys)
        raise
    reporter.end()
    return n, len(files)


def find_in_library(store: Store, words: str = "", *, like: Path | None = None, most: int = MOST) -> list[LibraryImage]:
    """Return pictures by words, by how alike they look to a picture file, or by both."""
    vector = None if like is None else likeness(read_picture(like, name=f"The picture {like.name!r}").image)
    with store.read() as db:
        return search_library(image_library.all_images(db), words, like=vector, most=most)


def _picture_files(files: PictureFiles, credit: Credit, words: str) -> Iterator[LibraryFile]:
    for name, read in files.read.items():
        own = files.credits.get(name) or files.credits.get(Path(name).name) or credit
        spoken = re.sub(r"[^\w]+|_+", " ", str(Path(name).with_suffix(""))).strip()
        yield LibraryFile(name, read, f"{spoken} {words}".strip(), own)


def _table_files(path: Path, credit: Credit, words: str) -> Iterator[LibraryFile]:
    with tables.open_table(str(path)) as table:
        frame = table.frame.collect()
    if "image" not in frame.columns:
        raise UserError(f"{path} has no column 'image'; it may have {', '.join(COLUMNS)}.")
    for row in frame.iter_rows(named=True):
        name = _cell(row, "image")
        own = Credit(*(_cell(row, column) or getattr(credit, column) for column in ("licence", "credit", "source")))
        file = path.parent / name
        if own.licence and not file.is_file():
            raise UserError(f"There is no picture {name[:80]!r} beside the table. Write paths from the table's folder.")
        yield LibraryFile(name, file.read_bytes, _cell(row, "words") or words, own)


def _cell(row: dict[str, Any], column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value).strip()


def _check(file: LibraryFile) -> None:
    if not file.credit.licence:
        message = f"The picture {file.name[:80]!r} has no licence. Give --licence, or a column licence."
        raise KeyedError("library_licence", message, name=file.name[:80])
    if len(file.words) > LONGEST_WORDS:
        message = f"The words of {file.name[:80]!r} have {len(file.words)} characters; at most {LONGEST_WORDS}."
        raise KeyedError("library_words", message, name=file.name[:80], most=LONGEST_WORDS)
