"""Which format a file has: by its extension, or by name where it has none.

A path or `-` in, a `FileFormat` out. Text formats may be compressed (`.gz`, `.xz`,
`.bz2`, `.zst`); `-` is stdin or stdout and needs `--format`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from davy.core.errors import UserError, nearest

EXTENSIONS: dict[str, str] = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "parquet": "parquet",
    "pq": "parquet",
    "txt": "txt",
    "json": "json",
    "xlsx": "xlsx",
    "feather": "arrow",
    "arrow": "arrow",
}
WHOLE: tuple[str, ...] = ("txt", "json", "xlsx", "arrow")
"""Formats that are read whole and never written: `files.whole_files`."""
COMPRESSIONS: tuple[str, ...] = ("gz", "xz", "bz2", "zst")
SEPARATORS: dict[str, str] = {"csv": ",", "tsv": "\t"}
STDIO = "-"


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format and, for text formats, how it is compressed."""

    name: str
    compression: str | None = None

    def __str__(self) -> str:
        return f"{self.name}.{self.compression}" if self.compression else self.name


def separator_of(first_line: str, format: str) -> str:
    """Return what separates the cells of a CSV or TSV file; a CSV file without a comma may have semicolons or tabs."""
    separator = SEPARATORS[format]
    if format == "csv" and separator not in first_line:
        return next((other for other in ";\t" if other in first_line), separator)
    return separator


def format_of(path: Path | str, asked: str | None = None) -> FileFormat:
    """Return the format of a file; `asked` (such as `csv` or `jsonl.gz`) wins over the extension."""
    if asked:
        return _by_name(asked.lower().lstrip("."), f"Format {asked!r} is not known.", asked)
    if str(path) == STDIO:
        raise UserError("'-' has no extension: say what it is with --format csv, tsv, jsonl or parquet.")
    ending = ".".join(part for part in Path(path).name.lower().split(".")[1:][-2:])
    return _by_name(ending, f"{path}: the extension does not say which format it is.", ending.split(".")[-1])


def output_format(path: Path | str, asked: str | None = None) -> FileFormat:
    """Return the format to write a file in; one that is only read is an error."""
    kind = format_of(path, asked)
    if kind.name in WHOLE:
        raise UserError(f"{path}: Davy reads .{kind.name} but does not write it. Write .csv, .tsv, .jsonl or .parquet.")
    return kind


def names_format(path: Path | str) -> bool:
    """Return whether a path's extension says its format."""
    try:
        format_of(path)
    except UserError:
        return False
    return True


def display_name(path: Path | str) -> str:
    """Return how errors and notes name a path, or several; `-` is stdin."""
    return "stdin" if str(path) == STDIO else ", ".join(str(path).splitlines())


def _by_name(name: str, complaint: str, seen: str) -> FileFormat:
    parts = name.split(".")
    compression = parts.pop() if parts[-1] in COMPRESSIONS else None
    known = EXTENSIONS.get(parts[-1]) if parts else None
    if known is None:
        hint = nearest(seen, list(EXTENSIONS))
        raise UserError(
            f"{complaint} Known: {', '.join(EXTENSIONS)}, and the text formats with .{', .'.join(COMPRESSIONS)};"
            f" or name it with --format.{hint}"
        )
    if known in ("parquet", "xlsx", "arrow") and compression:
        raise UserError(f"{complaint} {known.capitalize()} is compressed inside: leave out .{compression}.")
    return FileFormat(known, compression)
