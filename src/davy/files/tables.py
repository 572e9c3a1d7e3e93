"""Files of posts: CSV, TSV, JSONL and Parquet, in and out, streamed; text, JSON, spreadsheets and Arrow in.

`open_table` gives a file as a `FileTable`; `scan` and `batches` give its rows; `write`
puts rows into a file, whole or not at all; `convert` goes from one file to
another without loss. docs/data/files.md says how each format keeps null, empty text,
JSON and types.
"""

from __future__ import annotations

import atexit
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.files import delimited, in_memory_formats, jsonl, parquet
from davy.files import post_columns as columns_of
from davy.files.atomic import atomic_path, refuse_input
from davy.files.file_table import FileTable, translate_errors
from davy.files.formats import STDIO, WHOLE, FileFormat, display_name, format_of, output_format
from davy.files.input_file import LINE_CAP, plain_copy
from davy.files.input_paths import files_of, is_many, refuse_mixed, split_of, split_paths
from davy.files.output_file import sink, write

__all__ = [
    "Conversion",
    "FileTable",
    "batches",
    "convert",
    "copy",
    "open_table",
    "read_all",
    "read_posts",
    "scan",
    "write",
]


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion did."""

    rows: int
    columns: tuple[str, ...]
    seconds: float
    out: str


@contextmanager
def open_table(
    path: Path | str,
    *,
    format: str | None = None,
    encoding: str | None = None,
    header: list[str] | None = None,
    quote: bool = True,
    cap: int = LINE_CAP,
) -> Iterator[FileTable]:
    """Yield a file as a table; copies that reading it needs are removed when the block ends.

    A folder or a pattern (`parts/*.parquet`) is the table of all its files, one after the other; so are several paths.
    """
    paths = split_paths(path)
    if len(paths) > 1:
        with ExitStack() as stack:
            opened = [stack.enter_context(open_table(one, format=format, encoding=encoding)) for one in paths]
            yield _joined(display_name(path), opened, [None] * len(opened))
        return
    if is_many(path):
        with ExitStack() as stack:
            files = files_of(path)
            refuse_mixed(files, path)
            opened = [
                stack.enter_context(open_table(file, format=format, encoding=encoding, quote=quote, cap=cap))
                for file in files
            ]
            splits = [split_of(Path(file), path) for file in files]
            yield _joined(str(path), opened, splits)
        return
    kind = format_of(path, format)
    name = display_name(path)
    with tempfile.TemporaryDirectory(prefix="davy-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        if kind.name in WHOLE and str(path) != STDIO:
            yield in_memory_formats.read(Path(path).expanduser(), name, kind, encoding)
            return
        on_disk = plain_copy(path, kind, scratch, encoding=encoding)
        if kind.name in WHOLE:
            yield in_memory_formats.read(on_disk, name, FileFormat(kind.name), None)
        elif kind.name == "parquet":
            yield parquet.read(on_disk, name)
        elif kind.name == "jsonl":
            yield jsonl.read(on_disk, name, scratch, cap=cap)
        else:
            yield delimited.read(on_disk, name, kind.name, header=header, quote=quote, cap=cap)


def _joined(name: str, opened: list[FileTable], splits: list[str | None]) -> FileTable:
    """Return several tables as one; a column that one lacks is null there."""
    frames = [
        table.frame if split is None or "split" in table.columns else table.frame.with_columns(split=pl.lit(split))
        for table, split in zip(opened, splits, strict=True)
    ]
    json = frozenset[str]().union(*(table.json for table in opened))
    unproven = frozenset[str]().union(*(table.unproven for table in opened))
    joined = pl.concat(frames, how="diagonal_relaxed")
    parts = tuple((table.name, tuple(table.columns)) for table in opened)
    return FileTable(name, joined, json, sum(table.rows for table in opened), unproven, parts)


def scan(
    path: Path | str, columns: Iterable[str] | None = None, *, format: str | None = None, encoding: str | None = None
) -> pl.LazyFrame:
    """Return the rows of a file as a frame that streams; copies that reading needs last until the process ends."""
    stack = ExitStack()
    table = stack.enter_context(open_table(path, format=format, encoding=encoding))
    atexit.register(stack.close)
    return (table if columns is None else table.select(columns)).frame


def batches(
    path: Path | str,
    size: int = 10_000,
    columns: Iterable[str] | None = None,
    *,
    format: str | None = None,
    encoding: str | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file in their order, `size` at a time."""
    with open_table(path, format=format, encoding=encoding) as table, translate_errors(table.name):
        chosen = table if columns is None else table.select(columns)
        yield from chosen.frame.collect_batches(chunk_size=size, maintain_order=True, engine="streaming")


def read_all(
    sources: Sequence[Path | str], *, text: str | None = None, id: str | None = None, encoding: str | None = None
) -> pl.DataFrame:
    """Return the posts of all sources in one frame; a column that one lacks is null there, and no id is there twice."""
    frames = []
    for file in [file for source in sources for file in files_of(source)]:
        with open_table(file, encoding=encoding) as table, translate_errors(table.name):
            frames.append(columns_of.check_ids(columns_of.as_posts(table, text=text, id=id)).frame.collect())
    posts = pl.concat(frames, how="diagonal_relaxed")
    again = posts.filter(~pl.col("id").is_first_distinct())
    if len(again):
        raise UserError(f"Id {again['id'][0][:60]!r} is in two of the files. Ids must differ: name another column, id=")
    return posts


def read_posts(path: Path | str) -> pl.DataFrame:
    """Return the posts of a file that fits in memory: `text`, `id`, every other column, and no id twice."""
    with open_table(path) as table:
        posts = columns_of.check_ids(columns_of.as_posts(table))
        with translate_errors(table.name):
            return posts.frame.collect(engine="streaming")


def convert(
    source: Path | str,
    out: Path | str,
    *,
    format: str | None = None,
    out_format: str | None = None,
    encoding: str | None = None,
    text: str | None = None,
    id: str | None = None,
    progress: Callable[[int], object] | None = None,
) -> Conversion:
    """Write the rows of one file to another; naming a text or id column makes the table one of posts."""
    start = time.perf_counter()
    with open_table(source, format=format, encoding=encoding) as table:
        if text is not None or id is not None:
            table = columns_of.as_posts(table, text=text, id=id)
        done = copy(table, out, source=source, format=out_format, progress=progress)
    return replace(done, seconds=time.perf_counter() - start)


def copy(
    table: FileTable,
    out: Path | str,
    *,
    source: Path | str | None = None,
    format: str | None = None,
    progress: Callable[[int], object] | None = None,
) -> Conversion:
    """Write a table to a file, and refuse repeated ids before the file takes its name."""
    start = time.perf_counter()
    kind = output_format(out, format)
    if source is not None:
        refuse_input(out, source)
    check = columns_of.IdCheck()
    seen = 0
    suspects: set[str] = set()

    def watch(batch: pl.DataFrame) -> pl.DataFrame:
        nonlocal seen
        seen += len(batch)
        suspects.update(column for column in table.unproven if not jsonl.is_json(batch[column]))
        if "id" in batch.columns:
            check.see(batch["id"].cast(pl.String))
        if progress is not None:
            progress(len(batch))
        return batch

    names = table.columns
    with atomic_path(out) as hidden:
        with translate_errors(table.name):
            watched = table.frame.map_batches(watch, streamable=True, schema=table.frame.collect_schema())
            sink(watched, table.json, hidden, kind)
        if seen != table.rows:
            raise UserError(
                f"{table.name} has {table.rows} rows, but {seen} could be read: its quotes are not balanced."
            )
        for column in suspects:
            jsonl.refuse_bad_json(table, column)
        check.finish(table)
    return Conversion(seen, tuple(names), time.perf_counter() - start, str(out))
