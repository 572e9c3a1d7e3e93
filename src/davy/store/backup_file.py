"""Read a backup file that may be damaged or made by someone who means harm.

What comes out has been checked: the manifest's shape, each member's size and
checksum, each row's length and types. Nothing is read beyond the size that the
manifest gives, and no line longer than `LONGEST_LINE`.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from davy.core.errors import UserError
from davy.core.install import update_davy
from davy.store.backup import FORMAT, FORMAT_VERSION, KINDS, backup_of

LONGEST_LINE = 64 * 1024 * 1024
LARGEST_MANIFEST = 1024 * 1024
LARGEST_IMAGE = 256 * 1024 * 1024

# What Python's zip reader raises on damage; RuntimeError covers a password, deep nesting and unknown methods.
_UNPACKING = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)


_IMAGE = re.compile(r"images/[0-9a-f]{64}")


class BackupFile:
    """An open backup file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise UserError(f"There is no file {path}.") from None
        except IsADirectoryError:
            raise UserError(f"{path} is a folder, not a backup.") from None
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise self._wrong("it is no backup, or not all of it is there") from None
        except OSError as error:
            raise UserError(f"{path} can't be read: {error.strerror}.") from None
        try:
            self._manifest = self._read_manifest()
            self._check_members()
        except BaseException:
            self._archive.close()
            raise
        self.backup = backup_of(self._manifest)

    def __enter__(self) -> BackupFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    @property
    def size(self) -> int:
        """How many bytes the tables and the pictures take unpacked."""
        pictures = sum(self._archive.getinfo(name).file_size for name in self._image_names())
        return pictures + sum(int(it["bytes"]) for it in self._manifest["tables"].values())

    def columns(self, table: str) -> dict[str, str]:
        """Return a table's columns and their kinds."""
        return dict(self._manifest["tables"][table]["columns"])

    def check_tables(self, expected: dict[str, dict[str, str]]) -> None:
        """Refuse a file whose tables or columns are not those of its version."""
        for name, columns in expected.items():
            if name not in self._manifest["tables"] or self.columns(name) != columns:
                raise self._wrong(f"its table {name!r} is not as version {self.backup.database_version} has it")
        for name in self._manifest["tables"]:
            if name not in expected:
                raise self._wrong(f"it has a table {name[:40]!r} that its version does not have")

    def rows(self, table: str, chunk: int) -> Iterator[list[list[Any]]]:
        """Yield a table's rows, `chunk` at a time; raises at the end where size, count or checksum are wrong."""
        about = self._manifest["tables"][table]
        readers = [_READERS[kind] for kind in about["columns"].values()]
        checksum, size, n = hashlib.sha256(), 0, 0
        rows: list[list[Any]] = []
        try:
            with self._archive.open(about["file"]) as file:
                while line := file.readline(min(LONGEST_LINE, about["bytes"] - size + 1)):
                    size, n = size + len(line), n + 1
                    if size > about["bytes"] or not line.endswith(b"\n"):
                        raise self._wrong(f"{table!r} is longer than it says")
                    checksum.update(line)
                    rows.append(self._row(line, readers, table, n))
                    if len(rows) == chunk:
                        yield rows
                        rows = []
        except _UNPACKING as error:
            raise self._wrong(f"{table!r} can't be unpacked ({type(error).__name__})") from None
        if (size, n, checksum.hexdigest()) != (about["bytes"], about["rows"], about["sha256"]):
            raise self._wrong(f"{table!r} does not match its checksum")
        if rows:
            yield rows

    def images(self) -> Iterator[tuple[str, bytes]]:
        """Yield the pictures by key; whoever keeps them checks that their bytes are those of the key."""
        for name in self._image_names():
            try:
                with self._archive.open(name) as file:
                    data = file.read(LARGEST_IMAGE + 1)
            except _UNPACKING as error:
                raise self._wrong(f"{name[:80]!r} can't be unpacked ({type(error).__name__})") from None
            if len(data) > LARGEST_IMAGE:
                raise self._wrong(f"{name[:80]!r} is too large")
            yield name.removeprefix("images/"), data

    def _image_names(self) -> list[str]:
        return [name for name in self._archive.namelist() if _IMAGE.fullmatch(name)]

    def _row(self, line: bytes, readers: list[Callable[[Any], Any]], table: str, number: int) -> list[Any]:
        try:
            values = json.loads(line)
            if not isinstance(values, list) or len(values) != len(readers):
                raise ValueError
            return [None if value is None else read(value) for read, value in zip(readers, values, strict=True)]
        except (ValueError, RecursionError, OverflowError):
            raise self._wrong(f"row {number} of {table!r} can't be read") from None

    def _read_manifest(self) -> dict[str, Any]:
        try:
            with self._archive.open("manifest.json") as file:
                raw = _read_at_most(file, LARGEST_MANIFEST)
            manifest = json.loads(raw)
            _check_manifest(manifest)
        except KeyError:
            raise self._wrong("it has no manifest") from None
        except (ValueError, *_UNPACKING) as error:
            problem = str(error) if type(error) is ValueError else "its manifest can't be read"
            raise self._wrong(problem) from None
        return dict(manifest)

    def _check_members(self) -> None:
        names = self._archive.namelist()
        wanted = {it["file"] for it in self._manifest["tables"].values()} | {"manifest.json"}
        pictures = self._image_names()
        counted = (self._manifest.get("images") or {"files": 0})["files"]
        if len(names) != len(set(names)) or set(names) - set(pictures) != wanted or len(pictures) != counted:
            raise self._wrong("it holds other files than its manifest says")
        if any(it.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for it in self._archive.infolist()):
            raise self._wrong("it is packed in a way that Davy does not use")
        for it in self._manifest["tables"].values():
            if self._archive.getinfo(it["file"]).file_size != it["bytes"]:
                raise self._wrong(f"{it['file']!r} has another size than its manifest says")

    def _wrong(self, why: str) -> UserError:
        return UserError(f"{self.path} can't be restored: {why}. Take another backup.")


def _check_manifest(manifest: Any) -> None:
    """Refuse a manifest that is not in our shape."""
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError("it is not a backup of Davy's")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise ValueError(f"it was made by a newer Davy; update this one: {update_davy()}")
    tables = manifest.get("tables")
    texts = (manifest.get("database_version"), manifest.get("davy"), manifest.get("made_at"))
    if not isinstance(tables, dict) or not all(isinstance(it, str) for it in texts):
        raise ValueError("its manifest lacks something")
    datetime.fromisoformat(manifest["made_at"])
    pictures = manifest.get("images", {"files": 0, "missing": 0})
    counts = [pictures.get("files"), pictures.get("missing")] if isinstance(pictures, dict) else [None]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError("its manifest is wrong about the pictures")
    for name, table in tables.items():
        numbers = isinstance(table, dict) and [table.get("rows"), table.get("bytes")]
        right = (
            numbers
            and all(type(number) is int and number >= 0 for number in numbers)
            and table.get("file") == f"tables/{name}.jsonl"
            and isinstance(table.get("sha256"), str)
            and isinstance(table.get("columns"), dict)
            and all(kind in KINDS for kind in table["columns"].values())
        )
        if not right:
            raise ValueError(f"its manifest is wrong about {name[:40]!r}")


def _read_at_most(file: IO[bytes], most: int) -> bytes:
    raw = file.read(most + 1)
    if len(raw) > most:
        raise ValueError("its manifest is too large")
    return raw


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError
    value.encode()  # half of a surrogate pair is a ValueError
    return value


def _time(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        raise ValueError
    return moment


def _integer(value: Any) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError
    return float(value)


_READERS: dict[str, Callable[[Any], Any]] = {"text": _text, "time": _time, "integer": _integer, "number": _number}
