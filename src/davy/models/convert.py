"""Turn weights in other formats into safetensors once, without running anything that is in them.

A `.bin`, `.pt`, `.pth` or `.ckpt` file of PyTorch (zipped, or older), a `.npz`, a
checkpoint of TensorFlow or a file of Keras (`convert_tensorflow.py`) in, a
`.safetensors` file out. A pickle is a program; ours is read by a machine that
knows three words — a dict, a tensor, a storage — and stops at any other.
"""

from __future__ import annotations

import json
import pickle  # for the reader below, which can call nothing but the three words
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from davy.core.errors import UserError
from davy.files.atomic import atomic_path
from davy.models.convert_tensorflow import read_checkpoint, read_keras
from davy.models.tensor import Tensor, from_numpy

TORCH = frozenset({".bin", ".pt", ".pth", ".ckpt"})
KERAS = frozenset({".h5", ".hdf5", ".keras"})
LARGEST_PROGRAM = 64_000_000
BEFORE_ZIP = (0x1950A86A20F9469CFC6C, 1001)
"""What a file of PyTorch's before 1.6 begins with: its number and its protocol."""
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
        found = _read_zip(path) if zipfile.is_zipfile(path) else _read_before_zip(path)
    except (zipfile.BadZipFile, StopIteration):
        raise UserError(f"{path} is no file of PyTorch's weights.") from None
    except _Stranger as error:
        raise UserError(f"{path} would run {error}, which weights have no need of. It was not loaded.") from None
    except (
        pickle.UnpicklingError,
        struct.error,
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        EOFError,
        AttributeError,
    ) as error:
        raise UserError(f"{path} is damaged or holds more than weights ({type(error).__name__}).") from error
    for wrapper in WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(wrapper), Mapping):
            found = found[wrapper]
    tensors = {str(k): v for k, v in found.items() if isinstance(v, Tensor)} if isinstance(found, Mapping) else {}
    if not tensors:
        raise UserError(f"{path} holds no weights by name. Save the model's state_dict().")
    return tensors


def _read_zip(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        program = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
        if program.file_size > LARGEST_PROGRAM:
            raise UserError(f"{path} describes its tensors in {program.file_size:,} bytes, which no model needs.")
        folder = program.filename.removesuffix("data.pkl")
        return _Reader(archive.open(program), lambda key: archive.read(f"{folder}data/{key}")).load()


def _read_before_zip(path: Path) -> Any:
    """Return what an older file holds: its program, then the storages that the program speaks of, one after another."""
    with path.open("rb") as file:
        if _Plain(file).load() != BEFORE_ZIP[0] or _Plain(file).load() != BEFORE_ZIP[1]:
            raise StopIteration
        if not _Plain(file).load()["little_endian"]:
            raise ValueError("the numbers are in the other order")
        start = file.tell()
        skimmed = _Skimmer(file, lambda _: b"")  # a first look, to know each storage's size
        skimmed.load()
        storages = {}
        for key in _Plain(file).load():
            (n,) = struct.unpack("<q", file.read(8))
            storages[key] = file.read(n * skimmed.seen[key].size)
        file.seek(start)
        return _Reader(file, storages.__getitem__).load()


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
    with atomic_path(out) as draft, draft.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in sorted(tensors.items()):
            file.write(tensor.data)


class _Stranger(Exception):
    """A name that a pickle asks for and that weights don't need."""


class _Storage:
    """Stands for a storage class of PyTorch's: only its name matters."""

    def __init__(self, dtype: str, size: int) -> None:
        self.dtype, self.size = dtype, size


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, lists and dicts, and stops at any name."""

    def find_class(self, module: str, name: str) -> Any:
        raise _Stranger(f"{module}.{name}")


class _Reader(_Plain):
    """Reads the program of a weights file; every name it may use is one of ours. `bytes_of(key)` gives a storage."""

    def __init__(self, program: IO[bytes], bytes_of: Callable[[str], bytes]) -> None:
        super().__init__(program)
        self._bytes_of = bytes_of

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
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        """Return a storage's bytes with its type."""
        _, storage, key, *_ = pid
        return storage, self._bytes_of(key)


class _Skimmer(_Reader):
    """Reads a program for the storages that it names; its tensors are None."""

    def __init__(self, program: IO[bytes], bytes_of: Callable[[str], bytes]) -> None:
        super().__init__(program, bytes_of)
        self.seen: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Return our stand-in for a name, which makes nothing of tensors."""
        found = super().find_class(module, name)
        return (lambda *_: None) if found is _tensor else found

    def persistent_load(self, pid: Any) -> Any:
        """Note a storage."""
        _, storage, key, *_ = pid
        self.seen[key] = storage
        return super().persistent_load(pid)


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
