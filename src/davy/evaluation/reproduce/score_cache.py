"""Answers of detectors, kept on disk by what they depend on, so that a table is not computed twice.

A key in, a frame of labels and probabilities out. Neither texts nor ids are kept:
rows are in the order of the posts, whose hash is part of the key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.files.atomic import atomic_path
from davy.version import __version__

if TYPE_CHECKING:
    import polars as pl


def cached_scores(
    folder: Path, key: Mapping[str, Any], make: Callable[[], pl.DataFrame], *, fresh: bool = False
) -> pl.DataFrame:
    """Return the frame kept for a key, or make and keep it; `fresh` makes it in any case."""
    import polars as pl

    content = json.dumps({**key, "davy": __version__}, sort_keys=True)
    path = folder / f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.parquet"
    if path.exists() and not fresh:
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError):  # half a file from an older crash: made again
            path.unlink(missing_ok=True)
    frame = make()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_path(path) as draft:
        frame.write_parquet(draft)
    return frame
