"""Make the drawn benchmark: a folder of memes in the shape of the Hateful Memes data, with its data card.

A plan of memes in, PNG files out: an emoji before a simple ground, and the text over it, 256 pixels wide. The same meme
gives the same bytes. Colours are flat, so that thousands of files stay small.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from davy.core.meme import MEME_KINDS
from davy.core.options import Option
from davy.core.reporter import SILENT, Reporter
from davy.engines.child_process import follow_parent
from davy.files.atomic import atomic_folder, require_folder_of
from davy.files.cores import usable_cores
from davy.image.picture import Picture
from davy.memes.benchmark import BenchmarkMeme, DrawnPicture, MemeWords, colour_value, plan_benchmark
from davy.memes.emoji_artwork import CREDIT, emoji_image
from davy.memes.meme_layout import MemeLayout, PlacedImage, TextBox
from davy.memes.meme_render import MemeRenderer
from davy.version import __version__

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

SIDE = 256
COLOURS = 64
_ARTWORK_SIDE = 160
_BAND = 0.25
"""How much of the picture's height a text may take, at the top and at the bottom."""

_STOP = ".stop"
"""A file that tells the drawing processes to end; it goes with the folder."""


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


def make_benchmark(
    out: Annotated[Path, Option("The new folder to write.", metavar="DIR")],
    size: Annotated[int, Option("How many memes; whole groups of 20.", "--memes", metavar="N")] = 16_000,
    seed: Annotated[int, Option("The same seed makes the same files.")] = 0,
    *,
    workers: int | None = None,
    reporter: Reporter = SILENT,
) -> dict[str, int]:
    """Write the benchmark into a new folder, and return how many memes each split has.

    `workers` is how many processes draw; by default two where there are two cores.
    """
    require_folder_of(out)
    planned = plan_benchmark(size, seed)
    with atomic_folder(out) as folder:
        (folder / "img").mkdir()
        reporter.begin("Drawing memes", size)
        for n in _draw_all(planned, folder / "img", workers or min(2, usable_cores())):
            reporter.advance(n)
        reporter.end()
        for split, memes in planned.items():
            lines = (json.dumps(meme.row(), ensure_ascii=False) + "\n" for meme in memes)
            (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
        (folder / "README.md").write_text(_card(planned, seed), encoding="utf-8")
    return {split: len(memes) for split, memes in planned.items()}


def _draw_all(planned: dict[str, list[BenchmarkMeme]], folder: Path, workers: int) -> Iterator[int]:
    tasks = list(_tasks(planned))
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            yield _draw(task, folder)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=follow_parent) as pool:
        try:
            yield from pool.map(_draw, tasks, [folder] * len(tasks))
        except BaseException:
            (folder / _STOP).touch()
            raise


def _tasks(planned: dict[str, list[BenchmarkMeme]]) -> Iterator[list[BenchmarkMeme]]:
    """Yield whole groups: their memes share pictures and texts, which are drawn once."""
    for memes in planned.values():
        for _, group in groupby(sorted(memes, key=_group_of), _group_of):
            yield list(group)


def _group_of(meme: BenchmarkMeme) -> str:
    return meme.group


def _draw(memes: Sequence[BenchmarkMeme], folder: Path) -> int:
    artist = BenchmarkArtist()
    for meme in memes:
        if (folder / _STOP).exists():
            break
        (folder / f"{meme.id}.png").write_bytes(artist.png(meme))
    return len(memes)


def _card(planned: dict[str, list[BenchmarkMeme]], seed: int) -> str:
    counts = {split: Counter(meme.kind for meme in memes) for split, memes in planned.items()}
    kinds = [kind for kind in MEME_KINDS if any(count[kind] for count in counts.values())]
    rows = [
        f"| {split} | {counts[split].total():,} | {len({meme.group for meme in memes}):,} | "
        + " | ".join(f"{counts[split][kind]:,}" for kind in kinds)
        + " |"
        for split, memes in planned.items()
    ]
    size = sum(map(len, planned.values()))
    return _CARD.format(
        command=f"davy meme benchmark --memes {size} --seed {seed} --out FOLDER",
        version=__version__,
        kinds=" | ".join(kinds),
        rule="| --- " * (3 + len(kinds)) + "|",
        rows="\n".join(rows),
        credit=CREDIT,
    )


_CARD = """# Drawn memes: mean only when picture and text are read together

Made by `{command}`, Davy {version}. The same command makes the same files.

## What it is

Every meme shows one thing (a rose, a skunk, a snail, a rocket) and tells somebody that they are like it, or that they
are not. It is **mean** (label 1) when the thing is nasty and they are like it, or nice and they are not; else it is
**kind** (label 0). Nobody is insulted for what they are: there is no hate in this data. It stands in for hateful memes
where models are tested, and shows what makes those hard.

The name of a kind is that of the Hateful Memes challenge (Kiela et al. 2020), so `multimodal hate` here means *mean*.
Each mean meme has at least one meme with the same text whose picture was replaced (benign image) and one with the same
picture whose text was replaced (benign text). In every group, and so in every split, each text and each object stands
on as many mean memes as kind ones: a model that sees one side alone has an AUROC of 0.5, and one that sees both can
reach 1.

| split | memes | groups | {kinds} |
{rule}
{rows}

Splits keep whole groups. Objects and sentences are the same in all splits; drawings (place, size, angle, ground,
colours) and whole texts (opening, name, sentence, ending) are not.

## Columns

`id`; `img`, the file; `label`; `text`, the words on the picture; `kind`; `group`, the memes that share texts and
pictures; `parent`, of a confounder the mean meme it was made from; `caption`, what the picture shows, for multimodal
pre-training; `object`, the thing in the picture, for baselines that know it. `caption` and `object` are not for models
under test.

## What it is not for

The texts follow a few dozen sentences and the pictures 36 drawings. A model that is good here has learnt to combine
two sides, and nothing about hate: don't use it on people's posts, and don't report its figures as detection of hate.

## Licence

CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/). The objects are {credit};
they were scaled, turned, mirrored and reduced to few colours. Grounds and texts are Davy's.
"""
