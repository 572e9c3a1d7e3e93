"""Break a box of text into lines that fit it, with the widths of the shipped fonts.

A `TextBox` in, its size, lines and runs out, in pixels of the canvas. SVG does not wrap text: the lines found here are
what the file stores, what the PNG shows and what the browser draws.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from davy.core.errors import UserError
from davy.memes.emoji_artwork import ARTWORK
from davy.memes.meme_layout import SIZES, TextBox
from davy.text import emoji

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont


@dataclass(frozen=True, slots=True)
class MemeFont:
    """A font of the package; heights are shares of the font size."""

    file: str
    ascent: float
    line: float
    """From one baseline to the next."""
    signs: re.Pattern[str] | None = None
    """What it can write; None: everything that the package can."""


FONT_FILES: dict[str, MemeFont] = {
    "Anton": MemeFont(
        "Anton-Regular.ttf",
        1.02,
        1.22,
        re.compile(r"[ -~\xa0-\u017f\u2013\u2014\u2018-\u201e\u2022\u2026\u20ac\u2122]*"),
    ),
    "DejaVu Sans": MemeFont("DejaVuSans-Bold.ttf", 0.92, 1.17),
}
EMOJI_WIDTH = 1.12
SMALLEST = SIZES[0]
_STEP = 0.94
_MEASURED_AT = 256


@dataclass(frozen=True, slots=True)
class TextRun:
    """A piece of a line: text, or one emoji; `x` is its middle."""

    text: str
    x: float
    width: float
    is_emoji: bool


@dataclass(frozen=True, slots=True)
class FittedLine:
    """A line of a box: its runs from left to right, and where its baseline is."""

    baseline: float
    runs: tuple[TextRun, ...]
    from_right: bool


@dataclass(frozen=True, slots=True)
class FittedText:
    """A box's text, broken into lines in the largest size that fits."""

    font: str
    size: float
    lines: tuple[FittedLine, ...]


def fit_text(box: TextBox) -> FittedText:
    """Return the lines of a box; words are broken only where no size keeps them whole and readable."""
    text = box.shown
    font = _font_for(text, box.font)
    if not text.strip():
        return FittedText(font, box.size, ())
    readable = max(SMALLEST, min(box.size, 12.0, box.size * 0.5))
    for smallest, breaks in ((readable, False), (SMALLEST, True)):
        size = box.size
        while True:
            lines = _wrap(text, font, box.width / size, breaks=breaks)
            if lines is not None and _height(font, len(lines)) * size <= box.height:
                return FittedText(font, size, tuple(_place(box, font, size, lines)))
            if size <= smallest:
                break
            size = max(smallest, size * _STEP)
    n = len(lines or [])
    raise UserError(
        f"A text of {len(text):,} characters in {n} lines does not fit its box of {box.width:g} × {box.height:g} "
        f"pixels even at size {SMALLEST:g}. Make the box larger or the text shorter.",
        status=422,
    )


def text_width(text: str, font: str) -> float:
    """Return how wide a text is, as a share of the font size."""
    return sum(EMOJI_WIDTH if is_emoji else _measure(piece, font) for piece, is_emoji in emoji.split(text))


def _font_for(text: str, font: str) -> str:
    """Return the font to draw with: the chosen one where it has every letter, else the one that has most."""
    signs = FONT_FILES[font].signs
    letters = "".join(piece for piece, is_emoji in emoji.split(text) if not is_emoji).replace("\n", "")
    return font if signs is None or signs.fullmatch(letters) else "DejaVu Sans"


@lru_cache(maxsize=4)
def _face(font: str) -> FreeTypeFont:
    from PIL import ImageFont

    return ImageFont.truetype(ARTWORK / FONT_FILES[font].file, _MEASURED_AT)


@lru_cache(maxsize=65_536)
def _measure(text: str, font: str) -> float:
    return float(_face(font).getlength(text)) / _MEASURED_AT


def _wrap(text: str, font: str, width: float, *, breaks: bool) -> list[str] | None:
    """Return lines at most `width` font sizes wide; None where a word is wider and must not be broken."""
    space = _measure(" ", font)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line: list[str] = []
        used = 0.0
        for word in paragraph.split():
            wide = text_width(word, font)
            if line and used + space + wide <= width:
                line.append(word)
                used += space + wide
                continue
            if line:
                lines.append(" ".join(line))
            if wide > width:
                if not breaks:
                    return None
                *whole, word = _pieces(word, font, width)
                lines += whole
                wide = text_width(word, font)
            line, used = [word], wide
        lines.append(" ".join(line))
    return lines


def _pieces(word: str, font: str, width: float) -> list[str]:
    """Return a long word in pieces that fit; one letter stays whole whatever its width."""
    pieces = [""]
    for cluster in _clusters(word):
        if pieces[-1] and text_width(pieces[-1] + cluster, font) > width:
            pieces.append("")
        pieces[-1] += cluster
    return pieces


def _clusters(word: str) -> Iterator[str]:
    """Yield what must not be parted: emoji, and letters with the marks on them."""
    for piece, is_emoji in emoji.split(word):
        if is_emoji:
            yield piece
            continue
        cluster = ""
        for sign in piece:
            if cluster and not unicodedata.combining(sign) and sign not in "\u200d\u200c\ufe0f":
                yield cluster
                cluster = ""
            cluster += sign
        yield cluster


def _height(font: str, lines: int) -> float:
    return FONT_FILES[font].line * lines


def _place(box: TextBox, font: str, size: float, lines: list[str]) -> Iterator[FittedLine]:
    face = FONT_FILES[font]
    free = box.height - _height(font, len(lines)) * size
    top = box.y + {"top": 0.0, "middle": free / 2, "bottom": free}[box.place]
    for number, line in enumerate(lines):
        pieces = [(text, is_emoji, text_width(text, font) * size) for text, is_emoji in emoji.split(line)]
        from_right = _from_right(line)
        if from_right:
            pieces.reverse()
        spare = box.width - sum(width for *_, width in pieces)
        x = box.x + {"left": 0.0, "center": spare / 2, "right": spare}[box.align]
        runs = []
        for text, is_emoji, width in pieces:
            runs.append(TextRun(text, x + width / 2, width, is_emoji))
            x += width
        yield FittedLine(top + (face.line * number + face.ascent) * size, tuple(runs), from_right)


def _from_right(line: str) -> bool:
    """Return whether a line begins at the right: by its first letter that has a direction."""
    kinds = (unicodedata.bidirectional(sign) for sign in line)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"
