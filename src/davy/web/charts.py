"""Pictures inside pages: figures in, coordinates out; `templates/charts.html` draws them.

Drawn as SVG by the template and coloured by the tokens, so they follow light and
dark by themselves, need no inline style, and cost no time: the report's own
plots (`report.plots`) take a second to warm up and 0.2 s each. Coordinates run
from 0 to 100; the picture stretches to its place, and its text is HTML beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from davy.core import Metric
from davy.web.i18n import Translator

_TOPS = (0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
STYLES = 6
"""Line styles in davy.css; further lines begin again with the first."""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One question's line: its path, the band of its interval, its dots, and its newest value with its n in words."""

    name: str
    style: int
    path: str
    band: str
    dots: tuple[tuple[float, float], ...]
    newest: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A line chart. `ticks` are the words beside the axis from top to bottom, `mark` the height of a gate."""

    lines: tuple[ChartLine, ...]
    ticks: tuple[str, ...]
    grid: tuple[float, ...]
    first: datetime
    last: datetime
    words: str
    mark: float | None = None


def line_chart(
    series: Sequence[Mapping[str, Any]],
    coefficient: str,
    words: Translator,
    *,
    gate: float | None = None,
    titles: Mapping[str, str] | None = None,
    fit_top: bool = False,
) -> Chart | None:
    """Return agreement over time from a snapshot's series, or None where this coefficient was never defined.

    `gate` is drawn as a line; `titles` say what a question is called in the legend. `fit_top` ends the axis above the
    highest value in place of 1: small shares would lie on the ground.
    """
    points: dict[str, list[tuple[datetime, list[float | None]]]] = {}
    for point in series:
        at = datetime.fromisoformat(point["at"])
        for question, figures in point["questions"].items():
            if coefficient in figures:
                points.setdefault(question, []).append((at, figures[coefficient]))
    if not points:
        return None
    times = [at for line in points.values() for at, _ in line]
    lowest = min(f[0] for line in points.values() for _, f in line if f[0] is not None)
    floor = 0.0 if lowest >= 0 else -1.0  # a band that reaches below is cut; its figures are in words
    highest = max(max(f[0], f[2] or 0.0) for line in points.values() for _, f in line if f[0] is not None)
    top = next((limit for limit in _TOPS if highest <= limit), 1.0) if fit_top else 1.0
    place = _Place(min(times), max(times), floor, top)
    steps = [top - n * (top - floor) / 4 for n in range(5)]
    called = titles or {}
    lines = tuple(
        _line(called.get(name, name), number, line, place, words) for number, (name, line) in enumerate(points.items())
    )
    return Chart(
        lines,
        tuple(decimal_text(words, step, 2 if top > 0.1 else 3) for step in steps),
        tuple(place.y(step) for step in steps),
        min(times),
        max(times),
        "; ".join(f"{line.name}: {line.newest}" for line in lines),
        None if gate is None else place.y(gate),
    )


@dataclass(frozen=True, slots=True)
class CurveChart:
    """A training's curves over its epochs: macro-F1 on the posts that choose, and the loss beside them in words."""

    lines: tuple[ChartLine, ...]
    ticks: tuple[str, ...]
    grid: tuple[float, ...]
    first: int
    last: int
    words: str


def curve_chart(records: Sequence[Mapping[str, Any]], words: Translator) -> CurveChart | None:
    """Return the curves of a run's records, one an epoch; None where there are fewer than two."""
    if len(records) < 2:
        return None
    epochs = [int(record["epoch"]) for record in records]
    span = max(1, epochs[-1] - epochs[0])
    names = [name for name in records[-1] if name not in ("epoch", "seconds", "score")]
    lines = []
    for number, name in enumerate(names):
        values = [float(record[name]) for record in records if name in record]
        top = max(1.0, *values) if "loss" in name else 1.0  # a loss has no scale of its own: its highest is the top
        dots = tuple(
            (round(2 + 96 * (epoch - epochs[0]) / span, 2), round(100 * (1 - max(0.0, min(value / top, 1.0))), 2))
            for epoch, value in zip(epochs, values, strict=False)
        )
        path = "M" + " L".join(f"{x} {y}" for x, y in dots)
        lines.append(ChartLine(name, number % STYLES, path, "", dots, decimal_text(words, values[-1])))
    steps = (1.0, 0.75, 0.5, 0.25, 0.0)
    ticks = tuple(decimal_text(words, step, 2) for step in steps)
    newest = "; ".join(f"{line.name}: {line.newest}" for line in lines)
    return CurveChart(tuple(lines), ticks, tuple(100 * (1 - step) for step in steps), epochs[0], epochs[-1], newest)


def decimal_text(words: Translator, value: float | None, digits: int = 3) -> str:
    """Return a figure in the reader's language, with a true minus."""
    return words.decimal(value, digits)


def metric_text(words: Translator, metric: Metric | None) -> str:
    """Return a metric with its interval, such as "0.612 [0.540, 0.671]"."""
    if metric is None or metric.value is None:
        return "–"
    value = decimal_text(words, metric.value)
    if metric.low is None or metric.high is None:
        return value
    return f"{value} {words.interval(metric.low, metric.high)}"


@dataclass(frozen=True, slots=True)
class _Place:
    begin: datetime
    end: datetime
    floor: float
    top: float = 1.0

    def x(self, at: datetime) -> float:
        span = (self.end - self.begin).total_seconds()
        return round(2 + 96 * (at - self.begin).total_seconds() / span, 2) if span else 50.0

    def y(self, value: float) -> float:
        return round(100 * (1 - (min(max(value, self.floor), self.top) - self.floor) / (self.top - self.floor)), 2)


def _line(
    name: str, number: int, points: Sequence[tuple[datetime, list[float | None]]], place: _Place, words: Translator
) -> ChartLine:
    dots = tuple((place.x(at), place.y(f[0])) for at, f in points if f[0] is not None)
    ends = [(place.x(at), f[1], f[2]) for at, f in points if f[1] is not None and f[2] is not None]
    if len(ends) == 1:  # a single moment: its interval is a narrow band around it
        ends = [(ends[0][0] + side, *ends[0][1:]) for side in (-0.6, 0.6)]
    edge = [f"{x} {place.y(high)}" for x, _, high in ends] + [f"{x} {place.y(low)}" for x, low, _ in reversed(ends)]
    value, low, high, n = points[-1][1]
    newest = Metric(name, value, int(n or 0), low, high, note="–")
    return ChartLine(
        name,
        number % STYLES,
        "M" + " L".join(f"{x} {y}" for x, y in dots),
        f"M{' L'.join(edge)} Z" if edge else "",
        dots,
        metric_text(words, newest) + (f" (n = {words.number(int(n))})" if n else ""),
    )
