"""Pictures of boards and errors as small SVG: pooled confusion matrices, and methods against counts and figures.

Figures in, SVG text out, drawn in a millisecond. Everything is drawn in `currentColor`, so that a page shows it in
light and dark alike; the classes `accent` and `quiet` let a stylesheet colour it. All words are escaped here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from statistics import fmean, quantiles

import numpy as np

from davy.measure.intervals import Floats

CELL_WIDTH, CELL_HEIGHT, LETTER = 58, 34, 7.8
BAR, ROW, WIDTH = 220, 26, 620
STYLE = """
.picture { max-width: 100%; height: auto; overflow: visible; font: 13px system-ui, sans-serif; }
.picture text { fill: currentColor; }
.picture .accent { color: var(--amber, #c07d0a); }
.picture .quiet { opacity: 0.7; }
.pictures { overflow-x: auto; }
"""
"""For pages without a stylesheet of their own."""


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """One ranked system's survey answer: what it used (question → choices), and its figure by task."""

    system: str
    methods: Mapping[str, Sequence[str]]
    figures: Mapping[str, float]


def confusion_svg(labels: Sequence[str], shares: Floats, *, title: str = "") -> str:
    """Return a confusion matrix as in Fig. 3 and 4: predicted labels down, true labels across, shares of a column.

    `shares` is gold × predicted, as `ErrorAnalysis.confusion_shares` gives it; nan is drawn as an empty cell.
    """
    rows = list(labels)
    rows += ["no answer"] * (shares.shape[1] - len(rows))
    left = 12 + LETTER * max(len(label) for label in rows)
    tall = 12 + 0.72 * LETTER * max(len(label) for label in labels)
    slack = 0.72 * LETTER * len(labels[-1])
    width, height = left + CELL_WIDTH * len(labels) + slack, tall + CELL_HEIGHT * len(rows) + 4
    parts = []
    for j, label in enumerate(labels):
        x = left + CELL_WIDTH * (j + 0.5)
        parts.append(f'<text transform="translate({x:.0f} {tall - 6:.0f}) rotate(-40)">{escape(label)}</text>')
    for i, label in enumerate(rows):
        y = tall + CELL_HEIGHT * (i + 0.5)
        parts.append(f'<text x="{left - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{escape(label)}</text>')
        for j in range(len(labels)):
            parts.append(_cell(left + CELL_WIDTH * j, tall + CELL_HEIGHT * i, float(shares[j, i])))
    return _svg(width, height, parts, title or "Confusion matrix")


def method_counts_svg(entries: Sequence[MethodEntry], question: str, *, title: str = "") -> str:
    """Return Fig. 1: how many systems used each method, and which share that is, the most popular first."""
    counts = _by_choice(entries, question)
    if not counts:
        return _svg(WIDTH, ROW, [f'<text class="quiet" x="0" y="18">{escape(NOTHING)}</text>'], title or question)
    left = 12 + LETTER * max(len(name) for name in counts)
    most = max(len(systems) for systems in counts.values())
    parts = []
    for i, (name, systems) in enumerate(counts.items()):
        y = ROW * i
        long = (WIDTH - left - 96) * len(systems) / most
        share = f"{len(systems):,} ({len(systems) / len(entries):.0%})"
        parts.append(f'<text x="{left - 8:.0f}" y="{y + 17}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<g class="accent"><rect x="{left:.0f}" y="{y + 4}" width="{long:.1f}" height="16" '
                     f'fill="currentColor"/></g>')  # fmt: skip
        parts.append(f'<text class="quiet" x="{left + long + 8:.0f}" y="{y + 17}">{share}</text>')
    return _svg(WIDTH, ROW * len(counts), parts, title or question)


def method_figures_svg(entries: Sequence[MethodEntry], question: str, task: str, *, title: str = "") -> str:
    """Return Fig. 2: for each method a dot a system at its figure, the quartiles as a box and the mean as a line."""
    counts = _by_choice(entries, question)
    figures = {
        name: sorted(entry.figures[task] for entry in systems if isfinite(entry.figures.get(task, float("nan"))))
        for name, systems in counts.items()
    }
    figures = {name: values for name, values in figures.items() if values}
    if not figures:
        return _svg(WIDTH, ROW, [f'<text class="quiet" x="0" y="18">{escape(NOTHING)}</text>'], title or question)
    left = 12 + LETTER * max(len(name) for name in figures)
    every = [value for values in figures.values() for value in values]
    low, high = min(every), max(every)
    low, high = (low - 0.05, high + 0.05) if low == high else (low, high)

    def place(value: float) -> float:
        return left + 10 + (WIDTH - left - 30) * (value - low) / (high - low)

    parts = []
    for i, (name, values) in enumerate(figures.items()):
        y = ROW * i + 13
        parts.append(f'<text x="{left - 8:.0f}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        if len(values) > 1:
            q1, _, q3 = quantiles(values, n=4, method="inclusive")
            parts.append(f'<rect x="{place(q1):.1f}" y="{y - 8}" width="{max(place(q3) - place(q1), 1):.1f}" '
                         'height="16" fill="currentColor" fill-opacity="0.14"/>')  # fmt: skip
        parts += [
            f'<circle cx="{place(v):.1f}" cy="{y}" r="3" fill="currentColor" fill-opacity="0.45"/>' for v in values
        ]
        mean = place(fmean(values))
        parts.append(f'<g class="accent"><line x1="{mean:.1f}" x2="{mean:.1f}" y1="{y - 9}" y2="{y + 9}" '
                     'stroke="currentColor" stroke-width="3"/></g>')  # fmt: skip
    below = ROW * len(figures)
    for value, anchor in ((low, "start"), (high, "end")):
        parts.append(
            f'<text class="quiet" x="{place(value):.0f}" y="{below + 16}" text-anchor="{anchor}">{value:.3f}</text>'
        )
    return _svg(WIDTH, below + 22, parts, title or f"{question}: {task}")


NOTHING = "No system has answered this yet."


def _by_choice(entries: Sequence[MethodEntry], question: str) -> dict[str, list[MethodEntry]]:
    counts: dict[str, list[MethodEntry]] = {}
    for entry in entries:
        for choice in dict.fromkeys(entry.methods.get(question, ())):
            counts.setdefault(choice, []).append(entry)
    return dict(sorted(counts.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _cell(x: float, y: float, share: float) -> str:
    box = f'x="{x:.0f}" y="{y:.0f}" width="{CELL_WIDTH - 2}" height="{CELL_HEIGHT - 2}"'
    middle = f'x="{x + CELL_WIDTH / 2 - 1:.0f}" y="{y + CELL_HEIGHT / 2 + 4:.0f}" text-anchor="middle"'
    if np.isnan(share):
        return f'<rect {box} fill="none" stroke="currentColor" stroke-opacity="0.2"/><text {middle}>–</text>'
    return (
        f'<g class="accent"><rect {box} fill="currentColor" fill-opacity="{0.04 + 0.66 * share:.2f}"/></g>'
        f"<text {middle}>{100 * share:.1f}</text>"
    )


def _svg(width: float, height: float, parts: Sequence[str], title: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg class="picture" xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
