"""A block of numbers as safetensors keeps it, and one made from a NumPy array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from davy.core.errors import UserError

NUMPY: Mapping[str, str] = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """One block of numbers as safetensors keeps it."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def from_numpy(name: str, array: Any) -> Tensor:
    """Return an array as a tensor; one of objects or texts is refused."""
    import numpy as np

    dtype = NUMPY.get(array.dtype.name)
    if dtype is None:
        raise UserError(f"Array {name!r} is of type {array.dtype}, which safetensors does not keep.")
    return Tensor(dtype, array.shape, np.ascontiguousarray(array).tobytes())
