"""Draw memes: a layout becomes an SVG with live text, and the SVG a PNG; one layout, or a file of them.

The fonts and emoji drawings are the package's own, so the result is the same on every machine, even on one without any
font. The one thing to know: resvg only ever sees the text of a layout, never a file or an address that a stranger
wrote.
"""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.files.atomic import make_folder, read_text, require_writable, write_bytes, write_text
from davy.image.picture_names import Pictures, pictures_in
from davy.memes.emoji_artwork import ARTWORK, SIDE, emoji_drawing
from davy.memes.meme_layout import MemeLayout, PlacedImage, TextBox
from davy.memes.meme_text import FONT_FILES, FittedLine, FittedText, TextRun, fit_text

if TYPE_CHECKING:
    from PIL.Image import Image

Reference = Callable[[PlacedImage], str]
"""Returns what an image element points to: the picture itself as data, or the address of a page."""

_MEME_ID = re.compile(r"[\w.-]{1,100}")


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


def render_meme(layout: Path, images: Path, out: Path) -> MemeLayout:
    """Draw the meme of a layout file as PNG or SVG, as the ending of `out` says; return the layout."""
    if out.suffix.lower() not in (".png", ".svg"):
        raise UserError(f"--out is {out.name!r}; give a file that ends in .png or .svg, or for many memes a .jsonl.")
    require_writable(out)
    meme = _layout(read_text(layout, "layout"), str(layout))
    renderer = MemeRenderer(pictures_in(images))
    if out.suffix.lower() == ".svg":
        write_text(out, renderer.svg(meme))
    else:
        write_bytes(out, renderer.png(meme))
    return meme


def render_memes(layouts: Path, images: Path, out: Path, *, svg: bool = False, reporter: Reporter = SILENT) -> int:
    """Draw every meme of a JSONL file (`id` and `layout` a line) into a folder, and return how many there are."""
    memes = list(_layouts(layouts))
    make_folder(out)
    renderer = MemeRenderer(lru_cache(maxsize=64)(pictures_in(images)))

    def draw(meme: tuple[str, MemeLayout]) -> None:
        name, layout = meme
        write_bytes(out / f"{name}.png", renderer.png(layout))
        if svg:
            write_text(out / f"{name}.svg", renderer.svg(layout))

    reporter.begin("Drawing memes", len(memes))
    # Scaling and packing let other threads work, so two draw faster than one.
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(draw, memes):
            reporter.advance()
    reporter.end()
    return len(memes)


def _layouts(path: Path) -> Iterator[tuple[str, MemeLayout]]:
    seen: set[str] = set()
    for number, line in enumerate(read_text(path, "file of layouts").splitlines(), 1):
        if not line.strip():
            continue
        row = _json(line, f"{path}, line {number}")
        name = str(row.get("id", "")) if isinstance(row, dict) else ""
        if not _MEME_ID.fullmatch(name) or name.startswith(".") or name in seen:
            raise UserError(
                f"{path}, line {number}: id {name[:40]!r}; give each meme its own, of letters, digits, '-' and '_'."
            )
        seen.add(name)
        yield name, _checked(row.get("layout"), f"{path}, line {number}")


def _layout(text: str, name: str) -> MemeLayout:
    return _checked(_json(text, name), name)


def _checked(values: Any, name: str) -> MemeLayout:
    try:
        return MemeLayout.from_dict(values)
    except UserError as error:
        raise UserError(f"{name}: {error.message}", status=error.status) from None


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UserError(f"{name} is not JSON: {error}. Write a layout with width, height, images and texts.") from None
