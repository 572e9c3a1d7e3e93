"""Turn weights in other formats into safetensors once, without running anything that is in them.

A `.bin`, `.pt`, `.pth` or `.ckpt` file of PyTorch (1.6 or newer) or a `.npz` of NumPy in, a `.safetensors` file out. A
pickle is a program; ours is read by a machine that knows three words — a dict, a tensor, a storage — and stops at any
other.
"""

from __future__ import annotations

import pickle  # for the reader below, which can call nothing but the three words
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.install import install_extra
from davy.files.arrays import open_arrays
from davy.files.atomic import atomic_path

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

TORCH = frozenset({".bin", ".pt", ".pth", ".ckpt"})
LARGEST_PROGRAM = 64_000_000
WRAPPERS = ("state_dict", "model_state_dict", "model")

# Storage class in PyTorch's files → what its numbers are.
STORAGES: Mapping[str, str] = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}


def convert(path: Path, out: Path) -> dict[str, Array]:
    """Write the weights of a file as safetensors; return what was written."""
    if not path.exists():
        raise UserError(f"There is no file {path}.")
    if out.suffix != ".safetensors":
        raise UserError(f"{out} must end in .safetensors, which is what is written.")
    if path.suffix.lower() not in {*TORCH, ".npz"}:
        ending = path.suffix or "a file without extension"
        raise UserError(f"{path}: can't convert {ending}; can: .bin .pt .pth .ckpt .npz.")
    try:
        import ml_dtypes  # noqa: F401 — gives numpy the type bfloat16
        from safetensors.numpy import save_file
    except ModuleNotFoundError as error:
        raise UserError(
            f"Converting needs {error.name!r}, which is not installed: {install_extra('train')}."
        ) from error
    arrays = read_npz(path) if path.suffix.lower() == ".npz" else read_torch(path)
    if not arrays:
        raise UserError(f"{path} holds no weights.")
    with atomic_path(out) as draft:
        save_file(arrays, draft)
    return arrays


def read_npz(path: Path) -> dict[str, Array]:
    """Return the arrays of a NumPy archive; arrays of objects, which are pickles, are refused."""
    import numpy as np

    with open_arrays(path, "plain arrays, and nothing else is ever loaded") as arrays:
        tensors = {name: np.ascontiguousarray(arrays[name]) for name in arrays.files}
    for name, array in tensors.items():
        if array.dtype.name not in STORAGES.values():
            raise UserError(f"Array {name!r} is of type {array.dtype}, which safetensors does not keep.")
    return tensors


def read_torch(path: Path) -> dict[str, Array]:
    """Return the tensors of a PyTorch state dict."""
    import numpy as np

    if not zipfile.is_zipfile(path):
        raise UserError(f"{path} is no file of PyTorch's weights (1.6 or newer). Save it again with torch.save.")
    try:
        content = _read_zip(path)
    except (zipfile.BadZipFile, StopIteration):
        raise UserError(f"{path} is no file of PyTorch's weights.") from None
    except _Stranger as error:
        raise UserError(f"{path} would run {error}, which weights have no need of. It was not loaded.") from None
    except (pickle.UnpicklingError, KeyError, ValueError, TypeError, IndexError, EOFError, AttributeError) as error:
        raise UserError(f"{path} is damaged or holds more than weights ({type(error).__name__}).") from error
    for wrapper in WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(wrapper), Mapping):
            content = content[wrapper]
    named = content.items() if isinstance(content, Mapping) else ()
    arrays = {str(name): value for name, value in named if isinstance(value, np.ndarray)}
    if not arrays:
        raise UserError(f"{path} holds no weights by name. Save the model's state_dict().")
    return arrays


def _read_zip(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        program = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
        if program.file_size > LARGEST_PROGRAM:
            raise UserError(f"{path} describes its tensors in {program.file_size:,} bytes, which no model needs.")
        folder = program.filename.removesuffix("data.pkl")
        return _Reader(archive.open(program), lambda key: archive.read(f"{folder}data/{key}")).load()


class _Stranger(Exception):
    """A name that a pickle asks for and that weights don't need."""


class _Reader(pickle.Unpickler):
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
            return STORAGES[name]
        raise _Stranger(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        """Return a storage's type and bytes."""
        _, storage, key, *_ = pid
        return storage, self._bytes_of(key)


def _tensor(stored: tuple[str, bytes], offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Array:
    """Return a tensor's numbers in row order, whatever its strides."""
    import numpy as np

    numbers = np.frombuffer(stored[1], dtype=np.dtype(stored[0]))
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if min((offset, *shape, *stride), default=0) < 0 or (0 not in shape and last >= len(numbers)):
        raise ValueError("a tensor reaches outside its storage")
    steps = [step * numbers.itemsize for step in stride]
    view = np.lib.stride_tricks.as_strided(numbers[offset:], shape, steps, writeable=False)
    return np.array(view, order="C")
