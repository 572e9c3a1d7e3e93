"""How fast duplicates are found among memes, memes are drawn, and one meme is scored.

    python -m benchmarks.memes [--images 10000] [--memes 200] [--side 500] [--json FILE]

Duplicates: JPEG files of drawn memes, a fifth of them copies (other size, packed harder). Reading, hashing and
comparing count; imagehash's `phash` does the same beside us. Drawing: memes of a picture and two texts, beside Pillow's
own text. Scoring: a Concat network in its small preset, warm, on one thread: a picture file and its text in, a
probability out. Its weights are not trained, which takes as long; it needs `davy[memes,train]`. CPU seconds are for
machines that do other things too.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import davy
from davy.core.errors import UserError
from davy.image.perceptual_hash import near_pairs, pdq
from davy.image.picture import Picture, read_picture
from davy.memes.benchmark import GROUP, plan_benchmark
from davy.memes.emoji_artwork import ARTWORK
from davy.memes.make_benchmark import draw_picture
from davy.memes.meme_layout import caption, stack
from davy.memes.meme_render import MemeRenderer

THREADS = 2
GOAL_DUPLICATES = 60.0
"""Seconds for 10,000 pictures."""
GOAL_DRAWING = 30.0
GOAL_SCORING = 0.150
PHASH_NEAR = 8
"""Of 64 bits, in the proportion of PDQ's 31 of 256."""


class Clock:
    """Seconds on the wall and of the CPU, of this process."""

    def __enter__(self) -> Clock:
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._start[0]
        self.cpu = time.process_time() - self._start[1]

    def to_dict(self) -> dict[str, float]:
        """Return both, rounded."""
        return {"seconds": round(self.wall, 2), "cpu_seconds": round(self.cpu, 2)}


def planned_pictures(n: int) -> list[Any]:
    """Return `n` different pictures of the drawn benchmark, not drawn yet."""
    groups = -(-n // (GROUP // 2)) + 8
    memes = [meme for split in plan_benchmark(groups * GROUP, seed=1).values() for meme in split]
    return list(dict.fromkeys(meme.picture for meme in memes))[:n]


def write_memes(folder: Path, n: int, side: int) -> set[tuple[int, int]]:
    """Write `n` JPEG files with a caption each, a fifth of them copies; return the pairs that are the same meme."""
    pairs = set()
    font = ImageFont.truetype(ARTWORK / "Anton-Regular.ttf", side // 12)
    originals = n - n // 5
    for number, picture in enumerate(planned_pictures(originals)):
        image = draw_picture(picture).resize((side, side), Image.Resampling.BILINEAR)
        image = image.rotate(number % 360, fillcolor=(number % 256, number // 3 % 256, number // 7 % 256))
        ImageDraw.Draw(image).text((10, 10), f"number {number * 7919}", "white", font, stroke_width=3, stroke_fill=0)
        image.save(folder / f"{number:06}.jpg", quality=85)
        copy = originals + number
        if copy < n:
            image.resize((side * 4 // 5, side * 4 // 5)).save(folder / f"{copy:06}.jpg", quality=50)
            pairs.add((number, copy))
    return pairs


def find_duplicates(paths: Sequence[Path]) -> set[tuple[int, int]]:
    """Return near pairs as `davy meme read` finds them."""
    with ThreadPoolExecutor(THREADS) as pool:
        hashes = np.stack([bits for bits, _ in pool.map(lambda path: pdq(read_picture(path).image), paths)])
    return set(near_pairs(hashes))


def find_by_phash(paths: Sequence[Path]) -> set[tuple[int, int]]:
    """Return near pairs by imagehash's `phash`, whose bits are compared as ours are."""
    import imagehash

    def hashed(path: Path) -> np.ndarray:
        with Image.open(path) as image:
            return np.packbits(imagehash.phash(image).hash)

    with ThreadPoolExecutor(THREADS) as pool:
        hashes = np.stack(list(pool.map(hashed, paths)))
    return set(near_pairs(hashes, PHASH_NEAR))


def measure_duplicates(n: int, side: int) -> dict[str, Any]:
    """Return how long each took, and which of the copies it found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copies = write_memes(folder, n, side)
        paths = sorted(folder.iterdir())
        finders: dict[str, Callable[[Sequence[Path]], set[tuple[int, int]]]] = {"davy": find_duplicates}
        try:
            import imagehash  # noqa: F401 it is there
        except ImportError:
            print("imagehash is not installed: pip install imagehash")
        else:
            finders["imagehash"] = find_by_phash
        found = {}
        for finder, find in finders.items():
            with Clock() as clock:
                pairs = find(paths)
            found[finder] = {
                **clock.to_dict(),
                "copies_found": len(pairs & copies),
                "copies": len(copies),
                "wrong_pairs": len(pairs - copies),
            }
    return {"images": n, "side": side, **found}


def measure_drawing(n: int) -> dict[str, Any]:
    """Return memes a second, by our renderer and by Pillow's own text on the same pictures."""
    pictures = [draw_picture(picture) for picture in planned_pictures(20)]
    layout = stack([("0", 256, 256)], 500)
    layouts = [
        caption(stack([(str(number % 20), 256, 256)], 500), f"number {number}", "look how many people love you today")
        for number in range(n)
    ]
    renderer = MemeRenderer(lambda name: Picture(pictures[int(name)], name, "PNG", 1))
    font = ImageFont.truetype(ARTWORK / "Anton-Regular.ttf", 50)

    def by_pillow(number: int) -> bytes:
        image = pictures[number % 20].resize((layout.width, layout.height), Image.Resampling.LANCZOS)
        pen = ImageDraw.Draw(image)
        for y, text in ((20, f"number {number}"), (400, "look how many people love you today")):
            pen.text((250, y), text, "white", font, anchor="ma", stroke_width=5, stroke_fill="black")
        target = io.BytesIO()
        image.save(target, "PNG", compress_level=1)
        return target.getvalue()

    return {
        "memes": n,
        "davy": _speed(renderer.png, layouts),
        "pillow, one line a text": _speed(by_pillow, range(n)),
    }


def _speed(draw: Callable[[Any], bytes], memes: Iterable[Any]) -> dict[str, float]:
    with Clock() as clock, ThreadPoolExecutor(THREADS) as pool:
        n = sum(1 for _ in pool.map(draw, memes))
    return {"memes_per_second": round(n / clock.wall, 1), **clock.to_dict()}


def measure_scoring(runs: int = 30) -> dict[str, Any] | None:
    """Return how long one meme takes once the networks are loaded, or None where they can't be."""
    try:
        import torch

        from davy.detectors.meme_model import new_meme_model
        from davy.detectors.meme_presets import load_preset
    except ImportError as error:
        print(f"scoring is left out: {error}")
        return None
    # One meme is too little work for two threads: where cores are busy, they wait for each other.
    torch.set_num_threads(1)
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as name:
        image = Path(name, "meme.jpg")
        draw_picture(planned_pictures(1)[0]).resize((500, 500)).save(image)
        try:
            new_meme_model(load_preset("concat")).save(Path(name, "model"))
            detector = davy.load(Path(name, "model"))
            for number in range(runs + 3):
                with Clock() as clock:
                    detector.score_meme(image, f"look how many people love you, number {number}")
                wall.append(1000 * clock.wall)
                cpu.append(1000 * clock.cpu)
        except UserError as error:
            print(f"scoring is left out: {error}")
            return None
    return {
        "model": "concat, small preset",
        "runs": runs,
        "milliseconds": round(statistics.median(wall[3:]), 1),
        "cpu_milliseconds": round(statistics.median(cpu[3:]), 1),
    }


def report(result: dict[str, Any]) -> list[str]:
    """Print the figures and return what missed its goal."""
    missed = []
    duplicates = result["duplicates"]
    for name in ("davy", "imagehash"):
        if name in duplicates:
            row = duplicates[name]
            print(
                f"{duplicates['images']:,} pictures, {name:10} {row['seconds']:7.1f} s ({row['cpu_seconds']:.1f} s CPU)"
                f" {row['copies_found']:,} of {row['copies']:,} copies, {row['wrong_pairs']:,} wrong pairs"
            )
    if duplicates["davy"]["seconds"] > GOAL_DUPLICATES * duplicates["images"] / 10_000:
        missed.append(f"duplicates: more than {GOAL_DUPLICATES:.0f} s for 10,000")
    for name in ("davy", "pillow, one line a text"):
        row = result["drawing"][name]
        print(f"drawing, {name:24} {row['memes_per_second']:7.1f} memes a second ({row['cpu_seconds']:.1f} s CPU)")
    if result["drawing"]["davy"]["memes_per_second"] < GOAL_DRAWING:
        missed.append(f"drawing: under {GOAL_DRAWING:.0f} memes a second")
    scoring = result.get("scoring")
    if scoring is not None:
        print(
            f"scoring one meme, {scoring['model']}: {scoring['milliseconds']:.0f} ms warm "
            f"({scoring['cpu_milliseconds']:.0f} ms CPU; median of {scoring['runs']})"
        )
        if scoring["milliseconds"] > 1000 * GOAL_SCORING:
            missed.append(f"scoring: more than {1000 * GOAL_SCORING:.0f} ms")
    return missed


def main() -> None:
    """Measure all three; exit 1 where a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--memes", type=int, default=200)
    parser.add_argument("--side", type=int, default=500)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    result = {
        "duplicates": measure_duplicates(given.images, given.side),
        "drawing": measure_drawing(given.memes),
        "scoring": measure_scoring(),
    }
    missed = report(result)
    if given.json is not None:
        given.json.write_text(json.dumps(result, indent=2), encoding="utf-8")
    if missed:
        raise SystemExit("; ".join(missed))


if __name__ == "__main__":
    main()
