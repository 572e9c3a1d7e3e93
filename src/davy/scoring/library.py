"""`davy.load` and `davy.score`: a detector by name, and scores in one call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, overload

from davy.core.errors import UserError
from davy.core.scorer import Scorer
from davy.scoring.python_words import python_words
from davy.scoring.text_detector import TextDetector

Data = TypeVar("Data")


@python_words
def load(
    model: str | Path | Scorer = "embedded",
    *,
    answers: Mapping[str, str | Sequence[str]] | None = None,
    images: str | Path | None = None,
) -> TextDetector:
    """Return a detector: one that ships with Davy, a saved folder, `hf:ORG/NAME`, or any name that `--model` takes.

    `answers` gives a classifier's labels a meaning: `{"hate": "identity_hate"}` makes that label the yes of the
    question `hate`; with several labels any of them is a yes. `images` is the folder of the pictures that posts
    name in a column `image`, for detectors that look at them (`ocr:embedded`).

    Parameters
    ----------
    model : str, Path or Scorer
        A name from `davy model list`, a folder, or `hf:ORG/NAME`.
    answers : dict, optional
        What a classifier's labels mean: question → label, or labels.
    images : str or Path, optional
        The folder of the pictures that posts name in a column `image`.

    Example:
        detector = davy.load("embedded")
        toxic = davy.load("hf:unitary/toxic-bert", answers={"hate": "identity_hate"})
    """
    from davy.detectors.label_answers import answer_by_labels
    from davy.scoring.scorers import load_scorer

    if model is None:
        raise UserError("Name a model, such as 'embedded' or a model folder.")
    folder = None if images is None else Path(images)
    scorer = load_scorer(str(model) if isinstance(model, Path) else model, images=folder)
    return TextDetector(answer_by_labels(scorer, answers) if answers else scorer)


def as_detector(model: str | Path | Scorer | TextDetector) -> TextDetector:
    """Return what a caller names as a detector; one that is a detector is returned as it is."""
    return model if isinstance(model, TextDetector) else load(model)


@lru_cache(maxsize=1)
def _cached_detector(named: tuple[str, tuple[int, int] | None]) -> TextDetector:
    """Return a detector by its name and stamp, kept so that scoring texts one by one loads it once."""
    return load(named[0])


def _stamp(model: str) -> tuple[int, int] | None:
    """Return when the folder or file that a name leads to was last written, and its size; None where there is none."""
    path = Path(re.split("[@#]", model.rpartition(":")[2])[0]).expanduser()
    path = path / "manifest.json" if path.is_dir() else path
    if not path.is_file():
        return None
    seen = path.stat()
    return seen.st_mtime_ns, seen.st_size


@overload
def score(
    posts: str, model: str | Path | Scorer | TextDetector = "embedded", *, lang: str | None = None
) -> dict[str, Any]: ...


@overload
def score(
    posts: list[str], model: str | Path | Scorer | TextDetector = "embedded", *, lang: str | None = None
) -> list[dict[str, Any]]: ...


@overload
def score(posts: Data, model: str | Path | Scorer | TextDetector = "embedded", **options: Any) -> Data: ...


@python_words
def score(posts: Any, model: str | Path | Scorer | TextDetector = "embedded", **options: Any) -> Any:
    """Return the scores of a text (a dict), of texts (a list), or a frame or dataset with score columns added.

    A `Path` is a file: `out` says where its scored copy is written, and what was done is returned. The options are
    those of `TextDetector.score`.

    Parameters
    ----------
    posts : str, list, frame, dataset or Path
        What to score.
    model : str, Path or TextDetector
        The detector, as `davy.load` takes it.
    **options
        Those of `TextDetector.score`; for a file `out`, `text`, `prefix`, `replace` and `cascade`.

    Example:
        davy.score("What a day")["verdict"]
        davy.score(frame, text="body")
        davy.score(Path("posts.csv"), out="scored.csv")
    """
    if isinstance(posts, Path):
        if "out" not in options:
            raise UserError(f"Say where the scored copy of {posts} goes: out=")
        return _score_file(posts, model, **options)
    if "out" in options:
        raise UserError("out is for files: davy.score(Path('posts.csv'), out='scored.csv').")
    detector = _cached_detector((model, _stamp(model))) if isinstance(model, str) else as_detector(model)
    return detector.score(posts, **options)


def _score_file(
    path: Path,
    model: str | Path | Scorer | TextDetector,
    *,
    out: str | Path,
    text: str | None = None,
    prefix: str = "",
    replace: bool = False,
    cascade: bool = True,
) -> Any:
    from davy.corpus.post_source import PostSource
    from davy.scoring.batch import ScoreSettings
    from davy.scoring.score_file import score_file

    settings = ScoreSettings(prefix=f"{prefix}." if prefix else "", replace=replace)
    source = PostSource(str(path), text=text)
    return score_file(source, out, as_detector(model).scorer, settings=settings, cascade=cascade)
