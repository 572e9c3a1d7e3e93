"""Run a plan over posts: which are taken, by which sampler, and what fell short.

Posts in, a sampler's name or null for each post out. The same posts, plan,
scorers and seed give the same sample: chance is drawn apart for every source and
sampler, and sources are taken in order of their names. Word lists are matched on
all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UserError, nearest
from davy.corpus.sample.plan import Pool, SamplingPlan
from davy.corpus.split.groups import column_of
from davy.files.cores import usable_cores
from davy.text import duplicates
from davy.text.column_match import ColumnMatcher
from davy.text.lexicons import read
from davy.text.lexicons.read import decode_line

if TYPE_CHECKING:
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


def select_pool(
    pool: Pool, communities: pl.Series | None, rows: Array, chance: np.random.Generator
) -> tuple[Array, list[str]]:
    """Return the rows of a pool, and what it fell short of; `communities` names the community of each row."""
    notes: list[str] = []
    if pool.at_least or pool.categories:
        assert communities is not None
        rows, notes = _by_community(pool, communities, rows, chance)
    if pool.n is not None and len(rows) > pool.n:
        rows = np.sort(chance.choice(rows, size=pool.n, replace=False))
    elif pool.n is not None and len(rows) < pool.n:
        notes.append(f"{len(rows):,} posts of {pool.n:,}")
    return rows, notes


def _by_community(
    pool: Pool, communities: pl.Series, rows: Array, chance: np.random.Generator
) -> tuple[Array, list[str]]:
    folded = communities.str.to_lowercase().str.strip_prefix("/").str.strip_prefix("r/")
    sizes = dict(folded.drop_nulls().value_counts().iter_rows())
    large = {name for name, size in sizes.items() if size >= pool.at_least}
    if not pool.categories:
        notes = [] if large else [f"no community has {pool.at_least:,} posts"]
        return rows[folded.is_in(list(large)).fill_null(False).to_numpy()], notes
    taken, notes = [], _left_out(pool, sizes, len(folded))
    for category, members in pool.categories.items():
        wanted = [name for name in map(_board, members) if name in large]
        here = rows[folded.is_in(wanted).fill_null(False).to_numpy()]
        want = pool.each if pool.each is not None else len(here)
        if len(here) < want:
            which = f"{len(wanted)} of {len(members)} boards have {pool.at_least:,} posts"
            notes.append(f"{category}: {len(here):,} posts of {want:,} ({which})")
        taken.append(here if len(here) <= want else np.sort(chance.choice(here, size=want, replace=False)))
    return np.sort(np.concatenate(taken)), notes


def _board(name: str) -> str:
    return name.lower().removeprefix("r/")


def _left_out(pool: Pool, sizes: Mapping[str, int], posts: int) -> list[str]:
    """Return notes on the posts of communities that the plan does not name, or that are too small for it."""
    named = {_board(member) for members in pool.categories.values() for member in members}
    unnamed = {name: size for name, size in sizes.items() if name not in named}
    small = {name: size for name, size in sizes.items() if name in named and size < pool.at_least}
    notes = [
        f"{sum(some.values()):,} posts of {len(some):,} {what} were left out ({_largest(some)})"
        for some, what in ((unnamed, "boards that the plan does not name"), (small, "boards that are too small"))
        if some
    ]
    nowhere = posts - sum(sizes.values())
    return [*notes, *([f"{nowhere:,} posts without a board were left out"] if nowhere else [])]


def _largest(sizes: Mapping[str, int], most: int = 5) -> str:
    """Return the largest communities with their sizes, as text."""
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {size:,}" for name, size in ordered[:most]) + (", …" if len(ordered) > most else "")


PACKAGE = "davy.corpus.sample.plans"
_PART = 20_000


def load_word_list(name: str, folder: Path | None = None) -> ColumnMatcher:
    """Return a word list: one that ships with the plans, a lexicon's name, or a file, from the plan's folder first."""
    shipped = {file.name.rsplit(".", 1)[0]: file for file in resources.files(PACKAGE).iterdir() if "-" in file.name}
    if name in shipped:
        file = shipped[name]
        if file.name.endswith(".lexicon"):
            lines = file.read_text("ascii").splitlines()
            return ColumnMatcher(read.parse_entry(decode_line(line), "en") for line in lines if line and line[0] != "#")
        with resources.as_file(file) as path:
            return ColumnMatcher(read.load(path))
    near = folder / name if folder is not None else None
    if near is not None and near.is_file():
        return ColumnMatcher(read.load(near))
    known = [*shipped, *read.SHIPPED, "masking"]
    if name not in known and not Path(name).is_file():
        raise UserError(
            f"There is no word list {name!r}: give a file or one of {', '.join(known)}.{nearest(name, known)}"
        )
    return ColumnMatcher(read.load(name))


def contains_words(texts: pl.Series, terms: ColumnMatcher) -> pl.Series:
    """Return whether each text holds one of the words; polars lets Python's lock go while it searches."""
    import polars as pl

    if len(texts) <= _PART:
        return terms.contains_any(texts)
    parts = [texts[start : start + _PART] for start in range(0, len(texts), _PART)]
    with ThreadPoolExecutor(usable_cores()) as pool:
        return pl.concat(list(pool.map(terms.contains_any, parts)))


Judge = Callable[["pl.DataFrame"], "pl.Series"]
"""Posts in, a number from 0 to 1 for each out, null where the judge has no answer. NaN is refused."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """What one sampler did in one source."""

    source: str
    sampler: str
    asked: int
    candidates: int
    taken: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "source": self.source,
            "sampler": self.sampler,
            "asked": self.asked,
            "candidates": self.candidates,
            "taken": self.taken,
            "short": self.asked - self.taken,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Sample:
    """What a plan took: the sampler's name for each post, null for those that stay."""

    samplers: pl.Series
    rows: tuple[SampleRow, ...]
    pools: dict[str, tuple[int, int, tuple[str, ...]]]
    """For each source: how many posts it has, how many are in its pool, what the pool fell short of."""
    traces: pl.DataFrame
    """Why a post was looked at: `judge.NAME`, the score that a judge gave it, and `sampler.tenth`. Null elsewhere."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Sources of which the plan takes nothing, and how many posts each has."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        pools = {name: {"posts": n, "pool": m, "notes": list(notes)} for name, (n, m, notes) in self.pools.items()}
        return {
            "taken": sum(row.taken for row in self.rows),
            "pools": pools,
            "left_out": self.left_out,
            "samplers": [r.to_dict() for r in self.rows],
        }


class _View:
    """What samplers may ask about one source's posts; every answer is kept."""

    def __init__(self, posts: pl.DataFrame, lists: Mapping[str, ColumnMatcher], judges: Mapping[str, Judge]) -> None:
        self._posts = posts
        self._lists = lists
        self._judges = judges
        self._held: dict[str, Array] = {}
        self._scores: dict[str, Array] = {}

    def holds(self, name: str, rows: Array) -> Array:
        """Return which of the rows hold a word of a list."""
        if name not in self._held:
            self._held[name] = contains_words(self._posts["text"], self._lists[name]).to_numpy()
        return self._held[name][rows]

    def scores(self, judge: str, rows: Array) -> Array:
        """Return a judge's scores; it is asked only about posts that it has not seen."""
        known = self._scores.setdefault(judge, np.full(len(self._posts), -1.0))
        new = rows[known[rows] == -1.0]
        if len(new):
            known[new] = self._asked(judge, new)
        return known[rows]

    def scores_given(self) -> dict[str, Array]:
        """Return each judge's scores of all posts, NaN where it was not asked or has no answer."""
        return {judge: np.where(scores == -1.0, np.nan, scores) for judge, scores in self._scores.items()}

    def sketches(self, rows: Array) -> Array:
        """Return the sketches of the rows, by which likeness is measured."""
        return duplicates.sketch(self._posts["text"].gather(rows), 0.5).bits

    def _asked(self, judge: str, rows: Array) -> Array:
        """Return a judge's scores of posts, NaN where it has no answer."""
        import polars as pl

        posts = self._posts[rows]
        scores = self._judges[judge](posts).cast(pl.Float64)
        if len(scores) != len(posts):
            raise UserError(f"Judge {judge!r} gave {len(scores)} scores for {len(posts)} posts.")
        wrong = (scores.is_nan() | ~scores.is_between(0, 1)).fill_null(False).arg_true()
        if len(wrong):
            at = int(wrong[0])
            raise UserError(
                f"Judge {judge!r} gave {scores[at]} to post {posts['id'][at]!r}, and scores are 0 to 1. "
                "Leave the post out, or ask another judge."
            )
        return scores.to_numpy()


def sample(posts: pl.DataFrame, plan: SamplingPlan, judges: Mapping[str, Judge], *, seed: int = 0) -> Sample:
    """Return what a plan takes of the posts. `judges` are asked by the names that the plan gives them.

    Posts that a judge has no answer to are no candidates of its samplers.
    """
    import polars as pl

    missing = [name for name in plan.judged_by if name not in judges]
    if missing:
        raise UserError(f"The plan asks the judge {missing[0]!r}. Say who that is: --judge '{missing[0]}=MODEL'.")
    lists = {name: load_word_list(name, plan.folder) for name in plan.lists}
    chosen: list[str | None] = [None] * len(posts)
    report: list[SampleRow] = []
    pools: dict[str, tuple[int, int, tuple[str, ...]]] = {}
    scores = {judge: np.full(len(posts), np.nan) for judge in plan.judged_by}
    tenths = np.zeros(len(posts), dtype=np.int8)
    sources, left_out = _sources(posts, plan)
    for number, (source, rows) in enumerate(sources):
        pool, notes = _pool(posts, plan, source, rows, np.random.default_rng([seed, number]))
        pools[source] = (len(rows), len(pool), tuple(notes))
        view = _View(posts[pool], lists, judges)
        free = np.arange(len(pool))
        for place, sampler in enumerate(plan.samplers):
            chance = np.random.default_rng([seed, number, place + 1])
            taken = sampler.take(view, free, chance)
            free = np.setdiff1d(free, taken.rows, assume_unique=True)
            for row in pool[taken.rows].tolist():
                chosen[row] = sampler.name
            if taken.tenths is not None:
                tenths[pool[taken.rows]] = taken.tenths
            report.append(SampleRow(source, sampler.name, sampler.n, taken.candidates, len(taken.rows), taken.notes))
        for judge, given in view.scores_given().items():
            scores[judge][pool] = given
    samplers = pl.Series("sampler", chosen, dtype=pl.String)
    return Sample(samplers, tuple(report), pools, _traces(scores, tenths), left_out)


def _traces(scores: Mapping[str, Array], tenths: Array) -> pl.DataFrame:
    """Return a column for each judge, and one for the tenth that a post was taken for where a sampler has tenths."""
    import polars as pl

    columns = [pl.Series(f"judge.{name}", given).fill_nan(None) for name, given in scores.items()]
    if tenths.any():
        columns.append(pl.Series("sampler.tenth", tenths).replace(0, None))
    return pl.DataFrame(columns)


def _sources(posts: pl.DataFrame, plan: SamplingPlan) -> tuple[list[tuple[str, Array]], dict[str, int]]:
    """Return the rows of each source, in order of its name, and the sizes of sources that the plan does not name.

    A plan that tells no sources apart has one.
    """
    import polars as pl

    if plan.by is None:
        return [("all", np.arange(len(posts)))], {}
    names = column_of(posts, plan.by).cast(pl.String).str.to_lowercase()
    sources = sorted(set(names.drop_nulls()))
    wanted = sorted({*(name.lower() for name in plan.pools)}) or sources
    lost = [name for name in wanted if name not in sources]
    if len(lost) == len(wanted):
        holds = ", ".join(sources[:10]) or "nothing"
        raise UserError(f"No post has {', '.join(map(repr, wanted))} in column {plan.by!r}; it holds {holds}.")
    sizes = dict(names.fill_null("").value_counts().sort(names.name).iter_rows())
    left_out = {name or f"no {plan.by}": size for name, size in sizes.items() if name not in wanted}
    return [(name, np.flatnonzero((names == name).fill_null(False).to_numpy())) for name in wanted], left_out


def _pool(
    posts: pl.DataFrame, plan: SamplingPlan, source: str, rows: Array, chance: np.random.Generator
) -> tuple[Array, list[str]]:
    import polars as pl

    pool = next((pool for name, pool in plan.pools.items() if name.lower() == source), plan.every_pool)
    if pool is None:
        return rows, []
    communities = None
    if pool.at_least or pool.categories:
        communities = column_of(posts, pool.communities).cast(pl.String).gather(rows)
    return select_pool(pool, communities, rows, chance)
