"""Pictures found by the names that posts use: as a path, by its last part, or without its ending.

Corpora write `img/01.png`, `01.png` or `01` for one file. What two files could mean is none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from davy.core.errors import UserError
from davy.image.picture import Picture, read_picture

ENDINGS: tuple[str, ...] = (".png", ".jpg", ".jpeg", ".webp", ".gif")

Pictures = Callable[[str], Picture]
"""Returns the picture that a post's `image` names: what a detector that looks at pictures is given."""


def last_part(name: str) -> str:
    """Return the name of a file without its folders."""
    return PurePosixPath(name.replace("\\", "/")).name


def _stem(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).stem


_FORMS: tuple[Callable[[str], str], ...] = (str, last_part, _stem)


class NameIndex:
    """Files by the names that posts may use for them; made once, asked often."""

    def __init__(self, known: Iterable[str]) -> None:
        self._indexes: list[dict[str, str | None]] = [{} for _ in _FORMS]
        for name in known:
            for form, index in zip(_FORMS, self._indexes, strict=True):
                index[form(name)] = None if form(name) in index else name

    def find(self, name: str) -> str | None:
        """Return the file that a name means; None where none does, or several could."""
        matches = (index.get(form(name)) for form, index in zip(_FORMS, self._indexes, strict=True))
        return next((source for source in matches if source is not None), None)


def match_names(known: Iterable[str], wanted: Iterable[str]) -> dict[str, str | None]:
    """Return for each wanted name the file that it means, or None."""
    index = NameIndex(known)
    return {name: index.find(name) for name in wanted}


def picture_paths(folder: Path) -> dict[str, Path]:
    """Return the picture files in a folder, the folders in it and those that it links to, by their path within it."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder. Name the one that holds the pictures.")
    paths: list[Path] = []
    seen: set[Path] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        real = Path(place).resolve()
        if real in seen:  # a link to a folder that was read: its pictures are there once
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        paths += (Path(place, name) for name in files if Path(name).suffix.lower() in ENDINGS)
    return {path.relative_to(folder).as_posix(): path for path in sorted(paths) if path.is_file()}


def pictures_in(folder: Path) -> Pictures:
    """Return what reads the pictures of a folder by the names that posts use."""
    paths = picture_paths(folder)
    index = NameIndex(paths)

    def read(name: str) -> Picture:
        source = index.find(name)
        if source is None:
            raise UserError(f"There is no picture {name[:80]!r} in {folder}, or several could be meant.")
        return read_picture(paths[source], name=f"The picture {source!r}")

    return read
