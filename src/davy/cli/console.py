"""What commands print with: results on stdout, progress and errors on stderr.

Tables mask hurtful words unless the user asked for `--plain`.
"""

from __future__ import annotations

import json as _json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class _Settings:
    plain: bool = False


settings = _Settings()


def out() -> Console:
    """Return the console for results."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty())


def err() -> Console:
    """Return the console for progress and errors."""
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, stderr=True)


def error(message: str) -> None:
    """Print one line that says what is wrong and what to do."""
    print(f"davy: {message}", file=sys.stderr)


def note(message: str) -> None:
    """Print one line about what was done to stderr, so that stdout stays the result."""
    print(message, file=sys.stderr)


def json(value: Any) -> None:
    """Print what HTTP would return."""
    print(_json.dumps(value, ensure_ascii=False, indent=2, default=str))


def masked_text(text: str) -> str:
    """Return text as a person may see it: masked, unless they asked for `--plain`."""
    if settings.plain:
        return text
    from davy.text.mask import mask

    return mask(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", right: Sequence[str] = ()) -> None:
    """Print a table with masked cells; columns named in `right` are aligned right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in columns:
        grid.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(masked_text("" if cell is None else str(cell))) for cell in row))
    out().print(grid)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Any]:
    """Yield a function that takes how many more are done; draws a bar on stderr when that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err(),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda more=1: bar.advance(task, more)
