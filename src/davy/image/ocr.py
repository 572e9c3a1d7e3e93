"""Read the text that is written on a picture, such as a meme's two lines.

A safe `Picture` in, its lines out, from top to bottom. The reader (rapidocr)
brings its small networks along and runs offline; it is an extra: `davy[memes]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.install import install_extra

if TYPE_CHECKING:
    from PIL.Image import Image

    from davy.image.picture import Picture

MIN_CONFIDENCE = 0.6
"""Finds below this confidence are mostly pieces of the drawing."""
MIN_CONFIDENCE_ALONE = 0.95
"""A single letter is more often a shape than a word, so it takes more."""
MOST_SIDE = 2_000
MOST_TIMES_LONGER = 8
SMALLEST_SIDE = 8
"""No letter that can be read is lower than this many pixels."""


@dataclass(frozen=True, slots=True)
class OcrLine:
    """One line of text on a picture, with how sure the reader is and where it stands (left, top, right, bottom)."""

    text: str
    confidence: float
    box: tuple[float, float, float, float]


def reader() -> Any:
    """Return a reader, to be used for many pictures: loading its networks takes a moment."""
    try:
        from rapidocr import RapidOCR
    except ModuleNotFoundError:
        raise UserError(f"Reading text from pictures needs an extra: {install_extra('memes')}.", status=501) from None
    return RapidOCR(params={"Global.log_level": "critical"})


def read_lines(picture: Picture, engine: Any = None) -> list[OcrLine]:
    """Return the lines on a picture in reading order; `engine` is a `reader()` that is there already."""
    import numpy as np

    image = picture.image
    if min(image.size) < SMALLEST_SIDE:
        return []
    pixels = np.asarray(_for_reader(image))[:, :, ::-1]
    readings = (engine or reader())(pixels)
    if readings.boxes is None:
        return []
    scale = max(1.0, max(image.size) / MOST_SIDE)
    lines = [
        OcrLine(text.strip(), float(score), _bounds(np.asarray(box) * scale))
        for text, score, box in zip(readings.txts, readings.scores, readings.boxes, strict=True)
    ]
    return _in_order([line for line in lines if _likely(line)])


def _for_reader(image: Image) -> Image:
    """Return a picture in RGB, at most 2,000 pixels long and not much longer than wide.

    The reader enlarges a picture until its short side has 736 pixels; of a long thin strip that makes gigabytes.
    """
    from PIL import Image as pillow

    from davy.image.picture import on_white

    if max(image.size) > MOST_SIDE:
        image = image.copy()
        image.thumbnail((MOST_SIDE, MOST_SIDE))
    image = on_white(image) if image.mode == "RGBA" else image.convert("RGB")
    shortest = max(image.size) // MOST_TIMES_LONGER
    if min(image.size) >= shortest:
        return image
    canvas = pillow.new("RGB", (max(image.width, shortest), max(image.height, shortest)), "#ffffff")
    canvas.paste(image)
    return canvas


def text_of(lines: list[OcrLine]) -> str:
    """Return the lines as one text, with a line break between rows and a space within one."""
    return "\n".join(" ".join(line.text for line in row) for row in _rows(lines))


def _likely(line: OcrLine) -> bool:
    return bool(line.text) and line.confidence >= (MIN_CONFIDENCE_ALONE if len(line.text) == 1 else MIN_CONFIDENCE)


def _bounds(corners: Any) -> tuple[float, float, float, float]:
    left, top = corners.min(axis=0).tolist()
    right, bottom = corners.max(axis=0).tolist()
    return left, top, right, bottom


def _in_order(lines: list[OcrLine]) -> list[OcrLine]:
    return [line for row in _rows(lines) for line in row]


def _rows(lines: list[OcrLine]) -> list[list[OcrLine]]:
    """Return lines that stand beside each other as one row, rows from top to bottom, each from left to right."""
    rows: list[list[OcrLine]] = []
    for line in sorted(lines, key=lambda it: it.box[1] + it.box[3]):
        middle = (line.box[1] + line.box[3]) / 2
        last = rows[-1][0].box if rows else None
        if last and last[1] <= middle <= last[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda it: it.box[0]) for row in rows]
