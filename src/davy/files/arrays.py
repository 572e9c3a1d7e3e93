"""NumPy archives from strangers: plain arrays or one clear line, never a pickle."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from davy.core.errors import UserError

FAULTS = (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, NotImplementedError)


@contextmanager
def open_arrays(path: Path, what: str = "the arrays that it should") -> Iterator[Any]:
    """Yield the arrays of an `.npz` by name; what is missing or damaged is found while they are read."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except (*FAULTS, zipfile.BadZipFile, zlib.error) as error:
        kind = getattr(error, "strerror", None) or type(error).__name__
        raise UserError(f"{path} does not hold {what} ({kind}). Get it or make it again.") from error
