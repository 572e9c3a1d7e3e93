"""What a notebook shows of a result: HTML without scripts, in the reader's own colours.

Names, frames and explanations in, HTML out. Texts are masked, since a notebook is read by whoever opens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from davy.text.mask import mask

if TYPE_CHECKING:
    import polars as pl


def frame_html(title: str, frame: pl.DataFrame, notes: tuple[str, ...] = ()) -> str:
    """Return a title, notes and a table: numbers with four digits, labels as they are."""
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>" for row in frame.iter_rows()
    )
    lines = "".join(f"<p>{escape(note)}</p>" for note in notes)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<p><strong>{escape(title)}</strong></p>{lines}{table}"


def weighted_words_html(title: str, text: str, weights: Sequence[tuple[int, int, float]]) -> str:
    """Return a text with its words marked by weight, stronger ones darker; `weights` are start, end and weight."""
    strongest = max((abs(weight) for _, _, weight in weights), default=0.0) or 1.0
    parts, last = [], 0
    for start, end, weight in weights:
        parts.append(escape(mask(text[last:start])))
        colour = "255, 160, 0" if weight > 0 else "90, 150, 220"
        style = f"background: rgba({colour}, {0.6 * abs(weight) / strongest:.2f})"
        parts.append(f'<span style="{style}" title="{weight:+.3f}">{escape(mask(text[start:end]))}</span>')
        last = end
    parts.append(escape(mask(text[last:])))
    return f"<p><strong>{escape(title)}</strong></p><p>{''.join(parts)}</p>"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)
