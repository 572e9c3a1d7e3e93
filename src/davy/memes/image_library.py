"""Search the image library: by words, and by what a picture looks like.

A library and a question in, its pictures out, the best first. Nothing here reads files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from davy.image.perceptual_hash import unpack_likenesses
from davy.memes.store.image_library import LibraryImage

if TYPE_CHECKING:
    import numpy as np

MOST = 24
_WORD = re.compile(r"\w+")


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
