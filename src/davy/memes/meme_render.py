"""Draw a meme: a layout becomes an SVG with live text, and the SVG a PNG. Nothing else in Davy draws memes.

The fonts and emoji drawings are the package's own, so the result is the same on every machine, one without any font
too. The one thing to know: resvg only ever sees the text of a layout, never a file or an address that a stranger
wrote.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from davy.image.picture_names import Pictures
from davy.memes.emoji_artwork import ARTWORK, SIDE, emoji_drawing
from davy.memes.meme_layout import MemeLayout, PlacedImage, TextBox
from davy.memes.meme_text import FONT_FILES, FittedLine, FittedText, TextRun, fit_text

if TYPE_CHECKING:
    from PIL.Image import Image

Reference = Callable[[PlacedImage], str]
"""Returns what an image element points to: the picture itself as data, or the address of a page."""


class MemeRenderer:
    """Draws memes from pictures that `read_image` reads; the last `keep` that were drawn are kept in their sizes.

    `keep_texts` is how many drawn texts are kept, for memes that share them.
    """

    def __init__(self, read_image: Pictures, keep: int = 64, keep_texts: int = 0) -> None:
        self._scaled = lru_cache(maxsize=keep)(partial(_scale, read_image))
        self._text = lru_cache(maxsize=keep_texts)(_text_layer)

    def svg(self, layout: MemeLayout) -> str:
        """Return a meme as SVG: pictures inside the file, text as text."""

        def reference(placed: PlacedImage) -> str:
            target = io.BytesIO()
            self._picture(placed).save(target, "PNG")
            return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"

        return draw_svg(layout, reference)

    def image(self, layout: MemeLayout) -> Image:
        """Return a meme as an image: Pillow scales the pictures, resvg draws the very text of the SVG."""
        from PIL import Image as pillow

        canvas = pillow.new("RGB", (layout.width, layout.height), "#ffffff")
        for placed in layout.images:
            picture = self._picture(placed)
            canvas.paste(picture, (round(placed.x), round(placed.y)), picture if picture.mode == "RGBA" else None)
        for box in layout.texts:
            drawn = self._text(box, (layout.width, layout.height))
            if drawn is not None:
                layer, corner = drawn
                canvas.paste(layer, corner, layer)
        return canvas

    def png(self, layout: MemeLayout) -> bytes:
        """Return a meme as PNG."""
        target = io.BytesIO()
        # Level 1: four times as fast as level 6 for a tenth more bytes.
        self.image(layout).save(target, "PNG", compress_level=1)
        return target.getvalue()

    def _picture(self, placed: PlacedImage) -> Image:
        return self._scaled(placed.image, max(1, round(placed.width)), max(1, round(placed.height)))


def render_svg(layout: MemeLayout, read_image: Pictures) -> str:
    """Return one meme as SVG with live text; for many, keep a `MemeRenderer`."""
    return MemeRenderer(read_image).svg(layout)


def render_png(layout: MemeLayout, read_image: Pictures) -> bytes:
    """Return one meme as PNG; for many, keep a `MemeRenderer`."""
    return MemeRenderer(read_image).png(layout)


def _scale(read_image: Pictures, name: str, width: int, height: int) -> Image:
    from PIL import Image as pillow

    image = read_image(name).image
    return image if image.size == (width, height) else image.resize((width, height), pillow.Resampling.LANCZOS)


def _text_layer(box: TextBox, canvas: tuple[int, int]) -> tuple[Image, tuple[int, int]] | None:
    """Return a box's text on a see-through piece of the canvas, and where the piece lies; None without text."""
    import resvg_py
    from PIL import Image as pillow

    fitted = fit_text(box)
    left, top, right, bottom = _bounds(box, fitted, canvas)
    if not fitted.lines or right <= left or bottom <= top:
        return None
    width, height = right - left, bottom - top
    size = f'width="{width}" height="{height}" viewBox="{left} {top} {width} {height}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{_group(box, fitted, 0)}</svg>'
    png = resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True, font_files=_font_paths())
    with pillow.open(io.BytesIO(bytes(png)), formats=("PNG",)) as layer:
        return layer.convert("RGBA"), (left, top)


def _bounds(box: TextBox, fitted: FittedText, canvas: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the pixels that text can reach, within the canvas: left, top, right, bottom."""
    runs = [run for line in fitted.lines for run in line.runs]
    if not runs:
        return 0, 0, 0, 0
    around = 0.25 * fitted.size + box.outline_width
    return (
        max(0, math.floor(min(run.x - run.width / 2 for run in runs) - around)),
        max(0, math.floor(fitted.lines[0].baseline - fitted.size - around)),
        min(canvas[0], math.ceil(max(run.x + run.width / 2 for run in runs) + around)),
        min(canvas[1], math.ceil(fitted.lines[-1].baseline + 0.3 * fitted.size + around)),
    )


def draw_svg(layout: MemeLayout, reference: Reference) -> str:
    """Return a meme as SVG whose pictures are what `reference` says."""
    size = f'width="{layout.width}" height="{layout.height}" viewBox="0 0 {layout.width} {layout.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *(_image(number, placed, reference(placed)) for number, placed in enumerate(layout.images)),
        *(draw_text(box, number) for number, box in enumerate(layout.texts)),
        "</svg>",
    ]
    return "\n".join(parts)


def draw_text(box: TextBox, number: int = 0) -> str:
    """Return one box's text as an SVG group: a text element with its lines, and its emoji as drawings."""
    return _group(box, fit_text(box), number)


def _group(box: TextBox, fitted: FittedText, number: int) -> str:
    if not fitted.lines:
        return f'<g data-text="{number}"/>'
    spans = "".join(_line(line) for line in fitted.lines)
    drawings = "".join(_emoji(run, line, fitted.size) for line in fitted.lines for run in line.runs if run.is_emoji)
    return f'<g data-text="{number}"><text {_style(box, fitted)}>{spans}</text>{drawings}</g>'


def _image(number: int, placed: PlacedImage, address: str) -> str:
    place = f'x="{placed.x:g}" y="{placed.y:g}" width="{placed.width:g}" height="{placed.height:g}"'
    return f'<image data-image="{number}" {place} preserveAspectRatio="none" href={quoteattr(address)}/>'


def _style(box: TextBox, fitted: FittedText) -> str:
    # The outline lies half under the letters, so it is drawn twice as wide and before them.
    width = 2 * box.outline_width * fitted.size / box.size
    families = ", ".join(dict.fromkeys((fitted.font, *FONT_FILES)))
    outline = f'stroke="{box.outline}" stroke-width="{width:.2f}" stroke-linejoin="round" paint-order="stroke"'
    bold = ' font-weight="bold"' if fitted.font == "DejaVu Sans" else ""
    return (
        f'font-family="{families}"{bold} font-size="{fitted.size:.2f}" fill="{box.colour}" '
        f'{outline if box.outline_width else ""} text-anchor="middle" xml:space="preserve"'
    )


def _line(line: FittedLine) -> str:
    direction = ' direction="rtl" unicode-bidi="embed"' if line.from_right else ""
    return "".join(_span(run, line.baseline, direction) for run in line.runs)


def _span(run: TextRun, baseline: float, direction: str) -> str:
    # An emoji stays in the text for whoever copies or reads it; what is seen is its drawing.
    hidden = ' fill="none" stroke="none"' if run.is_emoji and emoji_drawing(run.text) else ""
    return f'<tspan x="{run.x:.2f}" y="{baseline:.2f}"{hidden}{direction}>{_escape(run.text)}</tspan>'


def _emoji(run: TextRun, line: FittedLine, size: float) -> str:
    drawing = emoji_drawing(run.text)
    if drawing is None:
        return ""
    place = f'x="{run.x - size / 2:.2f}" y="{line.baseline - 0.86 * size:.2f}" width="{size:.2f}" height="{size:.2f}"'
    return f'<svg {place} viewBox="0 0 {SIDE} {SIDE}" aria-hidden="true">{drawing}</svg>'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _font_paths() -> list[str]:
    return [str(ARTWORK / font.file) for font in FONT_FILES.values()]
