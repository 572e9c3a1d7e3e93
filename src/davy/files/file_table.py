"""A file's rows as a polars frame that streams, with what the frame cannot say."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from davy.core.errors import UnknownName, UserError, nearest
from davy.core.post import POST_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

ALWAYS_JSON = "meta"
MOST_COLUMNS = 5_000
"""The most columns of a table that is read from text: far more than posts have, and few enough for any memory."""
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class FileTable:
    """Rows of one file. `json` names the text columns whose cells are JSON, in files as in frames.

    `unproven` are those of them that came as text, so that nobody has looked yet whether they are JSON. `parts` are the
    files that the table was put together from, each with its columns.
    """

    name: str
    frame: pl.LazyFrame
    json: frozenset[str]
    rows: int
    unproven: frozenset[str] = frozenset()
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def columns(self) -> list[str]:
        """The column names in their order."""
        return self.frame.collect_schema().names()

    def select(self, columns: Iterable[str]) -> FileTable:
        """Return the table with these columns only; an unknown one is an error that lists what is there."""
        wanted = list(columns)
        for column in wanted:
            require_column(column, self.columns, self.name)
        some = set(wanted)
        return replace(self, frame=self.frame.select(wanted), json=self.json & some, unproven=self.unproven & some)


def require_column(column: str, columns: list[str], name: str, option: str = "") -> None:
    """Raise unless the column is there, with the columns seen and the nearest."""
    if column not in columns:
        ask = f" Name one with {option}." if option else ""
        hint = nearest(column, [c for c in columns if len(c) <= _LONGEST])
        raise UnknownName(f"{name} has no column {column!r}; it has {list_columns(columns)}.{hint}{ask}")


def list_columns(columns: list[str]) -> str:
    """Return the column names in one line, the first thirty where there are more.

    In a file without a header the "names" are the first post, which errors must not quote: long ones are left out.
    """
    more = f" and {len(columns) - 30} more" if len(columns) > 30 else ""
    short = (" ".join(c.split()) if len(c) <= _LONGEST else f"(a name of {len(c)} characters)" for c in columns[:30])
    return ", ".join(short) + more


def refuse_many_columns(columns: int, name: str) -> None:
    """Raise where a table of text has more columns than one can be read with; in JSON every key is a column."""
    if columns > MOST_COLUMNS:
        raise UserError(
            f"{name} has {columns:,} columns or more; at most {MOST_COLUMNS:,}. Put what differs from row to row into "
            "one column, such as meta.",
            status=413,
        )


def refuse_odd_names(columns: list[str], name: str) -> None:
    """Raise for column names that are there twice, or that polars would take for a pattern."""
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise UserError(
                f"{name} has two columns of one name; it has {list_columns(columns)}. Is there a header? Rename one."
            )
        if column == "*" or (column.startswith("^") and column.endswith("$")):
            raise UserError(f"{name} has a column called {column!r}, which means a pattern here. Rename it.")
        seen.add(column)


def is_always_text(column: str) -> bool:
    """Return whether a column is text whatever its cells look like: ids and labels are names, not numbers."""
    return column in POST_COLUMNS or column == "verdict" or column.endswith((".gold", ".label"))


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn what polars says about a damaged file into one line; its own words may quote posts, so they are left out."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        user = _inner(error)
        if user is not None:
            raise user from None
        if isinstance(error, OSError) and error.errno:
            raise UserError(f"{name}: {error.strerror}.") from error
        kind = type(error).__name__
        raise UserError(
            f"{name} can't be read to its end ({kind}): it is damaged or not what its name says."
        ) from error


def _inner(error: BaseException) -> UserError | None:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, UserError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None
