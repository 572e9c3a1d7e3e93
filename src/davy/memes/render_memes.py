"""Render memes: layouts and a folder of pictures in, PNG and SVG files out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.files.atomic import make_folder, read_text, require_writable, write_bytes, write_text
from davy.image.picture_names import pictures_in
from davy.memes.meme_layout import MemeLayout
from davy.memes.meme_render import MemeRenderer

_ID = re.compile(r"[\w.-]{1,100}")


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
        if not _ID.fullmatch(name) or name.startswith(".") or name in seen:
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
