"""Tables that know what their columns are, for the shell, pages, spreadsheets and papers.

Rows in; rich, HTML, CSV, Markdown or LaTeX out. A `Metric` in a cell brings its
n and its interval along; texts are masked wherever people read them, and left
as they are only in CSV, which is data.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from davy.core.metric import Metric
from davy.text.mask import mask, mask_segments

if TYPE_CHECKING:
    from rich.table import Table as RichTable


KINDS: tuple[str, ...] = ("text", "name", "number", "count", "share", "metric")
MISSING = "–"
STACKED = 2
"""From so many columns of metrics on, a page shows interval and n under the value: three models fit a screen."""
MOST_COLUMNS = 3
"""Tables with metrics, or with more columns than this, become a list of records on a phone."""
SHORT = 8
"""A column of names of at most so many characters is a narrow one."""


def true_minus(number: str) -> str:
    """Return a written number with a minus sign in the place of a hyphen."""
    return number.replace("-", "−")


@dataclass(frozen=True, slots=True)
class Column:
    """One column; its kind sets alignment and format: text (masked), name, number, count, share (in %), metric."""

    name: str
    kind: str = "name"
    digits: int | None = None
    """Digits after the point; by kind when not given (number and metric 3, share 1)."""
    scale: tuple[float, float] = (0.0, 1.0)
    """The ends of the picture that a metric's interval is drawn on."""
    best: str = ""
    """`high` or `low`: print the best value of the column in bold."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"column {self.name!r}: kind {self.kind!r}; one of {', '.join(KINDS)}")

    @property
    def right(self) -> bool:
        """Whether cells line up at the right."""
        return self.kind not in ("text", "name")

    def shown(self, cell: Any) -> str:
        """Return a cell as a person reads it."""
        if cell is None:
            return MISSING
        if isinstance(cell, Metric):
            return self._metric(cell)
        if self.kind == "text":
            return mask(str(cell))
        if self.kind in ("name", "metric") or isinstance(cell, str):
            return str(cell)
        return self.number(cell)

    def number(self, value: float) -> str:
        """Return a number in the column's format, with a true minus; what rounds to zero has none."""
        if value != value:  # NaN
            return MISSING
        if self.kind == "count":
            text = f"{value:z,.0f}"
        elif self.kind == "share":
            text = f"{100 * value:z.{1 if self.digits is None else self.digits}f} %"
        else:
            text = f"{value:z.{3 if self.digits is None else self.digits}f}"
        return true_minus(text)

    def _metric(self, metric: Metric) -> str:
        if metric.value is None:
            return metric.note or MISSING
        if metric.low is None or metric.high is None:
            return self.number(metric.value)
        return f"{self.number(metric.value)} [{self.number(metric.low)}, {self.number(metric.high)}]"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, columns and rows; every row has a cell for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(f"row {number} has {len(row)} cells for {len(self.columns)} columns")

    @staticmethod
    def of(columns: Sequence[str | Column], rows: Iterable[Sequence[Any]], *, title: str = "", note: str = "") -> Table:
        """Return a table; a column given by name alone gets its kind from its cells."""
        cells = tuple(tuple(row) for row in rows)
        made = [
            column if isinstance(column, Column) else Column(column, _kind([row[i] for row in cells if i < len(row)]))
            for i, column in enumerate(columns)
        ]
        return Table(tuple(made), cells, title, note)

    def rich(self, *, plain: bool = False) -> RichTable:
        """Return a table for the shell; with `plain`, texts are not masked."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        grid = RichTable(title=self.title or None, caption=self.note or None, box=box.SIMPLE_HEAD, title_justify="left")
        for column in self.columns:
            grid.add_column(column.name, justify="right" if column.right else "left", overflow="fold")
        for row, bold in zip(self.rows, self._bold(), strict=True):
            cells = (
                str(cell) if plain and column.kind == "text" and cell is not None else column.shown(cell)
                for column, cell in zip(self.columns, row, strict=True)
            )
            grid.add_row(*(Text(cell, style="bold" if best else "") for cell, best in zip(cells, bold, strict=True)))
        return grid

    def html(self) -> str:
        """Return an HTML table that scrolls on its own on a narrow screen; all texts escaped and veiled."""

        columns = list(zip(self.columns, self._classes(), strict=True))

        def cell(column: Column, css: str, value: Any, best: bool) -> str:
            after = ""
            inner = (
                hidden_text(str(value)) if column.kind == "text" and value is not None else escape(column.shown(value))
            )
            if isinstance(value, Metric):
                inner = MISSING if value.value is None else escape(column.number(value.value))
                after = interval_picture(value, column.scale, column.number)
            inner = f"<strong>{inner}</strong>" if best else inner
            indent = " indent" if isinstance(value, str) and value.startswith("  ") else ""
            return f'<td class="{css}{indent}" data-head="{escape(column.name)}">{inner}{after}</td>'

        head = "".join(f'<th scope="col" class="{css}">{escape(c.name)}</th>' for c, css in columns)
        body = "".join(
            "<tr>" + "".join(cell(*c, v, b) for c, v, b in zip(columns, row, bold, strict=True)) + "</tr>\n"
            for row, bold in zip(self.rows, self._bold(), strict=True)
        )
        empty = (
            f'<tr><td colspan="{len(self.columns)}" class="quiet">Nothing to show.</td></tr>' if not self.rows else ""
        )
        metrics = sum(column.kind == "metric" for column in self.columns)
        width = " records" if metrics or len(self.columns) > MOST_COLUMNS else ""
        width += " stacked" if metrics >= STACKED else ""
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        note = f'<p class="quiet">{escape(self.note)}</p>' if self.note else ""
        return (
            f'<div class="table{width}" role="region" tabindex="0" aria-label="{escape(self.title or "Table")}">'
            f"<table>{caption}"
            f"<thead><tr>{head}</tr></thead>\n<tbody>{body}{empty}</tbody></table></div>{note}\n"
        )

    def _classes(self) -> list[str]:
        """Return the CSS class of each column; one of short names, such as ranks, takes no more room than they need."""
        classes = []
        for place, column in enumerate(self.columns):
            kind = "number" if column.right else "post" if column.kind == "text" else "name"
            short = kind == "name" and all(len(column.shown(row[place])) <= SHORT for row in self.rows)
            classes.append(f"{kind} short" if short else kind)
        return classes

    def csv(self) -> str:
        """Return the data, unrounded and unmasked; a metric becomes four columns (value, low, high, n)."""
        target = io.StringIO()
        writer = csv.writer(target, lineterminator="\n")
        wide = [
            column.kind == "metric" or any(isinstance(row[i], Metric) for row in self.rows)
            for i, column in enumerate(self.columns)
        ]
        ends = ("", ".low", ".high", ".n")
        writer.writerow(
            [c.name + end for c, w in zip(self.columns, wide, strict=True) for end in (ends if w else ("",))]
        )
        for row in self.rows:
            writer.writerow([cell for value, w in zip(row, wide, strict=True) for cell in _raw(value, w)])
        return target.getvalue()

    def markdown(self) -> str:
        """Return a GitHub-flavoured Markdown table, masked."""
        lines = [
            [c.name for c in self.columns],
            ["---:" if c.right else "---" for c in self.columns],
            *self._marked(lambda text: f"**{text}**"),
        ]
        body = ["| " + " | ".join(_one_line(cell).replace("|", "\\|") for cell in line) + " |" for line in lines]
        return (
            "\n".join(
                [*([f"**{self.title}**", ""] if self.title else []), *body, *(["", self.note] if self.note else [])]
            )
            + "\n"
        )

    def latex(self) -> str:
        """Return a LaTeX table for booktabs, masked and escaped."""
        columns = "".join("r" if column.right else "l" for column in self.columns)
        head = " & ".join(_latex(column.name) for column in self.columns)
        rows = [" & ".join(line) + r" \\" for line in self._marked(lambda text: rf"\textbf{{{text}}}", _latex)]
        caption = [rf"\caption{{{_latex(self.title)}}}"] if self.title else []
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                *caption,
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                head + r" \\",
                r"\midrule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def _marked(self, strong: Callable[[str], str], clean: Callable[[str], str] = str) -> list[list[str]]:
        return [
            [
                strong(clean(c.shown(v))) if b else clean(c.shown(v))
                for c, v, b in zip(self.columns, row, bold, strict=True)
            ]
            for row, bold in zip(self.rows, self._bold(), strict=True)
        ]

    def _bold(self) -> list[tuple[bool, ...]]:
        """Return for each cell whether it is the best of a column that has a best."""
        best = []
        for i, column in enumerate(self.columns):
            values = [v for row in self.rows if (v := _value(row[i])) is not None] if column.best else []
            best.append((max if column.best == "high" else min)(values) if len(values) > 1 else None)
        return [tuple(b is not None and _value(v) == b for v, b in zip(row, best, strict=True)) for row in self.rows]


def _kind(cells: Sequence[Any]) -> str:
    known = [cell for cell in cells if cell is not None]
    if not known:
        return "name"
    if any(isinstance(cell, Metric) for cell in known):
        return "metric"
    if all(isinstance(cell, int) for cell in known):
        return "count"
    return "number" if all(isinstance(cell, int | float) for cell in known) else "name"


def _value(cell: Any) -> float | None:
    value = cell.value if isinstance(cell, Metric) else cell
    return float(value) if isinstance(value, int | float) and value == value else None


def _raw(value: Any, wide: bool) -> list[Any]:
    if not wide:
        return [value]
    if isinstance(value, Metric):
        return [value.value, value.low, value.high, value.n]
    return [value, None, None, None]


def _one_line(text: str) -> str:
    return " ".join(text.split())


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "–": "--", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\to$",
    "α": r"$\alpha$", "κ": r"$\kappa$", "τ": r"$\tau$", "μ": r"$\mu$", "σ": r"$\sigma$", "…": r"\ldots{}",
}  # fmt: skip


def _latex(text: str) -> str:
    return _one_line("".join(_LATEX.get(char, f"\\{char}" if char in "&%$#_{}" else char) for char in text))


def hidden_text(text: str) -> str:
    """Return a text with every hurtful word behind a button that shows it: a click, Enter or Space, and again to hide.

    Without a script the words stay masked: the plain word is in the page only as the button's data.
    """
    pieces = []
    for piece in mask_segments(text):
        if not piece.hurtful:
            pieces.append(escape(piece.text))
            continue
        masked = escape(mask(piece.text))
        pieces.append(
            f'<button type="button" class="veiled" aria-pressed="false" '
            f'data-plain="{escape(piece.text)}" data-masked="{masked}">{masked}</button>'
        )
    return f'<span class="text" dir="auto">{"".join(pieces)}</span>'


INTERVAL_WIDTH, INTERVAL_HEIGHT = 96, 12


def interval_picture(metric: Metric, scale: tuple[float, float], number: Callable[[float], str]) -> str:
    """Return a metric's interval as a small picture with its words, then its n; a note where there is no interval.

    What may lie below 0 is drawn from -1 with a mark at 0.
    """
    n = f'<span class="n">n = {metric.n:,}</span>'
    if metric.value is None or metric.low is None or metric.high is None:
        return f' <span class="n">{escape(metric.note or "")}</span> {n}'
    low, high = (-1.0, 1.0) if metric.name.endswith(" difference") else scale

    def place(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(2 + min(max(share, 0.0), 1.0) * (INTERVAL_WIDTH - 4), 1)

    left, right, dot = place(metric.low), place(metric.high), place(metric.value)
    zero = f'<line class="zero" x1="{place(0)}" y1="1" x2="{place(0)}" y2="11"/>' if low < 0 < high else ""
    words = f"{number(metric.low)} to {number(metric.high)} ({metric.level:.0%} interval)"
    return (
        f' <svg class="interval" viewBox="0 0 {INTERVAL_WIDTH} {INTERVAL_HEIGHT}" '
        f'width="{INTERVAL_WIDTH}" height="{INTERVAL_HEIGHT}" role="img">'
        f"<title>{escape(words)}</title>"
        f'<line class="track" x1="2" y1="6" x2="{INTERVAL_WIDTH - 2}" y2="6"/>{zero}'
        f'<line class="range" x1="{left}" y1="6" x2="{right}" y2="6"/><circle cx="{dot}" cy="6" r="3.5"/></svg>'
        f'<span class="ends">[{escape(number(metric.low))}, {escape(number(metric.high))}]</span> {n}'
    )
