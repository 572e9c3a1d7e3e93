"""Source memes: which pictures are memes that can be worked with, and which of them are there twice.

Picture files in, one `ExaminedMeme` each out, then the same without duplicates. The one thing to know: two memes on
the same picture with different texts are different memes, so by default near pictures are duplicates only where their
texts are alike too; `ignore_text` covers the texts and compares the pictures alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from davy.core.errors import UserError
from davy.core.options import Option
from davy.image.ocr import OcrLine, text_of
from davy.image.perceptual_hash import MIN_QUALITY, NEAR, groups_of, near_pairs, pdq, without_text
from davy.image.picture import Picture, read_picture

READ = "read"
BROKEN, SMALL, NO_TEXT, DUPLICATE = "broken", "too small", "no text", "duplicate"
DROPS: tuple[str, ...] = (BROKEN, SMALL, NO_TEXT, DUPLICATE)
"""Why a picture is dropped, in the order in which it is looked at."""
LEFT_AFTER: dict[str, str] = {BROKEN: "not broken", SMALL: "large enough", NO_TEXT: "with text", DUPLICATE: "once"}
PAPER: dict[str, str] = {READ: "> 1,000,000", DUPLICATE: "162,000"}
"""What the Hateful Memes had at a step; people brought them down to 46,000, and 10,000 are in the data."""
ALIKE = 0.9
"""From which share of common letters on two texts may be alike: OCR does not read a meme the same way twice."""

ReadLines = Callable[[Picture], list[OcrLine]]


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    """`smallest` is the shortest side that a picture may have; `near` how many bits of two hashes may differ."""

    smallest: Annotated[int, Option("The shortest side that a picture may have.", metavar="PX")] = 100
    near: Annotated[int, Option("How far apart duplicates' hashes (PDQ) may be.", metavar="BITS")] = NEAR
    ignore_text: Annotated[bool, Option("Cover the text first: one picture with two texts is a duplicate.")] = False

    def __post_init__(self) -> None:
        if self.smallest < 1:
            raise UserError(f"--smallest is {self.smallest}; give the shortest side in pixels, 1 or more.")
        if not 0 <= self.near <= 128:
            raise UserError(f"--near is {self.near}; give 0 to 128 bits. PDQ's authors use {NEAR}.")


@dataclass(frozen=True, slots=True)
class ExaminedMeme:
    """What was found in a picture. `hash` is None where the picture is too plain to be compared."""

    name: str
    dropped: str | None = None
    why: str = ""
    text: str = ""
    key: str = ""
    hash: str | None = None


def examine_meme(
    name: str, path: Path | None, text: str, read_lines: ReadLines, settings: ReadingSettings
) -> ExaminedMeme:
    """Return what a picture holds; `text` is what is known of it already, then it is not read from the picture."""
    if path is None:
        return ExaminedMeme(name, BROKEN, "there is no such picture")
    try:
        picture = read_picture(path, name="It")
    except UserError as error:
        return ExaminedMeme(name, BROKEN, error.message)
    width, height = picture.image.size
    if min(width, height) < settings.smallest:
        return ExaminedMeme(name, SMALL, f"{width} × {height} pixels", key=picture.key)
    lines = read_lines(picture) if settings.ignore_text or not text.strip() else []
    text = text.strip() or text_of(lines)
    if not text:
        return ExaminedMeme(name, NO_TEXT, "no text could be read on it", key=picture.key)
    compared = without_text(picture.image, lines) if settings.ignore_text else picture.image
    bits, quality = pdq(compared)
    return ExaminedMeme(name, text=text, key=picture.key, hash=bits.tobytes().hex() if quality >= MIN_QUALITY else None)


def drop_duplicates(memes: Sequence[ExaminedMeme], settings: ReadingSettings) -> list[ExaminedMeme]:
    """Return the same memes; of those that are duplicates all but the first are marked as dropped."""
    import numpy as np

    kept = [place for place, meme in enumerate(memes) if meme.dropped is None]
    hashed = [place for place in kept if memes[place].hash is not None]
    packed = b"".join(bytes.fromhex(memes[place].hash or "") for place in hashed)
    hashes = np.frombuffer(packed, np.uint8).reshape(-1, 32)
    pairs = [(hashed[one], hashed[other]) for one, other in near_pairs(hashes, settings.near)]
    pairs += _same_pixels(memes, [place for place in kept if memes[place].hash is None])
    if not settings.ignore_text:
        pairs = [pair for pair in pairs if _alike(memes[pair[0]].text, memes[pair[1]].text)]
    first = groups_of(len(memes), pairs)
    return [
        meme if first[place] == place else replace(meme, dropped=DUPLICATE, why=f"of {memes[first[place]].name}")
        for place, meme in enumerate(memes)
    ]


def _same_pixels(memes: Sequence[ExaminedMeme], plain: Sequence[int]) -> list[tuple[int, int]]:
    """Return all pairs of equal pictures among those without a hash; with one, equal pictures are near ones."""
    by_key: dict[str, list[int]] = {}
    for place in plain:
        by_key.setdefault(memes[place].key, []).append(place)
    return [pair for places in by_key.values() for pair in combinations(places, 2)]


def _alike(one: str, other: str) -> bool:
    """Return whether texts differ in single letters alone. More at one place may be a word, such as "not"."""
    a, b = (re.sub(r"[\W_]+", "", text.casefold()) for text in (one, other))
    if a == b:
        return True
    compared = SequenceMatcher(None, a, b, autojunk=False)
    changes = [
        (end - start, stop - begin) for kind, start, end, begin, stop in compared.get_opcodes() if kind != "equal"
    ]
    return compared.ratio() >= ALIKE and max(max(change) for change in changes) == 1


def count_steps(memes: Sequence[ExaminedMeme]) -> list[dict[str, Any]]:
    """Return the funnel: for each step how many were dropped, how many were left, and what the paper had."""
    left = len(memes)
    steps: list[dict[str, Any]] = [{"step": READ, "dropped": 0, "left": left, "paper": PAPER[READ]}]
    for drop in DROPS:
        dropped = sum(meme.dropped == drop for meme in memes)
        left -= dropped
        steps.append({"step": LEFT_AFTER[drop], "dropped": dropped, "left": left, "paper": PAPER.get(drop, "")})
    return steps
