"""Weights in llama.cpp's GGUF format, read without a library: the index, single tensors, and some of their rows.

A path in; the metadata, and tensors as float32 out. Only the kinds that Q4_K_M files have are known (F32, Q4_K,
Q6_K). A file holds matrices row by row in blocks of 256 values, so that some rows can be taken out as they are.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 256
F32, Q4_K, Q6_K = 0, 12, 14
BYTES = {F32: 4 * BLOCK, Q4_K: 144, Q6_K: 210}
"""Bytes for 256 values."""
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9


@dataclass(frozen=True)
class Tensor:
    """A tensor as the file has it; `shape` is rows × columns, or a length."""

    kind: int
    shape: tuple[int, ...]
    data: bytes

    def values(self) -> np.ndarray:
        """Return the tensor as float32."""
        raw = np.frombuffer(self.data, np.uint8)
        if self.kind == F32:
            return raw.view(np.float32).reshape(self.shape)
        blocks = raw.reshape(-1, BYTES[self.kind])
        return (four_bits if self.kind == Q4_K else six_bits)(blocks).reshape(self.shape)

    def rows(self, wanted: np.ndarray) -> Tensor:
        """Return the tensor with some of its rows only."""
        width = self.shape[1] // BLOCK * BYTES[self.kind]
        table = np.frombuffer(self.data, np.uint8).reshape(self.shape[0], width)
        return Tensor(self.kind, (len(wanted), self.shape[1]), table[wanted].tobytes())


def halves(raw: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)


def four_bits(blocks: np.ndarray) -> np.ndarray:
    """Return Q4_K blocks as numbers: eight groups of 32, each code × scale - minimum, both six bits of a half."""
    scale, least, packed = halves(blocks[:, 0:2]), halves(blocks[:, 2:4]), blocks[:, 4:16]
    low, middle, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([low & 63, (high & 15) | (low >> 6 << 4)], axis=1) * scale
    minima = np.concatenate([middle & 63, (high >> 4) | (middle >> 6 << 4)], axis=1) * least
    pairs = blocks[:, 16:].reshape(-1, 4, 1, 32)
    codes = np.concatenate([pairs & 15, pairs >> 4], axis=2).reshape(-1, 8, 32)
    return codes * scales[:, :, None] - minima[:, :, None]


def six_bits(blocks: np.ndarray) -> np.ndarray:
    """Return Q6_K blocks as numbers: sixteen groups of 16, each (code - 32) × an int8 × a half."""
    low, high = blocks[:, :128].reshape(-1, 2, 2, 32), blocks[:, 128:192].reshape(-1, 2, 1, 32)
    scales = blocks[:, 192:208].view(np.int8) * halves(blocks[:, 208:210])
    four = np.concatenate([low & 15, low >> 4], axis=2)
    two = np.concatenate([high >> shift & 3 for shift in (0, 2, 4, 6)], axis=2)
    codes = (four | two << 4).astype(np.int8) - 32
    return codes.reshape(-1, 16, 16) * scales[:, :, None]


def read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return a file's metadata and its tensors."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if data[:4] != b"GGUF":
        raise SystemExit(f"{path} is no GGUF file.")
    at = 24
    tensors, fields = struct.unpack_from("<QQ", data, 8)

    def number(code: str) -> Any:
        nonlocal at
        (value,) = struct.unpack_from(f"<{code}", data, at)
        at += struct.calcsize(code)
        return value

    def text() -> str:
        nonlocal at
        size = number("Q")
        at += size
        return data[at - size : at].decode("utf-8")

    def value(kind: int) -> Any:
        if kind == TEXT:
            return text()
        if kind == LIST:
            inner = number("I")
            return [value(inner) for _ in range(number("Q"))]
        return number(NUMBERS[kind])

    about = {}
    for _ in range(fields):
        key = text()
        about[key] = value(number("I"))
    index = {}
    for _ in range(tensors):
        name = text()
        shape = tuple(number("Q") for _ in range(number("I")))[::-1]
        index[name] = (number("I"), shape, number("Q"))
    align = about.get("general.alignment", 32)
    start = -(-at // align) * align
    found = {}
    for name, (kind, shape, offset) in index.items():
        size = int(np.prod(shape)) * BYTES[kind] // BLOCK
        found[name] = Tensor(kind, shape, data[start + offset : start + offset + size])
    return about, found
