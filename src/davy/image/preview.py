"""A preview of a hard picture: small, blurred, and grey unless colours are wanted.

A picture in, a picture out. The server makes it (`image_folder`), not the browser, so that
a picture that nobody asked for is never sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

BLURS: dict[str, float] = {"none": 0.0, "light": 0.015, "strong": 0.05}
"""Blur radius as a share of the longer side."""


def make_preview(image: Image, *, grey: bool = True, blur: str = "strong", longest: int = 1024) -> Image:
    """Return the image at most `longest` pixels a side, grey and blurred as asked; the original is unchanged."""
    from PIL import ImageFilter, ImageOps

    if blur not in BLURS:
        raise ValueError(f"blur {blur!r}; one of {', '.join(BLURS)}")
    shown = image.copy()
    shown.thumbnail((longest, longest))
    if grey:
        alpha = shown.getchannel("A") if shown.mode == "RGBA" else None
        shown = ImageOps.grayscale(shown).convert(shown.mode)
        if alpha is not None:
            shown.putalpha(alpha)
    radius = BLURS[blur] * max(shown.size)
    return shown.filter(ImageFilter.GaussianBlur(radius)) if radius else shown
