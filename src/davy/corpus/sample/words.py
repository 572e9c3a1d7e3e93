"""Word lists for samplers, and which posts hold one of their words, on all cores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from davy.core.errors import UserError, nearest
from davy.files.cores import usable_cores
from davy.text.column_match import ColumnMatcher
from davy.text.lexicons import read
from davy.text.lexicons.codec import decode_line

if TYPE_CHECKING:
    import polars as pl

PACKAGE = "davy.corpus.sample.plans"
_PART = 20_000


def load(name: str, folder: Path | None = None) -> ColumnMatcher:
    """Return a word list: one that ships with the plans, a lexicon's name, or a file, from the plan's folder first."""
    shipped = {file.name.rsplit(".", 1)[0]: file for file in resources.files(PACKAGE).iterdir() if "-" in file.name}
    if name in shipped:
        file = shipped[name]
        if file.name.endswith(".lexicon"):
            lines = file.read_text("ascii").splitlines()
            return ColumnMatcher(read.parse_entry(decode_line(line), "en") for line in lines if line and line[0] != "#")
        with resources.as_file(file) as path:
            return ColumnMatcher(read.load(path))
    near = folder / name if folder is not None else None
    if near is not None and near.is_file():
        return ColumnMatcher(read.load(near))
    known = [*shipped, *read.SHIPPED, "masking"]
    if name not in known and not Path(name).is_file():
        raise UserError(
            f"There is no word list {name!r}: give a file or one of {', '.join(known)}.{nearest(name, known)}"
        )
    return ColumnMatcher(read.load(name))


def contains_words(texts: pl.Series, terms: ColumnMatcher) -> pl.Series:
    """Return whether each text holds one of the words; polars lets Python's lock go while it searches."""
    import polars as pl

    if len(texts) <= _PART:
        return terms.contains_any(texts)
    parts = [texts[start : start + _PART] for start in range(0, len(texts), _PART)]
    with ThreadPoolExecutor(usable_cores()) as pool:
        return pl.concat(list(pool.map(terms.contains_any, parts)))
