"""Read the weights of TensorFlow checkpoints and Keras files, without TensorFlow and without running anything.

A checkpoint is a sorted table (`….index`) that says where each tensor lies in data
files beside it. A Keras file is HDF5, or a zip with one inside; links that lead out
of the file are refused, for a stranger's file must not choose what else is read.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.models.tensor import Tensor, from_numpy

MAGIC = 0xDB4775248B80FB57
ATTRIBUTE = "/.ATTRIBUTES/VARIABLE_VALUE"
LARGEST_INDEX = 256_000_000

# TensorFlow's number for a type → (dtype in safetensors, bytes a number).
TYPES: dict[int, tuple[str, int]] = {
    1: ("F32", 4), 2: ("F64", 8), 3: ("I32", 4), 4: ("U8", 1), 5: ("I16", 2), 6: ("I8", 1),
    9: ("I64", 8), 10: ("BOOL", 1), 14: ("BF16", 2), 19: ("F16", 2),
}  # fmt: skip


def read_checkpoint(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint: its `.index` file, or the folder of a SavedModel."""
    index = path / "variables" / "variables.index" if path.is_dir() else path
    if not index.is_file():
        raise UserError(f"{path} has no variables/variables.index. Name a checkpoint's .index file or a SavedModel.")
    if index.stat().st_size > LARGEST_INDEX:
        raise UserError(f"{index} is {index.stat().st_size:,} bytes long, which no index needs.")
    table = index.read_bytes()
    try:
        entries = [(key.decode(), _fields(value)) for key, value in _entries(table)]
        shards = int(_one(dict(entries)[""], 1, 1))
        found = {}
        for name, entry in entries:
            kind = TYPES.get(int(_one(entry, 1, 0)))
            if name and kind is not None:  # others are texts, such as the graph of objects
                found[name.removesuffix(ATTRIBUTE)] = _tensor(index, shards, name, entry, *kind)
    except (KeyError, ValueError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise UserError(f"{index} is damaged, or no TensorFlow checkpoint ({error}).") from error
    return found


def read_keras(path: Path) -> dict[str, Tensor]:
    """Return the weights of a `.h5`, `.hdf5` or `.keras` file by their paths."""
    try:
        import h5py
    except ModuleNotFoundError:
        raise UserError("Reading Keras weights needs h5py: pip install h5py") from None
    try:
        source: Any = path
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                source = io.BytesIO(archive.read("model.weights.h5"))
        with h5py.File(source, "r") as file:
            return dict(_datasets(file, "", h5py))
    except (OSError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} is damaged, or no Keras file ({type(error).__name__}).") from error


def _datasets(group: Any, above: str, h5py: Any) -> Iterator[tuple[str, Tensor]]:
    for name in group:
        path = f"{above}/{name}" if above else str(name)
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise UserError(f"{path!r} is a link, which may lead out of the file. It was not followed.")
        item = group[name]
        if isinstance(item, h5py.Group):
            yield from _datasets(item, path, h5py)
        elif item.external or item.is_virtual:
            raise UserError(f"{path!r} keeps its numbers in another file, which was not opened.")
        elif item.dtype.kind in "fiub":
            yield path, from_numpy(path, item[()])


def _tensor(index: Path, shards: int, name: str, entry: dict[int, list[Any]], dtype: str, width: int) -> Tensor:
    shape = tuple(int(_one(_fields(part), 1, 0)) for part in _fields(_one(entry, 2, b"")).get(2, []))
    if 7 in entry:
        raise ValueError(f"{name!r} is kept in slices")
    shard, offset, size = (int(_one(entry, field, 0)) for field in (3, 4, 5))
    if not 0 <= shard < shards:
        raise ValueError(f"{name!r} is in part {shard} of {shards}")
    count = width
    for side in shape:
        count *= side
    file = index.with_name(f"{index.name.removesuffix('.index')}.data-{shard:05}-of-{shards:05}")
    if not file.is_file():
        raise UserError(f"{file} is missing; it belongs beside {index.name}.")
    with file.open("rb") as data:
        data.seek(offset)
        numbers = data.read(size) if size == count else b""
    if len(numbers) != count:
        raise ValueError(f"{name!r} has {len(numbers)} bytes of {count}")
    return Tensor(dtype, shape, numbers)


def _entries(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a sorted table: an index block names the blocks that hold them."""
    if len(table) < 48 or struct.unpack("<Q", table[-8:])[0] != MAGIC:
        raise ValueError("it does not end as a table does")
    footer = table[-48:]
    _, at = _varint(footer, 0)
    _, at = _varint(footer, at)
    start, at = _varint(footer, at)
    size, at = _varint(footer, at)
    for _, handle in _block(table, start, size):
        offset, after = _varint(handle, 0)
        length, _ = _varint(handle, after)
        yield from _block(table, offset, length)


def _block(table: bytes, start: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    block = table[start : start + size]
    if len(block) != size or size < 4 or table[start + size] != 0:
        raise ValueError("a block is cut short or compressed")
    end = size - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + fresh]
        yield key, block[at + fresh : at + fresh + length]
        at += fresh + length


def _fields(message: bytes) -> dict[int, list[Any]]:
    """Return the fields of a protocol buffer by number: whole numbers, or bytes."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        value: Any
        if kind == 0:
            value, at = _varint(message, at)
        elif kind == 2:
            length, at = _varint(message, at)
            value, at = message[at : at + length], at + length
        elif kind in (1, 5):
            width = 8 if kind == 1 else 4
            value, at = message[at : at + width], at + width
        else:
            raise ValueError(f"a field of kind {kind}")
        found.setdefault(tag >> 3, []).append(value)
    return found


def _one(fields: dict[int, list[Any]], number: int, default: Any) -> Any:
    return fields[number][-1] if number in fields else default


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")
