"""Pack the Twemoji drawings of the npm package @twemoji/svg into one file, as `davy.memes.emoji_artwork` reads it.

npm pack @twemoji/svg@15.0.0 && tar xzf twemoji-svg-15.0.0.tgz
python scripts/pack_emoji.py package src/davy/memes/artwork/twemoji.json.zst
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import zstandard

_FRAME = re.compile(r"^<svg[^>]*>|</svg>\s*$")
_FORBIDDEN = re.compile(r"<(script|image|foreignObject)|href=\"(?!#)|\son\w+=")


def pack(folder: Path) -> bytes:
    """Return all drawings of a folder, name → inner SVG, packed."""
    drawings = {}
    for path in sorted(folder.glob("*.svg")):
        drawing = path.read_text(encoding="utf-8")
        if 'viewBox="0 0 36 36"' not in drawing or _FORBIDDEN.search(drawing):
            raise SystemExit(f"{path} is not a plain drawing of 36 × 36 units")
        # Names of gradients hold for a whole file, and a meme may hold several emoji.
        own = re.sub(r'(id="|url\(#)', rf"\1e{path.stem}-", drawing)
        drawings[path.stem] = _FRAME.sub("", own)
    text = json.dumps(drawings, ensure_ascii=False, separators=(",", ":"))
    return zstandard.ZstdCompressor(level=22).compress(text.encode())


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:3])
    target.write_bytes(pack(source))
