"""What a file is, by its content, and whether it is safe to read.

A path in, its kind out, or a `UserError` that says what is wrong. Archives are
measured by reading them through, never by what their headers claim.
"""

from __future__ import annotations

import codecs
import gzip
import json
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from davy.core.errors import UserError
from davy.files.formats import separator_of
from davy.files.unpacked_size import LONGEST_FOOTER, MEMORY, DelimitedCells, JsonCells, measure_table

CHUNK = 1 << 20
_BINARY = frozenset(range(32)) - {9, 10, 12, 13, 27}
RATIO_FROM = 10_000_000
LONGEST_CELL = 400_000
"""Bytes of one text in a spreadsheet: Excel's 32,767 characters, each written in at most twelve."""
EXCEL_MEMORY = 2 * 2**30


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """How much is too much. Sizes are bytes; unpacked sizes count what an archive would grow to."""

    size: int = 200_000_000
    unpacked: int = 1_000_000_000
    ratio: int = 200
    """How many times larger than packed an archive may get, once past 10 MB."""
    members: int = 10_000
    columns: int = 1_000
    cells: int = 50_000_000
    line: int = 10_000_000


def check_contents(path: Path, name: str, limits: UploadLimits) -> tuple[str, bool]:
    """Return (kind, whether gzip) of a file that is within every limit."""
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(b"\x1f\x8b"):
        return _check_gzip(path, name.removesuffix(".gz"), limits), True
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _check_zip(path, limits), False
    if head.startswith(b"PAR1"):
        _check_parquet(path, limits)
        return "parquet", False
    if _is_image(head):
        from davy.image.picture import read_picture

        read_picture(path, name="The uploaded image")
        return "image", False
    with path.open("rb") as file:
        utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # Excel's "Unicode text"
        return _check_text(_Recoded(file) if utf16 else file, name, limits), False


class _Recoded:
    """A stream of UTF-16 read as UTF-8; what is none becomes signs that no table has."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")

    def read(self, size: int = CHUNK) -> bytes:
        chunk = self._file.read(size)
        return self._decoder.decode(chunk, final=not chunk).encode("utf-8", "replace")


def _is_image(head: bytes) -> bool:
    from davy.image.picture import sniff

    return sniff(head) is not None


def _check_gzip(path: Path, name: str, limits: UploadLimits) -> str:
    packed = path.stat().st_size
    try:
        with gzip.open(path) as file:
            return _check_text(_Metered(file, packed, limits), name, limits)
    except (OSError, EOFError, zlib.error):
        raise UserError("The gzip file is damaged or cut short. Pack it again.", status=422) from None


class _Metered:
    """A stream that refuses to grow past the unpacked size or the ratio."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, packed: int, limits: UploadLimits, before: int = 0) -> None:
        self._file = file
        self._packed = max(packed, 1)
        self._limits = limits
        self.size = before

    def read(self, size: int = CHUNK) -> bytes:
        chunk = self._file.read(min(size, CHUNK) if size > 0 else CHUNK)
        self.size += len(chunk)
        too_dense = self.size > RATIO_FROM and self.size > self._packed * self._limits.ratio
        if self.size > self._limits.unpacked or too_dense:
            raise UserError(
                f"The archive unpacks to more than {megabytes(self.size - len(chunk))} from {megabytes(self._packed)}, "
                f"over the limit of {megabytes(self._limits.unpacked)} or {self._limits.ratio} times. Upload parts.",
                status=413,
            )
        return chunk


def _check_zip(path: Path, limits: UploadLimits) -> str:
    """Return whether it is a zip or a spreadsheet, having read every member through once.

    Nested archives, links, encryption and paths that climb out are refused.
    """
    packed = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > limits.members:
                raise UserError(f"The zip has {len(members):,} files; at most {limits.members:,}.", status=413)
            _check_overlap(members, packed)
            total = 0
            for member in members:
                _check_member(member)
                with archive.open(member) as file:
                    metered = _Metered(file, packed, limits, before=total)
                    first = head = metered.read()
                    if head.startswith((b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"BZh")):
                        raise UserError("The zip holds another archive. Unpack that one first.", status=415)
                    if head.startswith(b"PAR1"):
                        _check_parquet_member(metered, head, limits)
                    while first:
                        first = metered.read()
                    total = metered.size
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError):
        raise UserError("The zip file is damaged or of an unknown kind. Pack it again.", status=422) from None
    if "xl/workbook.xml" not in {member.filename for member in members}:
        return "zip"
    _check_cells(path)
    _check_table(path, "Excel", limits, memory=EXCEL_MEMORY)
    return "xlsx"


def _check_cells(path: Path) -> None:
    """Refuse a spreadsheet with a text that no cell could hold: one said once may stand in a million cells."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.startswith("xl/") or not name.endswith(".xml"):
                continue
            run = 0
            with archive.open(name) as file:
                while chunk := file.read(CHUNK):
                    first, *rest = chunk.split(b"<")
                    lengths = [run + len(first), *map(len, rest)]
                    run = lengths[-1]
                    if max(lengths) > LONGEST_CELL:
                        raise UserError("The spreadsheet has a cell that is longer than Excel allows.", status=413)


def _check_parquet_member(file: _Metered, head: bytes, limits: UploadLimits) -> None:
    """Check a Parquet file inside a zip: what it unpacks to is not what the zip says."""
    with tempfile.NamedTemporaryFile(prefix="davy-upload-", suffix=".parquet") as copy:
        while head:
            copy.write(head)
            head = file.read()
        copy.flush()
        _check_parquet(Path(copy.name), limits)


def _check_member(member: zipfile.ZipInfo) -> None:
    parts = member.filename.replace("\\", "/").split("/")
    if member.filename.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        raise UserError("The zip holds a path that leads out of its folder. Pack it again without such paths.")
    if (member.external_attr >> 16) & 0o170000 == 0o120000:
        raise UserError("The zip holds a symbolic link. Pack the files themselves.")
    if member.flag_bits & 0x1:
        raise UserError("The zip is encrypted. Upload it without a password.")


def _check_overlap(members: list[zipfile.ZipInfo], packed: int) -> None:
    """Refuse members that share bytes: the trick of bombs that unpack one block many times."""
    if sum(member.compress_size for member in members) > packed:
        raise UserError("The zip's files overlap, so it is not an honest archive. Pack it again.", status=413)


def _check_parquet(path: Path, limits: UploadLimits) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        tail = file.read(8)
    footer = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or footer > size - 12:
        raise UserError("The Parquet file is cut short. Write it again.", status=422)
    if footer > LONGEST_FOOTER:
        raise UserError("The Parquet file's footer is too large to read safely.", status=413)
    _check_table(path, "Parquet", limits)


def _check_table(path: Path, kind: str, limits: UploadLimits, *, memory: int = MEMORY) -> None:
    """Refuse a table that would be too large in memory, measured in a process of its own."""
    measured = measure_table(path, most_cells=limits.cells, kind=kind, memory=memory)
    _check_columns(measured["columns"], limits)
    if measured["bytes"] > limits.unpacked:
        raise UserError(
            f"The {kind} file unpacks to {megabytes(measured['bytes'])}, over the limit of "
            f"{megabytes(limits.unpacked)}. Upload parts.",
            status=413,
        )


def _check_columns(columns: int, limits: UploadLimits) -> None:
    if columns > limits.columns:
        raise UserError(f"The table has {columns:,} columns; at most {limits.columns:,}.", status=413)


def _check_text(file: IO[bytes] | _Metered | _Recoded, name: str, limits: UploadLimits) -> str:
    """Read a text file through and return csv, tsv or jsonl; refuse binary content, endless lines, too many cells."""
    head = b""
    kind = ""
    length = 0
    counter: DelimitedCells | JsonCells | None = None
    # A chunk is no longer than the longest line allowed, so a line that is too long crosses a chunk's end.
    while chunk := file.read(min(CHUNK, limits.line)):
        if _looks_binary(chunk):
            raise UserError(
                "The file holds NUL or control bytes: not text, or not UTF-8. Save it as UTF-8.", status=415
            )
        first, last = _first_break(chunk), max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        length += first if first >= 0 else len(chunk)
        _check_line(length, limits)
        length = len(chunk) - last - 1 if last >= 0 else length
        if not kind:
            head = (head + chunk).lstrip(b"\r\n \t\xef\xbb\xbf")
            if (end := _first_break(head)) > 0:
                kind = _text_kind(head[:end], name, limits)
                counter = _counter(kind, head, end)
                chunk, head = head, b""
        if counter is not None:
            counter.take(chunk)
            _check_counts(counter, limits)
    if isinstance(counter, JsonCells):
        counter.finish()
        _check_counts(counter, limits)
    return kind or _text_kind(head, name, limits)


def _counter(kind: str, head: bytes, first_end: int) -> DelimitedCells | JsonCells | None:
    """Return what counts the cells of a file that begins so; its first line ends at `first_end`."""
    if kind == "jsonl":
        return JsonCells(b"\n" if b"\n" in head else b"\r")
    if kind == "json":
        return None
    first = head[:first_end].decode("latin-1")
    return DelimitedCells(separator_of(first, kind), quotes=kind == "csv")  # TSV may be read without quotes


def _check_counts(counter: DelimitedCells | JsonCells, limits: UploadLimits) -> None:
    if isinstance(counter, JsonCells):
        _check_line(counter.held, limits)
        if counter.columns > limits.columns:
            raise UserError(
                f"The first {counter.rows:,} lines have {counter.columns:,} different keys; at most "
                f"{limits.columns:,}. Put what differs from line to line into one key, such as meta.",
                status=413,
            )
    if counter.cells > limits.cells:
        raise UserError(f"The table has more than {limits.cells:,} cells. Upload parts.", status=413)


def _check_line(length: int, limits: UploadLimits) -> None:
    if length > limits.line:
        raise UserError(f"The file has a line longer than {megabytes(limits.line)}.", status=413)


def _first_break(chunk: bytes) -> int:
    found = [at for at in (chunk.find(b"\n"), chunk.find(b"\r")) if at >= 0]
    return min(found, default=-1)


def _looks_binary(chunk: bytes) -> bool:
    """Return whether a chunk has a NUL, or more control bytes than the few that real posts carry."""
    return b"\0" in chunk or len(chunk) - len(chunk.translate(None, bytes(_BINARY))) > max(8, len(chunk) // 100)


def _text_kind(first: bytes, name: str, limits: UploadLimits) -> str:
    try:
        line = first.decode("utf-8-sig").strip("\r\n ")
    except UnicodeDecodeError:
        line = first.decode("latin-1").strip("\r\n ")
    if not line:
        raise UserError("The file holds only blank lines.", status=422)
    if line.startswith("{"):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):  # the latter: a thousand brackets deep
            raise UserError("The first line is not a JSON object; JSONL has one object a line.", status=422) from None
        _check_columns(len(fields), limits)
        return "jsonl"
    if line.startswith("[") and name.lower().endswith(".json"):
        return "json"  # an array, often all on one line: its reader says what is wrong in it
    tab = name.lower().endswith((".tsv", ".tab")) or line.count("\t") > line.count(",")
    kind = "tsv" if tab else "csv"
    _check_columns(line.count(separator_of(line, kind)) + 1, limits)
    return kind


def megabytes(size: int) -> str:
    """Return a size for people."""
    return f"{size / 1_000_000:,.0f} MB" if size >= 1_000_000 else f"{size:,} bytes"
