"""Which posts a model learnt from or was calibrated on, four bytes a post, so that memory is not taken for quality.

Texts in, `learnt.npy` or `calibrated.npy` in a model folder out, and back: for each text whether the model has seen
it. Case and spaces do not count. Of a million new texts about thirty are taken for seen by a model that learnt from
125,000.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from davy.core.scorer import Scorer

    Array = np.ndarray[Any, np.dtype[Any]]

FILE = "learnt.npy"
CALIBRATED = "calibrated.npy"
"""The posts that temperatures and thresholds were set on."""
Learnt = Callable[[Sequence[str | None]], "Array"]


class LearntTexts:
    """Tells for each text whether a model has seen it. `keys` are the texts' numbers, or the file that has them, which
    is read when it is asked."""

    def __init__(self, keys: Array | Path) -> None:
        self._source = keys

    def __call__(self, texts: Sequence[str | None]) -> Array:
        """Return for each text whether it was seen."""
        import numpy as np

        return np.isin(text_keys(texts), self._keys())

    def in_memory(self) -> LearntTexts:
        """Return the same without need of a file."""
        return LearntTexts(self._keys())

    def save(self, folder: Path) -> None:
        """Write what was learnt into a model's folder."""
        _write(folder, FILE, self._keys())

    def save_calibrated(self, folder: Path) -> None:
        """Add these texts to those that a model's folder says it was calibrated on."""
        import numpy as np

        before = [_load(folder / CALIBRATED)] if (folder / CALIBRATED).is_file() else []
        _write(folder, CALIBRATED, np.concatenate([*before, self._keys()]))

    def _keys(self) -> Array:
        return _load(self._source) if isinstance(self._source, Path) else self._source


def text_keys(texts: Iterable[str | None]) -> Array:
    """Return a number for each text; the same one for texts that differ in case and spaces alone."""
    import numpy as np

    plain = (" ".join((text or "").casefold().split()) for text in texts)
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest() for text in plain)
    return np.frombuffer(digests, dtype="<u4")


def write_learnt(folder: Path, texts: Iterable[str | None]) -> None:
    """Write what a model learnt from into its folder, before its manifest is written."""
    _write(folder, FILE, text_keys(texts))


def save_learnt(learnt: Learnt | None, folder: Path) -> None:
    """Write what a scorer knows of its texts into the folder that it is saved in, before the manifest."""
    if isinstance(learnt, LearntTexts):
        learnt.save(folder)


def read_learnt(folder: Path, file: str = FILE) -> LearntTexts | None:
    """Return what tells seen texts by a folder's file, which is read when it is asked; None where there is none."""
    return LearntTexts((folder / file).absolute()) if (folder / file).is_file() else None


def keep_learnt(texts: Iterable[str | None]) -> LearntTexts:
    """Return what tells these texts from others."""
    return LearntTexts(text_keys(texts))


def learnt_by_any(scorers: Iterable[Scorer]) -> Learnt | None:
    """Return what tells texts that one of the scorers learnt from; None where none of them says."""
    return seen_by_any(scorer.abilities.learnt for scorer in scorers)


def calibrated_by_any(scorers: Iterable[Scorer]) -> Learnt | None:
    """Return what tells texts that one of the scorers was calibrated on; None where none of them says."""
    return seen_by_any(scorer.abilities.calibrated for scorer in scorers)


def seen_by_any(each: Iterable[Learnt | None]) -> Learnt | None:
    """Return what tells texts that one of several has seen; None where none of them says."""
    known = [one for one in each if one is not None]
    if not known:
        return None

    def seen(texts: Sequence[str | None]) -> Array:
        import numpy as np

        return np.asarray(np.logical_or.reduce([one(texts) for one in known]))

    return seen


def _load(path: Path) -> Array:
    import numpy as np

    try:
        keys: Array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} can't be read ({error}). Get or export the model again.") from None
    return keys


def _write(folder: Path, file: str, keys: Array) -> None:
    import numpy as np

    np.save(folder / file, np.unique(keys), allow_pickle=False)
