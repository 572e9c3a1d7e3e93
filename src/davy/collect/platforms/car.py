"""A Bluesky account's own export: a `.car` file of its repository.

Bytes in, values as Bluesky's API would give them out (`uri`, `record`). The file
is a row of blocks in DAG-CBOR: one commit that names the account, tree nodes
that name each record, and the records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from davy.core.errors import UserError

LARGEST = 2 << 30
DEEPEST = 128


class CarLink(bytes):
    """The address of a block."""


def read_car(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of an export with their addresses, in the order of the file."""
    if path.stat().st_size > LARGEST:
        raise UserError(
            f"{path} has {path.stat().st_size:,} bytes; an account's export has less. Is it the right file?"
        )
    blocks: dict[bytes, Any] = {}
    data = path.read_bytes()
    place = 0
    try:
        for key, start, end in _blocks(data):
            place = start
            blocks[key] = _Decoder(data, start, end).value()
        names = dict(_names(blocks))
    except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
        raise UserError(
            f"{path} is cut off or damaged at byte {place}: it is not a whole .car file ({error}). Export it again."
        ) from None
    did = next((b["did"] for b in blocks.values() if isinstance(b, dict) and "did" in b and "data" in b), None)
    if did is None:
        raise UserError(f"{path} holds no commit, so it is no Bluesky export. Name another file.")
    for key, block in blocks.items():
        if isinstance(block, dict) and "$type" in block and key in names:
            yield {"uri": f"at://{did}/{names[key]}", "record": block}


def _names(blocks: dict[bytes, Any]) -> Iterator[tuple[bytes, str]]:
    """Yield (address of a record, its name); a node's names leave out what they share with the one before."""
    for block in blocks.values():
        if not isinstance(block, dict) or not isinstance(block.get("e"), list):
            continue
        last = b""
        for entry in block["e"]:
            last = last[: entry["p"]] + entry["k"]
            yield bytes(entry["v"]), last.decode()


def _blocks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield (address, start, end) of each block behind the header."""
    size, place = _varint(data, 0)
    place += size
    while place < len(data):
        size, start = _varint(data, place)
        end = start + size
        if end > len(data) or not size:
            raise ValueError("a block is longer than the file")
        body = _address_end(data, start)
        yield data[start:body], body, end
        place = end


def _address_end(data: bytes, start: int) -> int:
    if data[start : start + 2] == b"\x12\x20":  # the first version: a bare SHA-256
        return start + 34
    place = start
    for _ in range(3):  # version, codec, kind of hash
        _, place = _varint(data, place)
    size, place = _varint(data, place)
    return place + size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
        if shift > 63:
            raise ValueError("a length is too long")


class _Decoder:
    """Reads one DAG-CBOR value."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._data, self._at, self._end = data, start, end

    def value(self, depth: int = 0) -> Any:
        """Return the next value."""
        if depth > DEEPEST:
            raise ValueError("values are nested too deep")
        head = self._take(1)[0]
        kind, low = head >> 5, head & 31
        if kind == 7:
            return self._simple(low)
        number = low if low < 24 else int.from_bytes(self._take(1 << (low - 24) if low < 28 else 0), "big")
        match kind:
            case 0:
                return number
            case 1:
                return -1 - number
            case 2:
                return self._take(number)
            case 3:
                return self._take(number).decode()
            case 4:
                return [self.value(depth + 1) for _ in range(number)]
            case 5:
                return {self.value(depth + 1): self.value(depth + 1) for _ in range(number)}
        inner = self.value(depth + 1)
        return CarLink(inner[1:]) if number == 42 else inner

    def _simple(self, low: int) -> Any:
        if low == 27:
            return struct.unpack(">d", self._take(8))[0]
        return {20: False, 21: True}.get(low)

    def _take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        self._at += size
        if len(piece) < size or self._at > self._end:
            raise ValueError("a block ends too soon")
        return piece
