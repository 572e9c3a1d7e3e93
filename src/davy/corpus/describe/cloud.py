"""A word cloud: words masked, their size by a weight such as NPMI, as SVG that looks alike everywhere.

Words with weights in, a `Plot` out. Boxes are laid on a spiral, largest first,
where they touch no other. Each word is stretched to the width that its box was
given, so that no font makes words overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import cos, pi, sin, sqrt

from davy.report.plots import COLOURS, FONT, Plot
from davy.text.mask import mask

WIDTH, HEIGHT = 640.0, 360.0
SMALLEST, LARGEST = 13.0, 52.0
_NARROW, _WIDE = frozenset("iljtfr'.,*I-!"), frozenset("mwMWÄÖÜQGO@%")


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word and its box; `x` and `y` are the box's middle."""

    word: str
    size: float
    x: float
    y: float
    width: float
    height: float
    weight: float


@dataclass(frozen=True, slots=True)
class Cloud(Plot):
    """A word cloud that pages show as they show any plot."""

    words: tuple[PlacedWord, ...] = ()

    def svg(self, theme: str = "light") -> str:
        """Return the cloud as SVG; the words of most weight are amber."""
        colours = COLOURS[theme]
        top = len(self.words) // 6 or 1
        heading = 40 if self.title else 12
        parts = [
            f'<text x="{p.x:.1f}" y="{p.y + heading + 0.36 * p.size:.1f}" font-size="{p.size:.1f}" '
            f'text-anchor="middle" '
            f'textLength="{p.width:.1f}" lengthAdjust="spacingAndGlyphs" font-weight="{600 if i < top else 400}" '
            f'fill="{colours["amber"] if i < top else colours["ink"] if i < 3 * top else colours["quiet"]}">'
            f"{escape(p.word)}</text>"
            for i, p in enumerate(self.words)
        ]
        title = (
            f'<text x="16" y="26" font-size="16" font-weight="600" fill="{colours["ink"]}">{escape(self.title)}</text>'
            if self.title
            else ""
        )
        if not parts:
            parts = [
                f'<text x="16" y="{heading + 24}" font-size="14" fill="{colours["quiet"]}">Nothing to show.</text>'
            ]
        high = HEIGHT + heading + 8
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {high:.0f}" width="{WIDTH:.0f}" '
            f'height="{high:.0f}" font-family="{escape(FONT)}">'
            f'<rect width="100%" height="100%" fill="{colours["ground"]}"/>{title}{"".join(parts)}</svg>'
        )

    def png(self, theme: str = "light", scale: float = 2.0) -> bytes:
        """Return the cloud as PNG, `scale` pixels to a point."""
        import vl_convert

        return bytes(vl_convert.svg_to_png(self.svg(theme), scale=scale))


def cloud(weights: Sequence[tuple[str, float]], *, title: str = "", most: int = 70) -> Cloud:
    """Return the cloud of the heaviest words; those that find no room are left out. The same words give one cloud."""
    heaviest = sorted((pair for pair in weights if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))[:most]
    if not heaviest:
        return Cloud({}, title)
    high, low = heaviest[0][1], heaviest[-1][1]
    placed: list[PlacedWord] = []
    for word, weight in heaviest:
        share = 1.0 if high == low else (weight - low) / (high - low)
        size = SMALLEST + (LARGEST - SMALLEST) * share**1.5
        shown = mask(word)
        size = min(size, size * 0.8 * WIDTH / text_width(shown, size))
        spot = _spot(shown, size, weight, placed)
        if spot is not None:
            placed.append(spot)
    return Cloud({}, title, tuple(placed))


def text_width(word: str, size: float) -> float:
    """Return about how wide a word is at a size; close enough, since it is drawn at exactly this width."""
    return size * sum(0.3 if char in _NARROW else 0.86 if char in _WIDE else 0.56 for char in word) + 0.1 * size


def _spot(word: str, size: float, weight: float, placed: Sequence[PlacedWord]) -> PlacedWord | None:
    """Return the word at the first free place on a spiral from the middle, or None where there is none."""
    width, height = text_width(word, size), size * 1.12
    turn = 0.0
    while True:
        radius = 3.2 * turn
        x = WIDTH / 2 + radius * cos(turn) * sqrt(WIDTH / HEIGHT)
        y = HEIGHT / 2 + radius * sin(turn) / sqrt(WIDTH / HEIGHT)
        inside = width / 2 + 4 <= x <= WIDTH - width / 2 - 4 and height / 2 <= y <= HEIGHT - height / 2
        if inside and not any(_touch(x, y, width, height, other) for other in placed):
            return PlacedWord(word, size, x, y, width, height, weight)
        if radius > WIDTH / 2:
            return None
        turn += min(0.35, 8.0 / (radius + 8.0)) if radius else pi / 16


def _touch(x: float, y: float, width: float, height: float, other: PlacedWord) -> bool:
    return abs(x - other.x) < (width + other.width) / 2 + 3 and abs(y - other.y) < (height + other.height) / 2
