"""What commands print with: results on stdout, progress and errors on stderr.

Tables mask hurtful words unless the user asked for `--plain`.
"""

from __future__ import annotations

import json as _json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.reporter import Reporter
from davy.shell.interrupts import InterruptWatch

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from davy.report.tables import Table

PIPE_WIDTH = 200
"""How wide tables may get where no terminal says: COLUMNS sets another width."""


@dataclass
class _Settings:
    plain: bool = False
    latex: bool = False
    """Whether tables are printed as LaTeX, and lines around them as its comments."""


settings = _Settings()


def out() -> Console:
    """Return the console for results. In a pipe or a file it is wide, so that no interval is cut in two."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    width = PIPE_WIDTH if piped and "COLUMNS" not in os.environ else None
    return Console(file=sys.stdout, highlight=False, soft_wrap=piped, width=width)


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


def use_latex(wanted: bool, *, json: bool) -> None:
    """Print tables as LaTeX for booktabs from now on, or as people read them in a terminal."""
    if wanted and json:
        raise UserError("--latex and --json both want stdout. Choose one.")
    settings.latex = wanted


def show(grid: Table) -> None:
    """Print a table of a report."""
    if settings.latex:
        print(grid.latex())
    else:
        out().print(grid.rich(plain=settings.plain))


def line(text: str = "", style: str | None = None) -> None:
    """Print a line of a result beside its tables."""
    if settings.latex:
        print(f"% {text}" if text else "")
    else:
        out().print(text, style=style, markup=False)


def json(value: Any) -> None:
    """Print what HTTP would return."""
    print(_json.dumps(value, ensure_ascii=False, indent=2, default=str))


def yaml_file(content: bytes, *, as_json: bool) -> None:
    """Print a YAML file as it is, or what it holds as JSON."""
    text = content.decode(errors="replace")
    if as_json:
        from davy.files.yaml_nodes import load_values

        json(load_values(text, "the file"))
    else:
        print(text, end="")


def record(thing: object, *names: str) -> dict[str, Any]:
    """Return some attributes by their names, as JSON has them: moments are written as ISO 8601."""
    values = {name: getattr(thing, name) for name in names}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def masked_text(text: str) -> str:
    """Return text as a person may see it: masked, unless they asked for `--plain`."""
    if settings.plain:
        return text
    from davy.text.mask import mask

    return mask(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", right: Sequence[str] = ()) -> None:
    """Print a table with masked cells; columns named in `right` are aligned right."""
    if settings.latex:
        from davy.report.tables import Column, Table

        kinds = [Column(name, "number" if name in right else "text") for name in columns]
        cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
        show(Table.of(kinds, cells, title=title))
        return
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in columns:
        grid.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(masked_text("" if cell is None else str(cell))) for cell in row))
    out().print(grid)


def command_line() -> list[str]:
    """Return the command as records and reports quote it."""
    return ["davy", *sys.argv[1:]]


NO_RESULT = "davy: Interrupted. No half-written file is left; run the same command again."
STATUS_SECONDS = (0.5, 30.0)
"""How often a task's status is shown: on a terminal, and in a log."""


class ShellReporter(Reporter):
    """Draws a bar on stderr for each task when that is a terminal, and prints notes there. Use it in a `with` block.

    Within the block Ctrl-C is answered within two seconds, and what an action has kept is said.
    """

    def __init__(self) -> None:
        super().__init__()
        self._bar: Progress | None = None
        self._task = ""
        self._kept = ""
        self._shown = time.monotonic()
        self._interrupts = InterruptWatch(lambda: [*self._kept_line(), NO_RESULT])

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
        self._task, self._shown = task, time.monotonic()

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], steps)
        self.check()

    def status(self, line: Callable[[], str]) -> None:
        """Show where the task is: beside the bar, or now and then as a line."""
        bar = self._bar if self._bar is not None and sys.stderr.isatty() else None
        if time.monotonic() - self._shown < STATUS_SECONDS[bar is None]:
            return
        self._shown = time.monotonic()
        if bar is not None:
            bar.update(bar.task_ids[0], description=f"{self._task}: {line()}")
        else:
            note(f"  {line()}")

    def keep(self, what: str) -> None:
        """Remember what is kept, for the line that Ctrl-C prints."""
        self._kept = what

    @contextmanager
    def unbroken_steps(self) -> Iterator[None]:
        """Let Ctrl-C wait for the end of a step."""
        with self._interrupts.unbroken():
            yield

    def check(self) -> None:
        """Raise where Ctrl-C was pressed during a step."""
        self._interrupts.check()

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
        self._interrupts.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()
        self._interrupts.__exit__(kind, error, at)
        for line in self._kept_line() if kind is KeyboardInterrupt else ():
            note(line)

    def _kept_line(self) -> list[str]:
        return [f"Kept: {self._kept}. The same command goes on from there."] if self._kept else []


@contextmanager
def progress(task: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many more steps of a task are done."""
    with ShellReporter() as reporter:
        reporter.begin(task, total)
        yield reporter.advance
