"""Write all of a database into one file, as it is at one moment, while people go on working.

The file is a zip of one JSON-lines file a table, the pictures, and a manifest with
the version, the columns, the row counts and checksums. It is the same for SQLite
and PostgreSQL, so that a backup of one restores into the other. A picture's name is
the checksum of its bytes.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    Connection,
    DateTime,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    select,
    type_coerce,
)
from sqlalchemy import table as named_table
from sqlalchemy.types import TypeEngine

from davy.core.errors import UserError
from davy.files.atomic import atomic_path
from davy.store import schema_versions
from davy.store.columns import TimeColumn, now
from davy.store.store import Store
from davy.version import __version__

FORMAT = "davy backup"
FORMAT_VERSION = 1
CHUNK = 2_000

KINDS: dict[str, TypeEngine[Any]] = {"text": Text(), "time": TimeColumn(), "integer": BigInteger(), "number": Float()}
"""What a column can hold in a backup file, and the type that it is read and written with."""


class PictureStorage(Protocol):
    """Where the bytes of pictures are (`image.image_folder.ImageFolder`)."""

    def find(self, key: str) -> Path | None: ...

    def put_bytes(self, key: str, data: bytes) -> bool: ...


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup file holds."""

    database_version: str
    davy: str
    made_at: datetime
    rows: dict[str, int]
    images: int = 0
    """Pictures in the file."""
    missing_images: int = 0
    """Pictures that the database knows and whose files were gone when the backup was made."""

    @property
    def total(self) -> int:
        """All rows of all tables."""
        return sum(self.rows.values())


def write_backup(
    store: Store,
    target: Path,
    *,
    images: PictureStorage | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Backup:
    """Write a backup to `target`, which appears only when it is complete, and return what it holds.

    `progress` is called with how many more rows were written. Without `images` it has no pictures.
    """
    if target.exists():
        raise UserError(f"{target} is there already. Name another file, or move it away.")
    try:
        # Only its owner may read it: it holds password hashes.
        with (
            atomic_path(target, mode=0o600) as part,
            store.read() as db,
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            manifest = _write_tables(db, archive, progress)
            if images is not None:
                manifest["images"] = _write_images(db, archive, images)
            archive.writestr("manifest.json", json.dumps(manifest, indent=1))
    except OSError as error:
        raise UserError(
            f"{target} can't be written: {error.strerror}. Free some space or name another place."
        ) from None
    return backup_of(manifest)


def backup_of(manifest: dict[str, Any]) -> Backup:
    """Return what a manifest says."""
    rows = {name: int(table["rows"]) for name, table in manifest["tables"].items()}
    made_at = datetime.fromisoformat(manifest["made_at"])
    about = manifest.get("images") or {"files": 0, "missing": 0}
    return Backup(manifest["database_version"], manifest["davy"], made_at, rows, about["files"], about["missing"])


def row_counts(db: Connection) -> dict[str, int]:
    """Return how many rows each of a database's tables has, whatever its version."""
    names = [name for name in schema_versions.tables_in(db) if name != schema_versions.VERSION_TABLE]
    return {name: db.execute(select(func.count()).select_from(named_table(name))).scalar_one() for name in names}


def reflect_tables(db: Connection) -> list[Table]:
    """Return the tables of a database of any version, parents before children."""
    found = MetaData()
    found.reflect(db, only=lambda name, _: name != schema_versions.VERSION_TABLE)
    return found.sorted_tables


def column_kind(column_type: TypeEngine[Any]) -> str:
    """Return the kind that a backup file gives to a column of this type."""
    for kind, known in (("time", DateTime), ("number", Float), ("integer", Integer)):
        if isinstance(column_type, known):
            return kind
    return "text"


def _write_tables(db: Connection, archive: zipfile.ZipFile, progress: Callable[[int], object]) -> dict[str, Any]:
    version = schema_versions.version_of(db)
    tables: dict[str, Any] = {}
    for table in reflect_tables(db):
        kinds = {column.name: column_kind(column.type) for column in table.columns}
        file, checksum, size, rows = f"tables/{table.name}.jsonl", hashlib.sha256(), 0, 0
        with archive.open(file, "w", force_zip64=True) as out:
            for lines in _lines(db, table, kinds):
                block = "".join(lines).encode()
                out.write(block)
                checksum.update(block)
                size, rows = size + len(block), rows + len(lines)
                progress(len(lines))
        tables[table.name] = {
            "file": file,
            "columns": kinds,
            "rows": rows,
            "bytes": size,
            "sha256": checksum.hexdigest(),
        }
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "database_version": version,
        "davy": __version__,
        "made_at": now().isoformat(),
        "tables": tables,
    }


def _write_images(db: Connection, archive: zipfile.ZipFile, images: PictureStorage) -> dict[str, int]:
    """Add the pictures that are not withdrawn, each once; PNG files don't get smaller by packing."""
    about = {"files": 0, "missing": 0}
    table = next((it for it in reflect_tables(db) if it.name == "images"), None)
    if table is None:  # a database of a version without pictures
        return about
    query = select(table.c.key).where(table.c.withdrawn_at.is_(None)).distinct().order_by(table.c.key)
    locks = next((it for it in reflect_tables(db) if it.name == "picture_locks"), None)
    if locks is not None:  # a locked picture stays where it is: each copy would be one more
        query = query.where(table.c.key.not_in(select(locks.c.key)))
    for key in db.scalars(query).all():
        path = images.find(key)
        if path is None:
            about["missing"] += 1
        else:
            archive.write(path, f"images/{key}", zipfile.ZIP_STORED)
            about["files"] += 1
    return about


def _lines(db: Connection, table: Table, kinds: dict[str, str]) -> Iterator[list[str]]:
    """Yield a table's rows as lines of JSON, in order of its key, some thousand at a time."""
    columns = [type_coerce(column, KINDS[kinds[column.name]]).label(column.name) for column in table.columns]
    query = select(*columns).order_by(*table.primary_key.columns)
    result = db.execution_options(yield_per=CHUNK).execute(query)
    for rows in result.partitions():
        yield [json.dumps([_plain(value) for value in row], ensure_ascii=True) + "\n" for row in rows]


def _plain(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
