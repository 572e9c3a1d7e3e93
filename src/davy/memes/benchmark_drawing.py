"""Draw the benchmark's memes: an emoji before a simple ground, and the text over it.

A planned meme in, a PNG out, 256 pixels wide; the same meme gives the same bytes. Colours are flat, so that thousands
of files stay small.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from davy.image.picture import Picture
from davy.memes.benchmark import BenchmarkMeme, DrawnPicture, MemeWords, colour_value
from davy.memes.emoji_artwork import emoji_image
from davy.memes.meme_layout import MemeLayout, PlacedImage, TextBox
from davy.memes.meme_render import MemeRenderer

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

SIDE = 256
COLOURS = 64
_ARTWORK_SIDE = 160
_BAND = 0.25
"""How much of the picture's height a text may take, at the top and at the bottom."""


class BenchmarkArtist:
    """Draws memes; give those of one group one after the other: they share pictures and texts, which are kept."""

    def __init__(self) -> None:
        self._pictures: dict[str, DrawnPicture] = {}
        self._renderer = MemeRenderer(self._read, keep=16, keep_texts=16)

    def png(self, meme: BenchmarkMeme) -> bytes:
        """Return a meme as PNG."""
        name = repr(meme.picture)
        self._pictures = {name: meme.picture}
        layout = MemeLayout(SIDE, SIDE, (PlacedImage(name, 0, 0, SIDE, SIDE),), text_boxes(meme.words))
        return pack(self._renderer.image(layout))

    def _read(self, name: str) -> Picture:
        return Picture(draw_picture(self._pictures[name]), name, "PNG", 1)


def pack(image: Image) -> bytes:
    """Return an image as a small PNG with a palette."""
    from PIL import Image as pillow

    flat = image.quantize(COLOURS, method=pillow.Quantize.FASTOCTREE, dither=pillow.Dither.NONE)
    target = io.BytesIO()
    flat.save(target, "PNG", compress_level=6)
    return target.getvalue()


def text_boxes(words: MemeWords) -> tuple[TextBox, ...]:
    """Return the boxes of a meme's words: bands above and below the object."""
    margin, height = 0.03 * SIDE, (_BAND - 0.03) * SIDE
    boxes = []
    for text, y, place in ((words.top, margin, "top"), (words.bottom, SIDE - height - margin, "bottom")):
        size = 26.0 if words.font == "Anton" else 20.0
        boxes.append(
            TextBox(
                text,
                x=margin,
                y=y,
                width=SIDE - 2 * margin,
                height=height,
                font=words.font,
                size=size,
                colour=words.colour,
                outline_width=2.0,
                uppercase=words.uppercase,
                place=place,
            )
        )
    return tuple(box for box in boxes if box.text)


def draw_picture(picture: DrawnPicture) -> Image:
    """Return a picture without text."""
    from PIL import Image as pillow
    from PIL import ImageDraw, ImageOps

    one, two = (colour_value(name) for name in picture.colours)
    canvas = pillow.new("RGB", (SIDE, SIDE), one)
    GROUNDS[picture.ground](ImageDraw.Draw(canvas), one, two)
    thing = emoji_image(picture.emoji, _ARTWORK_SIDE)
    if picture.mirrored:
        thing = ImageOps.mirror(thing)
    thing = thing.rotate(picture.angle, pillow.Resampling.BICUBIC, expand=True)
    scale = picture.size * SIDE / _ARTWORK_SIDE
    thing = thing.resize([round(side * scale) for side in thing.size], pillow.Resampling.LANCZOS)
    canvas.paste(thing, (round(picture.x * SIDE), round(picture.y * SIDE)), thing)
    return canvas


def _plain(_pen: ImageDraw, _one: str, _two: str) -> None:
    """The canvas has the first colour already."""


def _hills(pen: ImageDraw, one: str, two: str) -> None:
    pen.rectangle((0, 0, SIDE, SIDE), fill=two)
    pen.ellipse((-90, 130, 170, 390), fill=one)
    pen.ellipse((90, 150, 360, 400), fill=one, outline=two, width=2)


def _room(pen: ImageDraw, _one: str, two: str) -> None:
    pen.rectangle((0, 180, SIDE, SIDE), fill=two)
    pen.line((0, 180, SIDE, 180), fill="#f7f7f4", width=4)


def _stripes(pen: ImageDraw, _one: str, two: str) -> None:
    for x in range(0, SIDE, 48):
        pen.rectangle((x, 0, x + 15, SIDE), fill=two)


def _dots(pen: ImageDraw, _one: str, two: str) -> None:
    for x, y in _grid(range(20, SIDE, 54)):
        pen.ellipse((x - 9, y - 9, x + 9, y + 9), fill=two)


def _sea(pen: ImageDraw, _one: str, two: str) -> None:
    pen.rectangle((0, 0, SIDE, 150), fill=two)
    for x, y in _grid(range(14, SIDE, 60)):
        if y > 150:
            pen.arc((x, y, x + 34, y + 16), 180, 360, fill="#f7f7f4", width=3)


def _grid(places: Sequence[int]) -> list[tuple[int, int]]:
    return [(x, y) for y in places for x in places]


GROUNDS: dict[str, Callable[[ImageDraw, str, str], None]] = {
    "plain": _plain,
    "hills": _hills,
    "room": _room,
    "stripes": _stripes,
    "dots": _dots,
    "sea": _sea,
}
