"""Packed files (`.gz`, `.xz`, `.bz2`, `.zst`) as plain bytes, in bounded memory, and back.

A path in, an open file out. A file that ends too soon is an error, never an end:
what was read before it has been given out by then. `FAULTS` are what reading may
raise.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import zstandard

FAULTS = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zstandard.ZstdError, OSError)
_WINDOW = 2**31
"""Reddit's dumps are packed with a window of 2 GiB, which readers must allow."""
_FEED = 2048
"""Packed bytes that are unpacked at once. Four of them can become 128 KiB, so that no more than 64 MiB come of it."""


def open_packed(path: Path, compression: str | None = None) -> IO[bytes]:
    """Return an open file that unpacks what is read from it; by the name's ending where nothing else is said."""
    opened: IO[bytes] = _READERS.get(compression or path.suffix.lower().lstrip("."), _open_plain)(path)
    return opened


def open_compressed(path: Path, compression: str) -> IO[bytes]:
    """Return an open file that compresses what is written to it."""
    opened: IO[bytes] = _WRITERS[compression](path, "wb")
    return opened


def damaged(name: str, ending: str) -> str:
    """Return what to say of a packed file that ends too soon or holds other bytes."""
    return f"{name} is not a whole .{ending} file: it is cut off or damaged. Copy it again."


class _ZstdFile(io.RawIOBase):
    """A .zst file unpacked, frame after frame."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        self._frame: Any = None
        self._rest = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what comes next; 0 at the end of the last frame."""
        while not self._ready:
            packed = self._rest or self._file.read(_FEED)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the file ends inside a frame")
                return 0
            self._frame = self._frame or self._unpacker.decompressobj()
            self._ready, self._rest = memoryview(self._frame.decompress(packed)), b""
            if self._frame.eof:
                self._rest, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_plain(path: Path) -> IO[bytes]:
    return path.open("rb")


def _open_zstd(path: Path) -> IO[bytes]:
    return io.BufferedReader(_ZstdFile(path), 1 << 20)


_READERS: dict[str, Callable[[Path], Any]] = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open, "zst": _open_zstd}
_WRITERS: dict[str, Callable[..., Any]] = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open, "zst": zstandard.open}
