"""Source memes: read a folder or a table of pictures, and keep those that can be worked with, each once.

Pictures in, the posts and pictures of a project out, with the funnel. The one thing to know: two memes on the same
picture with different texts are different memes, so by default near pictures are duplicates only if their texts are
alike too; `ignore_text` covers the texts and compares the pictures alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.files.atomic import atomic_folder, refuse_existing_folder
from davy.files.post_columns import image_column
from davy.files.run_folder import RunFolder, open_run_folder
from davy.files.tables import open_table
from davy.image.ocr import OcrLine, text_of
from davy.image.perceptual_hash import MIN_QUALITY, NEAR, groups_of, near_pairs, pdq, without_text
from davy.image.picture import Picture, read_picture
from davy.image.picture_names import match_names, picture_paths

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
    near: Annotated[
        int, Option("How far apart duplicates' hashes (PDQ) may be.", "--near-pictures", metavar="BITS")
    ] = NEAR
    ignore_text: Annotated[bool, Option("Cover the text first: one picture with two texts is a duplicate.")] = False

    def __post_init__(self) -> None:
        if self.smallest < 1:
            raise UserError(f"--smallest is {self.smallest}; give the shortest side in pixels, 1 or more.")
        if not 0 <= self.near <= 128:
            raise UserError(f"--near-pictures is {self.near}; give 0 to 128 bits. PDQ's authors use {NEAR}.")


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


_SAVED_EVERY = {True: 200, False: 5}
"""Pictures between two saves, by whether their texts are known; reading a text takes about a second."""
_SCHEMA = {field.name: str for field in fields(ExaminedMeme)}


@dataclass(frozen=True, slots=True)
class SourcePicture:
    """A picture to read. `path` is None where the file is missing, `row` what a table says about it."""

    name: str
    path: Path | None
    row: Mapping[str, Any]


def read_memes(
    source: Annotated[Path, Option("A folder of pictures, or a table that names them.", "source", metavar="SOURCE")],
    out: Annotated[Path, Option("The new folder to write.", metavar="DIR")],
    *,
    images: Annotated[Path | None, Option("Where a table's pictures are, unless beside it.", metavar="DIR")] = None,
    settings: Annotated[ReadingSettings | None, Options(ReadingSettings)] = None,
    read_lines: ReadLines | None = None,
    reporter: Reporter = SILENT,
) -> list[dict[str, Any]]:
    """Write the memes of a folder or a table into a new folder, and return the funnel.

    The folder holds `posts.jsonl` and `img/` for `davy project create`, `dropped.jsonl` with reasons, and
    `funnel.json`. Killed, the same call goes on. `read_lines` reads the text on a picture; by default OCR does.
    """
    settings = settings or ReadingSettings()
    refuse_existing_folder(out)
    pictures = _in_folder(source) if source.is_dir() else _in_table(source, images or source.parent)
    names = hashlib.sha256("\n".join(picture.name for picture in pictures).encode()).hexdigest()
    with open_run_folder(out, {"source": str(source), "names": names, **asdict(settings)}) as run:
        examined = _examine(run, pictures, settings, read_lines, reporter)
        memes = drop_duplicates(examined, settings)
        funnel = count_steps(memes)
        with atomic_folder(out) as folder:
            _write(folder, pictures, memes)
            about = {"source": str(source), **asdict(settings), "steps": funnel}
            (folder / "funnel.json").write_text(json.dumps(about, indent=2), encoding="utf-8")
        run.finish(lambda _: None)
    return funnel


def _in_folder(folder: Path) -> list[SourcePicture]:
    paths = picture_paths(folder)
    if not paths:
        raise UserError(f"There is no PNG, JPEG, WebP or GIF in {folder}.")
    return [SourcePicture(name, path, {}) for name, path in paths.items()]


def _in_table(table: Path, images: Path) -> list[SourcePicture]:
    with open_table(table) as opened:
        column = image_column(opened.columns)
        if column is None:
            raise UserError(f"{table} has no column image or img that names the pictures.")
        rows = opened.frame.collect().to_dicts()
    _refuse_shared_ids(rows, column, table)
    paths = picture_paths(images)
    matches = match_names(paths, {str(row[column] or "") for row in rows})
    if not any(matches.values()):
        raise UserError(f"None of the {len(rows):,} pictures that {table} names is in {images}. Give --images.")
    pictures = []
    for row in rows:
        name = str(row.pop(column) or "")
        match = matches[name]
        pictures.append(SourcePicture(name, paths[match] if match is not None else None, row))
    return pictures


def _refuse_shared_ids(rows: Sequence[Mapping[str, Any]], column: str, table: Path) -> None:
    """Raise where a row has the id of an earlier one and is another meme: one of them would be lost."""
    first: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if not _has_id(row):
            continue
        earlier = first.setdefault(str(row["id"]), number)
        for name, what in (("text", "text"), (column, "picture")):
            if (row.get(name) or "") != (rows[earlier - 1].get(name) or ""):
                raise UserError(
                    f"{table}: row {number} has the id {str(row['id'])!r} of row {earlier}, but another {what}. "
                    "Give each meme an id of its own."
                )


def _examine(
    run: RunFolder,
    pictures: Sequence[SourcePicture],
    settings: ReadingSettings,
    read_lines: ReadLines | None,
    reporter: Reporter,
) -> list[ExaminedMeme]:
    """Return what all pictures hold; what a stopped run found is taken over."""
    import polars as pl

    examined = [ExaminedMeme(**row) for frame in run.frames() for row in frame.to_dicts()]
    if examined:
        reporter.note(f"{len(examined):,} pictures were read before; going on.")
    reporter.begin("Reading memes", len(pictures))
    reporter.advance(len(examined))
    examine = partial(_examine_picture, read_lines=read_lines or _ocr_lines(), settings=settings)
    # Where texts are known, decoding and hashing are left, which two threads share; OCR takes one picture at a time.
    known = not settings.ignore_text and all(picture.row.get("text") for picture in pictures)
    every = _SAVED_EVERY[known]
    with ThreadPoolExecutor(2 if known else 1) as pool:
        for start in range(len(examined), len(pictures), every):
            memes = []
            for meme in pool.map(examine, pictures[start : start + every]):
                memes.append(meme)
                reporter.advance()
            examined += memes
            run.add(pl.DataFrame([asdict(meme) for meme in memes], schema=_SCHEMA))
            run.save()
            reporter.keep(f"{len(examined):,} of {len(pictures):,} pictures, in {run.folder}")
    reporter.end()
    return examined


def _examine_picture(picture: SourcePicture, *, read_lines: ReadLines, settings: ReadingSettings) -> ExaminedMeme:
    return examine_meme(picture.name, picture.path, str(picture.row.get("text") or ""), read_lines, settings)


def _ocr_lines() -> ReadLines:
    """Return what reads text from pictures; its networks are loaded with the first one."""
    from davy.image import ocr

    engine = cache(ocr.reader)
    return lambda picture: ocr.read_lines(picture, engine())


def _write(folder: Path, pictures: Sequence[SourcePicture], memes: Sequence[ExaminedMeme]) -> None:
    """Write the memes that are left, and say of the others why they are not; pictures are written afresh."""
    (folder / "img").mkdir()
    posts, dropped = [], []
    on_picture: Counter[str] = Counter()
    for picture, meme in zip(pictures, memes, strict=True):
        if meme.dropped is not None or picture.path is None:
            own = {"id": picture.row["id"]} if _has_id(picture.row) else {}
            dropped.append({**own, "name": meme.name, "dropped": meme.dropped, "why": meme.why})
            continue
        image = f"{meme.key}.png"
        (folder / "img" / image).write_bytes(read_picture(picture.path).encode())
        known = picture.row if _has_id(picture.row) else {**picture.row, "id": _picture_id(meme.key, on_picture)}
        posts.append({"id": known["id"], "source": picture.name, **known, "text": meme.text, "image": image})
    _write_lines(folder / "posts.jsonl", posts)
    _write_lines(folder / "dropped.jsonl", dropped)


def _has_id(row: Mapping[str, Any]) -> bool:
    return row.get("id") not in (None, "")


def _picture_id(key: str, on_picture: Counter[str]) -> str:
    """Return the id of a meme that has none: its picture's key, with a number from the second text on it on."""
    on_picture[key] += 1
    return key if on_picture[key] == 1 else f"{key}-{on_picture[key]}"


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows), encoding="utf-8")
