"""Turn weights in other formats into safetensors once, without running anything that is in them.

A `.bin`, `.pt`, `.pth` or `.ckpt` file of PyTorch (its zip format), a `.npz`, a
checkpoint of TensorFlow or a file of Keras (`convert_tensorflow.py`) in, a
`.safetensors` file out. A pickle is a program; ours is read by a machine that
knows three words — a dict, a tensor, a storage — and stops at any other.
"""

from __future__ import annotations

import io
import json
import os
import pickle  # for the reader below, which can call nothing but the three words
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.models.convert_tensorflow import read_checkpoint, read_keras
from davy.models.tensor import Tensor, from_numpy

TORCH = frozenset({".bin", ".pt", ".pth", ".ckpt"})
KERAS = frozenset({".h5", ".hdf5", ".keras"})
LARGEST_PROGRAM = 64_000_000
WRAPPERS = ("state_dict", "model_state_dict", "model")

# Storage class in PyTorch's files → (dtype in safetensors, bytes a number).
STORAGES: Mapping[str, tuple[str, int]] = {
    "DoubleStorage": ("F64", 8),
    "FloatStorage": ("F32", 4),
    "HalfStorage": ("F16", 2),
    "BFloat16Storage": ("BF16", 2),
    "LongStorage": ("I64", 8),
    "IntStorage": ("I32", 4),
    "ShortStorage": ("I16", 2),
    "CharStorage": ("I8", 1),
    "ByteStorage": ("U8", 1),
    "BoolStorage": ("BOOL", 1),
}


def convert(path: Path, out: Path) -> dict[str, Tensor]:
    """Write the weights of a file as safetensors; return what was written."""
    if not path.exists():
        raise UserError(f"There is no file {path}.")
    if out.suffix != ".safetensors":
        raise UserError(f"{out} must end in .safetensors, which is what is written.")
    if path.suffix.lower() in TORCH:
        tensors = read_torch(path)
    elif path.suffix.lower() == ".npz":
        tensors = read_npz(path)
    elif path.suffix.lower() in KERAS:
        tensors = read_keras(path)
    elif path.suffix.lower() == ".index" or path.is_dir():
        tensors = read_checkpoint(path)
    else:
        raise UserError(
            f"{path}: can't convert {path.suffix or 'a file without extension'}; "
            "can: .bin .pt .pth .ckpt .npz .h5 .keras .index, or the folder of a SavedModel."
        )
    if not tensors:
        raise UserError(f"{path} holds no weights.")
    write_safetensors(tensors, out)
    return tensors


def read_npz(path: Path) -> dict[str, Tensor]:
    """Return the arrays of a NumPy archive; arrays of objects, which are pickles, are refused."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: from_numpy(name, arrays[name]) for name in arrays.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} holds something other than plain arrays, which is never loaded.") from error


def read_torch(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a PyTorch state dict."""
    try:
        with zipfile.ZipFile(path) as archive:
            program = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
            if program.file_size > LARGEST_PROGRAM:
                raise UserError(f"{path} describes its tensors in {program.file_size:,} bytes, which no model needs.")
            found = _Reader(archive, program.filename.removesuffix("data.pkl")).load()
    except (zipfile.BadZipFile, StopIteration):
        raise UserError(f"{path} is not in PyTorch's zip format. Save it again with PyTorch 1.6 or newer.") from None
    except _Stranger as error:
        raise UserError(f"{path} would run {error}, which weights have no need of. It was not loaded.") from None
    except (pickle.UnpicklingError, KeyError, ValueError, TypeError, IndexError, EOFError, AttributeError) as error:
        raise UserError(f"{path} is damaged or holds more than weights ({type(error).__name__}).") from error
    for wrapper in WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(wrapper), Mapping):
            found = found[wrapper]
    tensors = {str(k): v for k, v in found.items() if isinstance(v, Tensor)} if isinstance(found, Mapping) else {}
    if not tensors:
        raise UserError(f"{path} holds no weights by name. Save the model's state_dict().")
    return tensors


def write_safetensors(tensors: Mapping[str, Tensor], out: Path) -> None:
    """Write tensors in the safetensors format: the header's length, the header as JSON, then the numbers."""
    header: dict[str, Any] = {}
    start = 0
    for name, tensor in sorted(tensors.items()):
        end = start + len(tensor.data)
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    draft = out.with_name(f".{out.name}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, tensor in sorted(tensors.items()):
                file.write(tensor.data)
        os.replace(draft, out)
    except OSError as error:
        raise UserError(f"Can't write {out}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


class _Stranger(Exception):
    """A name that a pickle asks for and that weights don't need."""


class _Storage:
    """Stands for a storage class of PyTorch's: only its name matters."""

    def __init__(self, dtype: str, size: int) -> None:
        self.dtype, self.size = dtype, size


class _Reader(pickle.Unpickler):
    """Reads the program of a weights file; every name it may use is one of ours."""

    def __init__(self, archive: zipfile.ZipFile, prefix: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{prefix}data.pkl")))
        self._archive, self._prefix = archive, prefix

    def find_class(self, module: str, name: str) -> Any:
        """Return our stand-in for a name, or stop."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        if module == "torch" and name in STORAGES:
            return _Storage(*STORAGES[name])
        raise _Stranger(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        """Return a storage's bytes with its type."""
        _, storage, key, *_ = pid
        return storage, self._archive.read(f"{self._prefix}data/{key}")


def _tensor(
    stored: tuple[_Storage, bytes], offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: Any
) -> Tensor:
    """Return a tensor's numbers in row order, whatever its strides."""
    import numpy as np

    storage, data = stored
    numbers = np.frombuffer(data, dtype=f"u{storage.size}")
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if min((offset, *shape, *stride), default=0) < 0 or (0 not in shape and last >= len(numbers)):
        raise ValueError("a tensor reaches outside its storage")
    steps = [step * storage.size for step in stride]
    view = np.lib.stride_tricks.as_strided(numbers[offset:], shape, steps, writeable=False)
    return Tensor(storage.dtype, tuple(shape), np.ascontiguousarray(view).tobytes())
