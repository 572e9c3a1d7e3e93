"""Emoji as drawings (Twemoji, CC BY 4.0), so that they are in colour and alike on every machine.

An emoji in, the inside of an SVG out, on a square of 36 × 36 units, or the emoji as an image.
"""

from __future__ import annotations

import io
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

ARTWORK = Path(__file__).parent / "artwork"
SIDE = 36
CREDIT = "Twemoji 15.0, © Twitter, Inc and other contributors, CC BY 4.0"


@lru_cache(maxsize=1)
def _drawings() -> dict[str, str]:
    import zstandard

    packed = (ARTWORK / "twemoji.json.zst").read_bytes()
    drawings: dict[str, str] = json.loads(zstandard.ZstdDecompressor().decompress(packed))
    return drawings


def drawing_names() -> list[str]:
    """Return the names of all drawings: code points in hex, joined by hyphens."""
    return sorted(_drawings())


def emoji_drawing(emoji: str) -> str | None:
    """Return the drawing of an emoji as SVG elements; of an unknown sequence its first known part; else None."""
    drawings = _drawings()
    points = [ord(sign) for sign in emoji]
    without_selector = [point for point in points if point != 0xFE0F]
    # Twemoji leaves the selector out, but for sequences with a joiner.
    for form in (points, without_selector) if 0x200D in points else (without_selector, points):
        drawing = drawings.get("-".join(f"{point:x}" for point in form))
        if drawing is not None:
            return drawing
    return next((drawings[f"{point:x}"] for point in without_selector if f"{point:x}" in drawings), None)


@lru_cache(maxsize=256)
def emoji_image(emoji: str, side: int) -> Image:
    """Return an emoji as a square see-through image, `side` pixels wide; draw on a copy of it."""
    import resvg_py
    from PIL import Image as pillow

    drawing = emoji_drawing(emoji)
    if drawing is None:
        raise ValueError(f"there is no drawing of {emoji!r}")
    size = f'width="{side}" height="{side}" viewBox="0 0 {SIDE} {SIDE}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{drawing}</svg>'
    with pillow.open(io.BytesIO(bytes(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True)))) as drawn:
        return drawn.convert("RGBA")
