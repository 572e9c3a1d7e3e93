"""From whatever the user names to a plain UTF-8 file on disk, and its lines in blocks.

A path (or `-`) in, a path out that polars can stream: the same one where it is
plain UTF-8 already, else a copy in a scratch folder, made piece by piece. No
line longer than a cap is ever held: a wrong file must not fill the memory.
"""

from __future__ import annotations

import codecs
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from davy.core.errors import MissingFile, UserError
from davy.files.compression import FAULTS, damaged, open_packed
from davy.files.formats import STDIO, FileFormat, display_name

LINE_CAP = 64 * 1024 * 1024
"""The longest line that is read, in bytes."""
_PIECE = 1024 * 1024
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def plain_copy(path: Path | str, format: FileFormat, scratch: Path, *, encoding: str | None = None) -> Path:
    """Return the path of a plain copy of the file, in `scratch` unless the file itself will do."""
    current = _on_disk(path, scratch)
    if current.stat().st_size == 0:
        raise UserError(f"{display_name(path)} is empty. Give a file with at least one row.")
    if format.compression:
        current = _unpacked(current, format.compression, scratch, display_name(path))
    if format.name == "parquet":
        return current
    found = encoding or _encoding_of(current)
    if found is None or _is_plain_utf8(found):
        return current
    return _decoded(current, found, scratch, display_name(path))


def line_blocks(
    path: Path,
    name: str,
    *,
    cap: int = LINE_CAP,
    size: int = 4 * _PIECE,
    utf8: bool = True,
    start: int = 0,
    end: int | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Yield (byte offset, whole lines) of a UTF-8 file, about `size` bytes at a time; `utf8` checks that it is one."""
    newline = line_end(path)
    offset = start
    left = (path.stat().st_size if end is None else end) - start
    rest: list[bytes] = []
    with path.open("rb") as file:
        file.seek(start)
        while piece := file.read(min(size, left)):
            left -= len(piece)
            cut = piece.rfind(newline) + 1
            if not cut:
                rest.append(piece)
                if sum(map(len, rest)) > cap:
                    raise UserError(
                        f"{name}: a line that starts at byte {offset} is longer than {cap // _PIECE or 1} MiB."
                        " Is this the right file and format?"
                    )
                continue
            block, rest = b"".join([*rest, piece[:cut]]), [piece[cut:]]
            if utf8:
                check_utf8(block, offset, name)
            yield offset, block
            offset += len(block)
    if last := b"".join(rest):
        if utf8:
            check_utf8(last, offset, name)
        yield offset, last


def line_end(path: Path) -> bytes:
    """Return the byte that ends lines: LF (with or without a CR before it), or CR in files from an old Mac."""
    with path.open("rb") as file:
        start = file.read(_PIECE)
    return b"\r" if b"\r" in start and b"\n" not in start else b"\n"


def _on_disk(path: Path | str, scratch: Path) -> Path:
    if str(path) == STDIO:
        copy = scratch / "stdin"
        with copy.open("wb") as out:
            _pour(sys.stdin.buffer, out)
        return copy
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path} is a folder. Name the file in it.")
    if not path.exists():
        raise MissingFile(f"{path} does not exist.{_nearest_file_hint(path)}")
    try:
        with path.open("rb") as file:
            if path.is_file():
                return path
            copy = scratch / "piped"  # a named pipe can be read only once
            with copy.open("wb") as out:
                _pour(file, out)
            return copy
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror or error}.") from error


def _pour(source: IO[bytes], out: IO[bytes]) -> None:
    """Copy a stream that may keep us waiting; Ctrl-C ends the wait."""
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "siginterrupt"):  # Windows has none
        # Importing polars sets a handler that makes the system go on waiting after a signal.
        signal.siginterrupt(signal.SIGINT, True)
    shutil.copyfileobj(source, out, _PIECE)


def _nearest_file_hint(path: Path) -> str:
    """Return a hint with the file of the nearest name in the same folder."""
    from davy.core.errors import nearest

    if not path.parent.is_dir():
        return f" Its folder {path.parent} does not exist either."
    return nearest(path.name, [other.name for other in path.parent.iterdir()][:10_000])


def _unpacked(path: Path, compression: str, scratch: Path, name: str) -> Path:
    copy = scratch / "unpacked"
    try:
        with open_packed(path, compression) as packed, copy.open("wb") as out:
            shutil.copyfileobj(packed, out, _PIECE)
    except FAULTS as error:
        if isinstance(error, OSError) and error.errno:
            raise UserError(f"{name}: no room to unpack it ({error.strerror}). Set TMPDIR to a larger disk.") from error
        raise UserError(damaged(name, compression)) from error
    if copy.stat().st_size == 0:
        raise UserError(f"{name} is empty. Give a file with at least one row.")
    return copy


def _encoding_of(path: Path) -> str | None:
    """Return the encoding that the first bytes give away, or None for UTF-8."""
    with path.open("rb") as file:
        start = file.read(4096)
    for bom, encoding in _BOMS:
        if start.startswith(bom):
            return encoding
    pairs = len(start) // 2
    if pairs > 8 and start[1::2].count(0) > 0.7 * pairs and 0 not in start[::2]:
        return "utf-16-le"
    if pairs > 8 and start[::2].count(0) > 0.7 * pairs and 0 not in start[1::2]:
        return "utf-16-be"
    return None


def _is_plain_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name in ("utf-8", "ascii")
    except LookupError:
        raise UserError(f"Encoding {encoding!r} is not known. Try utf-8, utf-16, cp1252 or latin-1.") from None


def _decoded(path: Path, encoding: str, scratch: Path, name: str) -> Path:
    """Write a UTF-8 copy, piece by piece."""
    copy = scratch / "decoded"
    decoder = codecs.getincrementaldecoder(encoding)()
    done = 0
    with path.open("rb") as file, copy.open("wb") as out:
        while True:
            piece = file.read(_PIECE)
            held = len(decoder.getstate()[0])
            try:
                out.write(decoder.decode(piece, final=not piece).encode("utf-8"))
            except UnicodeError as error:
                start = getattr(error, "start", 0)
                raise UserError(
                    f"{name} is not {encoding}: byte {done - held + start} does not fit. Name another with --encoding."
                ) from None
            done += len(piece)
            if not piece:
                return copy


def check_utf8(block: bytes, offset: int, name: str) -> None:
    """Raise where the bytes are not UTF-8, naming the position in the file."""
    import polars as pl

    try:
        pl.Series([block], dtype=pl.Binary).cast(pl.String)  # ten times as fast as bytes.decode
    except pl.exceptions.ComputeError:
        try:
            block.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name} is not UTF-8: byte {offset + error.start} is 0x{block[error.start]:02x}."
                " Name its encoding, for example --encoding cp1252, or make it UTF-8 first: davy convert."
            ) from None
