"""Draw the picture of `docs/data/memes.md`: two mean memes of the drawn benchmark, each between its confounders.

python scripts/draw_confounders.py [OUT.png]
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from davy.core.meme import BENIGN_IMAGE, BENIGN_TEXT
from davy.memes.benchmark import BenchmarkMeme, plan_benchmark
from davy.memes.emoji_artwork import ARTWORK
from davy.memes.make_benchmark import SIDE, BenchmarkArtist

OUT = Path(__file__).parents[1] / "docs/pictures/confounders.png"
GAP, LABEL = 16, 34
TITLES = ("kind: other picture", "mean", "kind: other text")


def families() -> list[tuple[BenchmarkMeme, BenchmarkMeme, BenchmarkMeme]]:
    """Return mean memes, one a side, as (with another picture, mean, with another text)."""
    memes = plan_benchmark(16_000, seed=1)["train"]
    by_parent = {(meme.parent, meme.kind): meme for meme in memes if meme.parent}
    wanted = {False: "love the way you smell today: just like this", True: "your voice is nothing like this"}
    return [
        next(
            (by_parent[meme.id, BENIGN_IMAGE], meme, by_parent[meme.id, BENIGN_TEXT])
            for meme in memes
            if sentence in meme.words.text and meme.picture.nice == nice and (meme.id, BENIGN_TEXT) in by_parent
        )
        for nice, sentence in wanted.items()
    ]


def main() -> None:
    """Draw two rows of three memes, each under what it is."""
    rows, artist = families(), BenchmarkArtist()
    width = 3 * SIDE + 4 * GAP
    sheet = Image.new("RGB", (width, len(rows) * (SIDE + LABEL + GAP) + GAP), "#ffffff")
    pen, font = ImageDraw.Draw(sheet), ImageFont.truetype(ARTWORK / "DejaVuSans-Bold.ttf", 16)
    for row, memes in enumerate(rows):
        top = GAP + row * (SIDE + LABEL + GAP)
        for column, (meme, title) in enumerate(zip(memes, TITLES, strict=True)):
            left = GAP + column * (SIDE + GAP)
            pen.text((left, top + 6), title, "#a8201a" if meme.mean else "#2f6b3a", font)
            sheet.paste(Image.open(io.BytesIO(artist.png(meme))).convert("RGB"), (left, top + LABEL))
    sheet.quantize(128).save(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT, optimize=True)


if __name__ == "__main__":
    main()
