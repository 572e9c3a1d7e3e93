"""Which posts a model learnt from, as four bytes a post, so that memory is never reported as quality.

Texts in, `learnt.npy` in a model folder out, and back: for each text whether the model has seen it. Case and spaces
do not count. Of a million new texts about thirty are taken for seen by a model that learnt from 125,000.
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
Learnt = Callable[[Sequence[str | None]], "Array"]


def text_keys(texts: Iterable[str | None]) -> Array:
    """Return a number for each text; the same one for texts that differ in case and spaces alone."""
    import numpy as np

    plain = (" ".join((text or "").casefold().split()) for text in texts)
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest() for text in plain)
    return np.frombuffer(digests, dtype="<u4")


def write_learnt(folder: Path, texts: Iterable[str | None]) -> None:
    """Write what a model learnt from into its folder, before its manifest is written."""
    import numpy as np

    np.save(folder / FILE, np.unique(text_keys(texts)), allow_pickle=False)


def read_learnt(folder: Path) -> Learnt | None:
    """Return what tells seen texts by a folder's file, which is read when it is asked; None where there is none."""
    return (lambda texts: _is_among(_load(folder), texts)) if (folder / FILE).is_file() else None


def keep_learnt(texts: Iterable[str | None]) -> Learnt:
    """Return what tells these texts from others."""
    keys = text_keys(texts)
    return lambda asked: _is_among(keys, asked)


def learnt_by_any(scorers: Iterable[Scorer]) -> Learnt | None:
    """Return what tells texts that one of the scorers learnt from; None where none of them says."""
    known = [scorer.abilities.learnt for scorer in scorers if scorer.abilities.learnt is not None]
    if not known:
        return None

    def seen(texts: Sequence[str | None]) -> Array:
        import numpy as np

        return np.asarray(np.logical_or.reduce([each(texts) for each in known]))

    return seen


def _load(folder: Path) -> Array:
    import numpy as np

    try:
        keys: Array = np.load(folder / FILE, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / FILE} can't be read ({error}). Get or export the model again.") from None
    return keys


def _is_among(keys: Array, texts: Sequence[str | None]) -> Array:
    import numpy as np

    return np.isin(text_keys(texts), keys)
