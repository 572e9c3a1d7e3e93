"""Score a stream of posts in bounded memory, in exact row order.

Frames in, the same frames out with the scorer's columns added. Rows are handled
a window at a time: identical posts are scored once, the rest are sorted by
length, so that a batch holds texts of one size, and put back in their order. A
post whose text is null has nothing to score and gets nulls. What was scored in
this run is kept under a hash of its text, the oldest blocks forgotten first.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from davy.core.errors import UserError
from davy.core.options import Option
from davy.core.scorer import NotANumber, Scorer, Scores
from davy.files.post_columns import image_column

if TYPE_CHECKING:
    import polars as pl


class ScoreCache:
    """Holds the scores of about the last `capacity` distinct posts, a block for each window they came in."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: deque[tuple[int, list[bytes], Scores]] = deque()
        self._at: dict[bytes, tuple[int, int]] = {}
        self._held = 0
        self._made = 0

    def __len__(self) -> int:
        return self._held

    def split(self, keys: list[bytes]) -> tuple[dict[int, tuple[int, int]], list[int]]:
        """Return where the known keys are held, by position in `keys`, and the positions of the new ones."""
        known = {i: self._at[key] for i, key in enumerate(keys) if key in self._at}
        return known, [i for i in range(len(keys)) if i not in known]

    def recalled(self, known: dict[int, tuple[int, int]]) -> tuple[list[Scores], Any]:
        """Return the scores of known posts in parts, and the positions that their rows belong to."""
        import numpy as np

        by_block: dict[int, list[tuple[int, int]]] = {}
        for position, (block, row) in known.items():
            by_block.setdefault(block, []).append((position, row))
        held = {number: scores for number, _, scores in self._blocks}
        parts = [held[number].take(np.array([row for _, row in pairs])) for number, pairs in by_block.items()]
        order = [position for pairs in by_block.values() for position, _ in pairs]
        return parts, np.array(order, dtype=np.int64)

    def keep(self, keys: list[bytes], scores: Scores) -> None:
        """Hold new scores; forget the oldest blocks where there are too many."""
        self._blocks.append((self._made, keys, scores))
        self._at.update((key, (self._made, row)) for row, key in enumerate(keys))
        self._made += 1
        self._held += len(keys)
        while self._held > self._capacity and self._blocks:
            number, old, _ = self._blocks.popleft()
            self._held -= len(old)
            for key in old:
                if self._at[key][0] == number:
                    del self._at[key]


def keys_of(posts: pl.DataFrame) -> list[bytes]:
    """Return a hash for each post of all that a scorer may look at."""
    columns = [posts[name].to_list() for name in posts.columns]
    if len(columns) == 1:
        return [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in columns[0]]
    return [
        hashlib.blake2b(repr(row).encode("utf-8", "backslashreplace"), digest_size=16).digest()
        for row in zip(*columns, strict=True)
    ]


Progress = Callable[[int], Any]

WINDOW, SLOW_WINDOW = 8192, 1024
WINDOW_BYTES = 64_000_000
PROBABILITIES = ".probabilities"
"""The column `Q.probabilities` holds every label's probability as JSON, where Q is no plain yes/no question."""
OF_A_POST = ("verdict", "unsure", "unsupported_language", "cleared", "why")
"""Columns that belong to no question; `why` is added by `score.explain`."""
TEXT_COLUMNS = (".label", PROBABILITIES, "verdict", "unsure", "unsupported_language")


def column_prefix(name: str) -> str:
    """Return what goes before the names of columns that are named after something."""
    return f"{name}." if name else ""


@dataclass(frozen=True)
class ScoreSettings:
    """How a stream is scored. `text` is the column to read; `window` and `memory` are in posts.

    `batch` is how many posts the scorer gets at once (None: as its abilities say), `window` how many are sorted by
    length and finished together (None: few where every post is read whole, so that a stop loses little); `prefix` goes
    before each added column's name; `replace` lets scoring write over columns that are there, and leave out what
    else an earlier run wrote.
    """

    text: str = "text"
    batch: Annotated[
        int | None, Option("How many posts the detector gets at once; else what it likes best.", metavar="N")
    ] = None
    window: int | None = None
    memory: int = 200_000
    prefix: Annotated[str, Option("Call the added columns P.hate, P.verdict …", metavar="P", read=column_prefix)] = ""
    replace: Annotated[bool, Option("Write over the score columns of an earlier run, and over --out.")] = False

    def __post_init__(self) -> None:
        if self.batch is not None and self.batch < 1:
            raise UserError(f"A batch has at least one post, not {self.batch}.")


def score_frames(
    frames: Iterable[pl.DataFrame],
    scorer: Scorer,
    settings: ScoreSettings | None = None,
    *,
    progress: Progress | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield frames of posts with the scorer's columns added; `progress` hears how many more rows are done."""
    settings = settings or ScoreSettings()
    memory = ScoreCache(settings.memory)
    before = 0
    for window in windows(frames, settings.window or (WINDOW if scorer.abilities.cascaded else SLOW_WINDOW)):
        check_columns(window.columns, scorer, settings)
        try:
            scored = _scored(window, scorer, settings, memory, progress or (lambda _: None))
        except NotANumber as error:
            where = _row_name(window, error.row, before)
            raise UserError(
                f"{scorer.name} gave no number for {error.question!r} at {where}. Leave it out, or use another model."
            ) from None
        before += len(window)
        yield scored


def windows(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Yield the same rows in frames of at most `rows` and about 64 MB; empty frames are kept if nothing else comes."""
    import polars as pl

    held: list[pl.DataFrame] = []
    empty: pl.DataFrame | None = None

    def joined() -> pl.DataFrame:
        whole = held[0] if len(held) == 1 else pl.concat(held, how="diagonal_relaxed")
        held.clear()
        return whole

    for frame in frames:
        empty = frame if empty is None else empty
        step = max(1, min(rows, int(WINDOW_BYTES * len(frame) / max(1, frame.estimated_size()))))
        for start in range(0, len(frame), step):
            piece = frame[start : start + step]
            if held and _full([*held, piece], rows):
                yield joined()
            held.append(piece)
    if held:
        yield joined()
    elif empty is not None and not len(empty):
        yield empty


def added_columns(scorer: Scorer, prefix: str = "") -> list[str]:
    """Return the names of the columns that scoring adds, in their order."""
    names: list[str] = []
    for question in scorer.questions:
        names += [question.name] * (question.positive is not None) + [f"{question.name}.label"]
        names += [f"{question.name}{PROBABILITIES}"] * (question.no is None)
    names.append("verdict")
    if scorer.abilities.abstains:
        names.append("unsure")
    if scorer.abilities.refuses_languages:
        names.append("unsupported_language")
    if scorer.abilities.cascaded:
        names.append("cleared")
    return [prefix + name for name in names]


def added_schema(scorer: Scorer, prefix: str = "") -> dict[str, Any]:
    """Return the polars types of the columns that scoring adds."""
    names = added_columns(scorer, prefix)
    return {name: _type_of(name, names) for name in names}


def stale_columns(columns: Sequence[str], scorer: Scorer, settings: ScoreSettings) -> list[str]:
    """Return the columns that an earlier run with the same prefix wrote and that the scorer does not write.

    They would say of a post what another detector said. A run is known by `verdict` beside at least one `Q.label`;
    columns of another prefix (`words.hate.label`) are another run's.
    """
    prefix = settings.prefix
    names = [name.removeprefix(prefix) for name in columns if name.startswith(prefix)]
    labels = [name for name in names if name.endswith(".label")]
    questions = [question for label in labels if "." not in (question := label.removesuffix(".label"))]
    if "verdict" not in names or not questions:
        return []
    written = {*OF_A_POST, *(q + end for q in questions for end in ("", ".label", PROBABILITIES))}
    kept = {settings.text, *added_columns(scorer, prefix)}
    return [prefix + name for name in names if name in written and prefix + name not in kept]


def check_columns(columns: Sequence[str], scorer: Scorer, settings: ScoreSettings) -> None:
    """Raise where posts have no text, or where scoring would write over what they hold."""
    if settings.text not in columns:
        raise UserError(f"There is no column {settings.text!r} to score; the columns are {', '.join(columns)}.")
    taken = [name for name in added_columns(scorer, settings.prefix) if name in columns]
    if taken and not settings.replace:
        raise UserError(
            f"There is a column {taken[0]!r} already, which scoring would add. "
            "Write over it with --replace (replace=True), or keep both with --prefix NAME (prefix=NAME)."
        )


def _scored(
    window: pl.DataFrame, scorer: Scorer, settings: ScoreSettings, memory: ScoreCache, progress: Progress
) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    texts = window[settings.text].cast(pl.String).alias("text")
    scorable = texts.is_not_null()
    seen = {"text": texts.fill_null("")} | {name: window[name] for name in ("lang",) if name in window.columns}
    if (picture := image_column(window.columns)) is not None:
        seen["image"] = window[picture]
        if scorer.abilities.images:  # the text on a picture can be read
            scorable |= window[picture].is_not_null()
    rows = np.flatnonzero(scorable.to_numpy())
    posts = pl.DataFrame(seen)[rows]
    reported = 0

    def tell(more: int) -> None:
        nonlocal reported
        reported += more
        progress(more)

    names = added_columns(scorer, settings.prefix)
    columns: dict[str, Any] = {name: [None] * len(window) for name in names}
    if len(rows):
        try:
            batch = settings.batch or scorer.abilities.batch_size
            scores = _distinct_scored(posts, scorer, batch, memory, tell)
        except NotANumber as error:
            raise NotANumber(error.question, int(rows[error.row])) from None
        columns = {settings.prefix + name: values for name, values in scores.columns().items()}
        if len(rows) < len(window):
            columns = {name: _spread(values, rows, len(window)) for name, values in columns.items()}
    progress(len(window) - reported)
    stale = stale_columns(window.columns, scorer, settings) if settings.replace else []
    kept = window.drop(*(name for name in names if name in window.columns), *stale)
    return kept.with_columns([pl.Series(name, columns[name], dtype=_type_of(name, names)) for name in names])


def _distinct_scored(posts: pl.DataFrame, scorer: Scorer, batch: int, memory: ScoreCache, tell: Progress) -> Scores:
    """Return the scores of posts in their order, asking the scorer once for each that is new."""
    import numpy as np

    keys = keys_of(posts)
    places: dict[bytes, int] = {}
    which = np.array([places.setdefault(key, len(places)) for key in keys])
    first = np.zeros(len(places), dtype=np.int64)
    first[which[::-1]] = np.arange(len(keys))[::-1]
    known, new = memory.split(list(places))
    parts, order = memory.recalled(known)
    if new:
        rows = first[new]
        lengths = posts["text"].str.len_bytes().to_numpy()[rows]
        by_length = np.argsort(lengths, kind="stable")[::-1]  # longest first: what may not fit shows itself at once
        fresh = [_score_rows(posts, rows[by_length[i : i + batch]], scorer, tell) for i in range(0, len(new), batch)]
        scores = Scores.concat(fresh)
        asked = np.array(new)[by_length]
        all_keys = list(places)
        memory.keep([all_keys[i] for i in asked], scores)
        parts.append(scores)
        order = np.concatenate([order, asked])
    back = np.empty(len(places), dtype=np.int64)
    back[order] = np.arange(len(order))
    return Scores.concat(parts).take(back[which])


def _score_rows(posts: pl.DataFrame, rows: Any, scorer: Scorer, tell: Progress) -> Scores:
    try:
        scores = scorer.score(posts[rows])
    except NotANumber as error:
        raise NotANumber(error.question, int(rows[error.row])) from None
    if len(scores) != len(rows):
        raise UserError(
            f"{scorer.name} gave {len(scores)} scores for {len(rows)} posts; its server or folder is broken."
        )
    tell(len(rows))
    return scores


def _spread(values: list[Any], rows: Any, n: int) -> list[Any]:
    spread: list[Any] = [None] * n
    for row, value in zip(rows.tolist(), values, strict=True):
        spread[row] = value
    return spread


def _type_of(name: str, names: Sequence[str]) -> Any:
    import polars as pl

    if name == names[-1] and name.endswith("cleared"):
        return pl.Boolean
    return pl.String if name.endswith(TEXT_COLUMNS) else pl.Float64


def _full(held: list[pl.DataFrame], rows: int) -> bool:
    return sum(map(len, held)) > rows or sum(frame.estimated_size() for frame in held) > WINDOW_BYTES


def _row_name(window: pl.DataFrame, row: int, before: int) -> str:
    where = f"row {before + row + 1}"
    return f"{where} (id {window['id'][row]!r})" if "id" in window.columns else where
