"""Memes for tests, drawn by code: a coloured ground, a shape and a line of text, so that no two are alike."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from PIL import Image, ImageDraw

COLOURS = ("#b5542e", "#2e6db5", "#3b8f4d", "#8a4fa3", "#c2a02b")


def draw(number: int, text: str = "", *, format: str = "PNG", size: tuple[int, int] = (320, 240)) -> bytes:
    """Return the file of a meme; the same number and text give the same pixels."""
    image = Image.new("RGB", size, COLOURS[number % len(COLOURS)])
    pen = ImageDraw.Draw(image)
    pen.ellipse((40 + 7 * number, 40, 160 + 7 * number, 160), fill="#fdf1d8")
    pen.text((20, size[1] - 40), text or f"meme {number}", fill="white")
    out = io.BytesIO()
    image.save(out, format, **({"lossless": True} if format == "WEBP" else {}))
    return out.getvalue()


def folder_of(path: Path, names: Mapping[str, bytes]) -> Path:
    """Write files into a folder, and return it."""
    for name, data in names.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def zip_of(path: Path, names: Mapping[str, bytes]) -> Path:
    """Write files into a zip, and return it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return path
