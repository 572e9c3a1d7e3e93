"""What commands print with: results on stdout, progress and errors on stderr.

Tables mask hurtful words unless the user asked for `--plain`.
"""

from __future__ import annotations

import json as _json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from davy.actions.reporter import Reporter

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


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


def command_line() -> list[str]:
    """Return the command as records and reports quote it."""
    return ["davy", *sys.argv[1:]]


class ShellReporter(Reporter):
    """Draws a bar on stderr for each task when that is a terminal, and prints notes there. Use it in a `with` block."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Progress | None = None

    def begin(self, task: str, total: int | None = None) -> None:
        """Draw a new bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.end()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=err(),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._bar.start()
        self._bar.add_task(task, total=total)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], steps)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = None

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar is not None and sys.stderr.isatty():
            self._bar.console.print(line, markup=False)
        else:
            note(line)

    def __enter__(self) -> ShellReporter:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


@contextmanager
def progress(task: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many more steps of a task are done."""
    with ShellReporter() as reporter:
        reporter.begin(task, total)
        yield reporter.advance
