"""Small pieces of HTML that tables and pages share: a veiled text, an interval as a picture.

Plain values in, escaped HTML out.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from davy.core.metric import Metric
from davy.text.mask import mask, mask_segments


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


WIDTH, HEIGHT = 96, 12


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
        return round(2 + min(max(share, 0.0), 1.0) * (WIDTH - 4), 1)

    left, right, dot = place(metric.low), place(metric.high), place(metric.value)
    zero = f'<line class="zero" x1="{place(0)}" y1="1" x2="{place(0)}" y2="11"/>' if low < 0 < high else ""
    words = f"{number(metric.low)} to {number(metric.high)} ({metric.level:.0%} interval)"
    return (
        f' <svg class="interval" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
        f"<title>{escape(words)}</title>"
        f'<line class="track" x1="2" y1="6" x2="{WIDTH - 2}" y2="6"/>{zero}'
        f'<line class="range" x1="{left}" y1="6" x2="{right}" y2="6"/><circle cx="{dot}" cy="6" r="3.5"/></svg>'
        f'<span class="ends">[{escape(number(metric.low))}, {escape(number(metric.high))}]</span> {n}'
    )
