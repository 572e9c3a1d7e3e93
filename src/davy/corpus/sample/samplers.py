"""The samplers that a plan can name, each a small class whose fields are its parameters.

A sampler gets a view of one source's posts that are still free and returns which
it takes. What it needs to know of them (words, scores, sketches) it asks of the
view, which works each thing out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

BINS = 10


class SourceView(Protocol):
    """One source's posts. Rows are places in the source; what is asked for comes in the order of the rows given."""

    def holds(self, words: str, rows: Array) -> Array: ...

    def scores(self, judge: str, rows: Array) -> Array: ...

    def sketches(self, rows: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class SampledRows:
    """What a sampler took. `candidates` is how many posts fitted; `notes` say where it fell short within itself."""

    rows: Array
    candidates: int
    notes: tuple[str, ...] = ()
    tenths: Array | None = None
    """For each row the tenth of a judge's range or ranking that it was taken for, from 1 to 10."""


@dataclass(frozen=True)
class Sampler:
    """What all samplers have: how many posts to take of each source, and the name that those will carry."""

    n: int
    name: str = ""

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"n is {self.n}, below zero")

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The judges that the sampler asks."""
        return ()

    @property
    def lists(self) -> tuple[str, ...]:
        """The word lists that the sampler needs."""
        return ()

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:
        """Return which of the free rows are taken."""
        raise NotImplementedError


@dataclass(frozen=True)
class RandomSampler(Sampler):
    """Any posts."""

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:  # noqa: ARG002
        """Return a random choice."""
        return SampledRows(_some(free, self.n, chance), len(free))


@dataclass(frozen=True, kw_only=True)
class KeywordSampler(Sampler):
    """Posts with a word of `words`, and where `and` is given with one of that list too."""

    words: str
    and_: str | None = None

    @property
    def lists(self) -> tuple[str, ...]:
        """The word lists that the sampler needs."""
        return (self.words, self.and_) if self.and_ else (self.words,)

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:
        """Return a random choice of the posts with the words."""
        for words in self.lists:
            free = free[view.holds(words, free)]
        return SampledRows(_some(free, self.n, chance), len(free))


@dataclass(frozen=True, kw_only=True)
class DecileSampler(Sampler):
    """A tenth of `n` from each tenth of a judge's range (0 to 0.1, …), or of its ranking with `of: rank`."""

    judge: str
    of: str = "range"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of not in ("range", "rank"):
            raise ValueError(f"of is {self.of!r}; it should be range or rank")

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The judge that the sampler asks."""
        return (self.judge,)

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:
        """Return a random choice from each tenth; what one lacks is not made up from another."""
        free, scores = _judged(view, self.judge, free)
        if self.of == "rank":
            order = np.argsort(np.argsort(scores, kind="stable"), kind="stable")
            tenth = order * BINS // max(1, len(order))
        else:
            tenth = np.clip((scores * BINS).astype(np.int64), 0, BINS - 1)
        rows, notes = [], []
        for place, want in enumerate(_shared(self.n, BINS)):
            here = free[tenth == place]
            rows.append(_some(here, want, chance))
            if len(here) < want:
                notes.append(f"tenth {place + 1}: {len(here)} of {want}")
        taken = np.sort(np.concatenate(rows))
        return SampledRows(taken, len(free), tuple(notes), tenth[np.searchsorted(free, taken)] + 1)


@dataclass(frozen=True, kw_only=True)
class DisagreementSampler(Sampler):
    """Posts that two judges score differently, by at least `by`."""

    judges: tuple[str, ...]
    by: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.judges) != 2:
            raise ValueError(f"disagreement needs two judges, not {len(self.judges)}")

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The judges that the sampler asks."""
        return self.judges

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:
        """Return a random choice of the posts that the judges disagree on."""
        free, _ = _judged(view, self.judges[0], free)
        free, two = _judged(view, self.judges[1], free)
        one = view.scores(self.judges[0], free)
        # Scores are rounded to six digits in files: 0.9 and 0.1 differ by 0.8, whatever their binary neighbours do.
        free = free[np.abs(one - two) >= self.by - 1e-9]
        return SampledRows(_some(free, self.n, chance), len(free))


@dataclass(frozen=True, kw_only=True)
class TopicSampler(Sampler):
    """Posts with a topical word that a judge scores `at-least` so high; every judge brings an equal share."""

    words: str
    judges: tuple[str, ...]
    at_least: float = 0.5

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The judges that the sampler asks."""
        return self.judges

    @property
    def lists(self) -> tuple[str, ...]:
        """The word list that the sampler needs."""
        return (self.words,)

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:
        """Return a random choice for each judge; what one has too few of, the others make up."""
        free = free[view.holds(self.words, free)]
        high = []
        for judge in self.judges:
            judged, scores = _judged(view, judge, free)
            high.append(judged[scores >= self.at_least])
        every = np.unique(np.concatenate(high))
        rows = np.empty(0, dtype=np.int64)
        notes = []
        for judge, mine, want in zip(self.judges, high, _shared(self.n, len(high)), strict=True):
            mine = np.setdiff1d(mine, rows, assume_unique=True)
            rows = np.union1d(rows, _some(mine, want, chance))
            if len(mine) < want:
                notes.append(f"{judge}: {len(mine)} of {want}")
        left = np.setdiff1d(every, rows, assume_unique=True)
        rows = np.union1d(rows, _some(left, self.n - len(rows), chance))
        return SampledRows(rows, len(every), tuple(notes))


@dataclass(frozen=True, kw_only=True)
class UncertaintySampler(Sampler):
    """Posts that a judge is least sure about: those whose score is nearest to `around`."""

    judge: str
    around: float = 0.5

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The judge that the sampler asks."""
        return (self.judge,)

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:
        """Return the posts nearest to the line; chance decides between equal ones."""
        free, scores = _judged(view, self.judge, free)
        mixed = chance.permutation(len(free))
        order = mixed[np.argsort(np.abs(scores[mixed] - self.around), kind="stable")]
        return SampledRows(np.sort(free[order[: self.n]]), len(free))


@dataclass(frozen=True, kw_only=True)
class DiversitySampler(Sampler):
    """Posts that have little in common: each is the least like those before it, of `among` random ones."""

    among: int = 20_000

    def take(self, view: SourceView, free: Array, chance: np.random.Generator) -> SampledRows:
        """Return posts chosen one after the other, each as far from all chosen ones as there is."""
        pool = _some(free, self.among, chance)
        if len(pool) <= self.n:
            return SampledRows(pool, len(free))
        bits = view.sketches(pool)
        nearest = np.zeros(len(pool))
        chosen = [int(chance.integers(len(pool)))]
        for _ in range(self.n - 1):
            nearest = np.maximum(nearest, (bits == bits[chosen[-1]]).mean(axis=1))
            nearest[chosen[-1]] = 2.0
            chosen.append(int(np.argmin(nearest)))
        return SampledRows(np.sort(pool[chosen[: self.n]]), len(free))


SAMPLERS: dict[str, type[Sampler]] = {
    "random": RandomSampler,
    "keyword": KeywordSampler,
    "deciles": DecileSampler,
    "disagreement": DisagreementSampler,
    "topic": TopicSampler,
    "uncertainty": UncertaintySampler,
    "diversity": DiversitySampler,
}


def _judged(view: SourceView, judge: str, rows: Array) -> tuple[Array, Array]:
    """Return the rows that the judge has a score for, and the scores."""
    scores = view.scores(judge, rows)
    known = ~np.isnan(scores)
    return rows[known], scores[known]


def _some(rows: Array, n: int, chance: np.random.Generator) -> Array:
    """Return n of the rows at random, in order; all of them where there are fewer."""
    chosen: Array = rows if len(rows) <= n else np.sort(chance.choice(rows, size=max(0, n), replace=False))
    return chosen


def _shared(n: int, parts: int) -> Sequence[int]:
    """Return n in equal shares, the first ones larger by one where it does not go evenly."""
    return [n // parts + (place < n % parts) for place in range(parts)]
