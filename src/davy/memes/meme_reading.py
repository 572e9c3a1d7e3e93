"""Read source memes: a folder or a table of pictures in, the posts and pictures of a project out, with the funnel."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.files.atomic import atomic_folder, refuse_existing_folder
from davy.files.run_folder import RunFolder, open_run_folder
from davy.files.tables import open_table
from davy.image.picture import read_picture
from davy.image.picture_names import match_names, picture_paths
from davy.memes.source_memes import (
    ExaminedMeme,
    ReadingSettings,
    ReadLines,
    count_steps,
    drop_duplicates,
    examine_meme,
)

IMAGE_COLUMNS = ("image", "img")
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
        column = next((name for name in IMAGE_COLUMNS if name in opened.columns), None)
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
            found = []
            for meme in pool.map(examine, pictures[start : start + every]):
                found.append(meme)
                reporter.advance()
            examined += found
            run.add(pl.DataFrame([asdict(meme) for meme in found], schema=_SCHEMA))
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
