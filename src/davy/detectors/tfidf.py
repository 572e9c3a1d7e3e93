"""TF-IDF of characters and words with logistic regression: the strong plain baseline.

Posts with `Q.gold` in, a scorer out; one regression a question. Texts are counts of hashed pieces (rows, buckets,
values), made in numpy on the whole batch at once, the same in training and at run time. So a trained model needs no
vocabulary file and no scikit-learn. Training takes scikit-learn if it is installed, else our own solver, which finds
the same minimum more slowly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.gold import targets
from davy.core.scheme import Question
from davy.core.scorer import PLAIN, Abilities, Scores
from davy.detectors import folder as folders
from davy.detectors.model_name import ModelName
from davy.detectors.training_text_index import keep_learnt, save_learnt
from davy.files.arrays import open_arrays

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


_WORD = re.compile(r"\b\w\w+\b")
_GAP = re.compile(r"\s+")
_ODD = 0x9E3779B97F4A7C15
_STEP = 0x100000001B3
LONGEST = 20_000
"""Characters of a text that are read: a megabyte in one post says no more than its first pages."""


@dataclass(frozen=True)
class NgramHasher:
    """What a text is cut into: character n-grams and runs of words of these lengths, hashed into 2**bits buckets."""

    characters: tuple[int, int] = (2, 5)
    words: tuple[int, int] = (1, 2)
    bits: int = 18

    def __post_init__(self) -> None:
        for name, lengths in (("characters", self.characters), ("words", self.words)):
            if len(lengths) != 2 or not all(isinstance(it, int) and 0 <= it <= 100 for it in lengths):
                raise UserError(f"The {name} of a piece are two lengths, such as (2, 5), not {lengths!r}.")
        if not 1 <= self.bits <= 40:
            raise UserError(f"Pieces are hashed into 2**{self.bits} buckets; 1 to 40 bits.")

    def counts(self, texts: list[str]) -> tuple[Array, Array, Array]:
        """Return row, bucket and count for each piece that a text holds, sorted by row."""
        import numpy as np

        codes, rows = _codes(texts)
        counted: list[Array] = []
        with np.errstate(over="ignore"):
            mixed = _mix(codes.astype(np.uint64) + np.uint64(1))
            for n in range(self.characters[0], self.characters[1] + 1):
                counted.append(self._keys(*_grams(mixed, rows, n), salt=n))
            hashes, places = _words(mixed, codes, rows)
            for n in range(self.words[0], self.words[1] + 1):
                counted.append(self._keys(*_grams(hashes, places, n), salt=100 + n))
        keys, counts = np.unique(np.concatenate(counted), return_counts=True)
        return (
            (keys >> np.uint64(self.bits)).astype(np.int64),
            (keys & np.uint64(2**self.bits - 1)).astype(np.int64),
            counts,
        )

    def _keys(self, hashes: Array, rows: Array, *, salt: int) -> Array:
        """Return row and bucket of each piece as one number."""
        import numpy as np

        buckets = _mix(hashes + np.uint64(salt) * np.uint64(_ODD)) >> np.uint64(64 - self.bits)
        keys: Array = (rows.astype(np.uint64) << np.uint64(self.bits)) | buckets
        return keys


@dataclass(frozen=True)
class NumberedWords:
    """The most frequent words of the texts at hand, numbered by the alphabet; other texts have other words.

    So a model learns that column 7 is one word and later reads another there. It is what a vectoriser does that is
    fitted again on the posts to score: a mistake, here to show what it costs.
    """

    most: int = 100

    @property
    def bits(self) -> int:
        """How many bits a column's number has."""
        return (self.most - 1).bit_length()

    def counts(self, texts: list[str]) -> tuple[Array, Array, Array]:
        """Return row, column and count for each frequent word that a text holds, sorted by row."""
        import numpy as np

        words = [Counter(_WORD.findall(text[:LONGEST].lower())) for text in texts]
        total: Counter[str] = Counter()
        for each in words:
            total.update(each)
        columns = {word: i for i, word in enumerate(sorted(word for word, _ in total.most_common(self.most)))}
        cells = [(row, columns[w], n) for row, each in enumerate(words) for w, n in each.items() if w in columns]
        table = np.array(sorted(cells), dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def inverse_frequencies(buckets: Array, size: int, n: int) -> Array:
    """Return how rare each bucket is among n texts: ln((1 + n) / (1 + df)) + 1."""
    import numpy as np

    return np.log((1 + n) / (1 + np.bincount(buckets, minlength=size))) + 1


def weigh(rows: Array, buckets: Array, counts: Array, rarity: Array, n: int) -> Array:
    """Return TF-IDF values: (1 + ln count) × rarity, each row scaled to length 1."""
    import numpy as np

    values = (1 + np.log(counts)) * rarity[buckets]
    length = np.sqrt(np.bincount(rows, weights=values**2, minlength=n))
    return np.asarray(values / np.where(length > 0, length, 1)[rows])


def _codes(texts: list[str]) -> tuple[Array, Array]:
    """Return the code points of all texts, lower case, single spaces around words, and the row of each."""
    import numpy as np

    folded = [f" {_GAP.sub(' ', text[:LONGEST].lower()).strip()} " for text in texts]
    codes = np.frombuffer("".join(folded).encode("utf-32-le", "replace"), dtype=np.uint32)
    return codes, np.repeat(np.arange(len(texts)), [len(text) for text in folded])


def _grams(hashes: Array, rows: Array, n: int) -> tuple[Array, Array]:
    """Return a hash for each run of n neighbours in one row, and its row."""
    import numpy as np

    if len(hashes) < n:
        return hashes[:0], rows[:0]
    last = len(hashes) - n + 1
    total = np.zeros(last, dtype=np.uint64)
    for k in range(n):
        total = total * np.uint64(_STEP) + hashes[k : k + last]
    same = rows[:last] == rows[n - 1 :]
    return total[same], rows[:last][same]


def _words(mixed: Array, codes: Array, rows: Array) -> tuple[Array, Array]:
    """Return a hash for each word, and its row. A word is a run of anything but spaces."""
    import numpy as np

    inside = codes != ord(" ")
    starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    if not len(starts):
        return mixed[:0], rows[:0]
    # Every folded text starts with a space, so the first word never starts at 0.
    place = np.arange(len(codes)) - np.repeat(
        np.append(0, starts), np.diff(np.concatenate([[0], starts, [len(codes)]]))
    )
    spread = np.where(inside, mixed * _mix(place.astype(np.uint64) + np.uint64(7)), np.uint64(0))
    return np.add.reduceat(spread, starts), rows[starts]


def _mix(values: Array) -> Array:
    """Return 64-bit numbers whose every bit depends on all bits of the values."""
    import numpy as np

    with np.errstate(over="ignore"):
        mixed = values * np.uint64(_ODD)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


BATCH = 1000
ARRAYS = "weights.npz"


@dataclass(frozen=True)
class Tfidf:
    """Scores by weights for pieces of the text. `strength` is the inverse of the regularisation (sklearn's C)."""

    questions: tuple[Question, ...]
    pieces: NgramHasher = field(default_factory=NgramHasher)
    strength: float = 4.0
    name: str = "tfidf"
    version: str = "unfitted"
    rarity_: Any = None
    weights_: Mapping[str, Any] = field(default_factory=dict)
    offsets_: Mapping[str, Any] = field(default_factory=dict)
    abilities: Abilities = PLAIN

    def fit(self, posts: pl.DataFrame, *, seed: int = 0, weights: Array | None = None) -> Tfidf:
        """Return a fitted scorer for the questions that the posts have answers to.

        Each label counts alike, however rare; `weights`, one number a post, take the place of that rule. They need
        scikit-learn.
        """
        import numpy as np

        texts = posts["text"].fill_null("").to_list()
        rows, buckets, counts = self.pieces.counts(texts)
        rarity = inverse_frequencies(buckets, 2**self.pieces.bits, len(texts)).astype(np.float16).astype(np.float64)
        values = weigh(rows, buckets, counts, rarity, len(texts))
        table = _table(rows, buckets, values, (len(texts), 2**self.pieces.bits))
        learnt, offsets = {}, {}
        for question, kept, gold in targets(self.questions, posts):
            regression = Regression(self.strength, seed, None if weights is None else weights[kept])
            each, offset = _regressed(question, table[kept], gold, regression)
            # Rounded as a folder keeps them: a detector scores alike before and after it is saved.
            learnt[question.name] = each.astype(np.float16).astype(np.float32)
            offsets[question.name] = offset.astype(np.float32)
        fitted = replace(
            self,
            questions=tuple(question for question in self.questions if question.name in learnt),
            rarity_=rarity,
            weights_=learnt,
            offsets_=offsets,
            abilities=replace(self.abilities, learnt=keep_learnt(texts)),
        )
        return replace(fitted, version=folders.saved_version(fitted.save))

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the regressions' probabilities."""
        import numpy as np

        if self.rarity_ is None:
            raise UserError(f"{self.name} has learnt nothing yet. Give it a file, {self.name}:FILE, or train it.")
        texts = posts["text"].fill_null("").to_list()
        parts = [self._logits(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)] or [self._logits([])]
        blocks = {
            question.name: _probabilities(question, np.concatenate([part[question.name] for part in parts]))
            for question in self.questions
        }
        return Scores(self.questions, blocks)

    def save(self, folder: Path) -> None:
        """Write the scorer as a model folder: arrays without pickles, and the manifest."""
        import numpy as np

        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"rarity": self.rarity_.astype(np.float16)}
        for question in self.questions:
            arrays[f"weights.{question.name}"] = self.weights_[question.name].astype(np.float16)
            arrays[f"offsets.{question.name}"] = self.offsets_[question.name].astype(np.float32)
        np.savez_compressed(folder / ARRAYS, allow_pickle=False, **arrays)
        save_learnt(self.abilities.learnt, folder)
        settings = {"pieces": asdict(self.pieces), "strength": self.strength}
        folders.write(folder, folders.Manifest("tfidf", self.name, self.questions, settings=settings))

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> Tfidf:
        """Return the scorer that `save` wrote."""
        import numpy as np

        with open_arrays(folder / ARRAYS, "this model's weights") as arrays:
            rarity = arrays["rarity"].astype(np.float64)
            weights = {q.name: arrays[f"weights.{q.name}"].astype(np.float32) for q in manifest.questions}
            offsets = {q.name: arrays[f"offsets.{q.name}"] for q in manifest.questions}
        pieces = manifest.settings["pieces"]
        cut = NgramHasher(tuple(pieces["characters"]), tuple(pieces["words"]), int(pieces["bits"]))
        strength = float(manifest.settings["strength"])
        learnt = (rarity, weights, offsets, folders.abilities(folder, manifest))
        return cls(manifest.questions, cut, strength, manifest.name, manifest.version, *learnt)

    def _logits(self, texts: list[str]) -> dict[str, Array]:
        import numpy as np

        rows, buckets, counts = self.pieces.counts(texts)
        values = weigh(rows, buckets, counts, self.rarity_, len(texts))
        logits = {}
        for name, weights in self.weights_.items():
            columns = [np.bincount(rows, values * weights[buckets, c], len(texts)) for c in range(weights.shape[1])]
            logits[name] = np.stack(columns, axis=1) + self.offsets_[name]
        return logits


def tfidf(asked: ModelName) -> Tfidf:
    """Return the scorer, fitted on a file where one is named."""
    if not asked.argument:
        return Tfidf(asked.questions(), name=asked.name)
    questions, posts = asked.labelled_posts()
    return Tfidf(questions, name=asked.name).fit(posts, seed=0)


def sparse_matrix(rows: Array, buckets: Array, values: Array, shape: tuple[int, int]) -> Any:
    """Return the table as scipy's compressed rows."""
    from scipy.sparse import csr_matrix

    return csr_matrix((values, (rows, buckets)), shape=shape)


def _table(rows: Array, buckets: Array, values: Array, shape: tuple[int, int]) -> Any:
    """Return the table that the regression takes: scipy's, or our own where there is no scikit-learn."""
    if find_spec("sklearn") is not None:
        return sparse_matrix(rows, buckets, values, shape)
    from davy.detectors.logistic import SparseTable

    return SparseTable(rows, buckets, values, shape)


@dataclass(frozen=True, slots=True)
class Regression:
    """How a regression is fitted: sklearn's C, its seed, and the weight of each post; None: each label counts alike."""

    strength: float
    seed: int
    weights: Array | None = None


def _regressed(question: Question, table: Any, gold: Array, regression: Regression) -> tuple[Array, Array]:
    """Return weights (bucket × column) and offsets; two labels share one column, the log-odds of the second."""
    import numpy as np

    if question.multilabel:
        columns = [_binary(table, gold[:, i], regression) for i in range(gold.shape[1])]
        return np.stack([c[0] for c in columns], axis=1), np.array([c[1] for c in columns])
    labels = gold.argmax(axis=1)
    if gold.shape[1] == 2:
        weights, offset = _binary(table, labels, regression)
        return weights[:, None], np.array([offset])
    weights = np.zeros((table.shape[1], gold.shape[1]), dtype=np.float32)
    offsets = np.full(gold.shape[1], -20.0)
    seen = np.unique(labels)
    if len(seen) == 1:
        offsets[seen] = 20.0
    elif len(seen) == 2:
        one, offset = _binary(table, (labels == seen[1]).astype(int), regression)
        weights[:, seen[1]], offsets[seen] = one, (0.0, offset)
    else:
        weights[:, seen], offsets[seen] = _fitted(table, labels, regression)
    return weights, offsets


def _binary(table: Any, yes: Array, regression: Regression) -> tuple[Array, float]:
    import numpy as np

    if yes.min() == yes.max():  # one answer only: nothing to learn but that
        return np.zeros(table.shape[1], dtype=np.float32), 20.0 if yes[0] else -20.0
    weights, offsets = _fitted(table, yes, regression)
    return weights[:, 0].astype(np.float32), float(offsets[0])


def _fitted(table: Any, labels: Array, regression: Regression) -> tuple[Array, Array]:
    """Return weights (bucket × column) and offsets, by scikit-learn where it is there; empty buckets cost nothing."""
    import numpy as np

    from davy.detectors.logistic import SparseTable, fit_logistic

    if isinstance(table, SparseTable):
        used, places = np.unique(table.indices, return_inverse=True)
        few = SparseTable(table.rows, places, table.values, (table.shape[0], max(1, len(used))))
        learnt, offsets = fit_logistic(few, labels, regression.strength)
        weights = np.zeros((table.shape[1], learnt.shape[1]), dtype=np.float32)
        weights[used] = learnt[: len(used)]
        return weights, offsets
    from sklearn.linear_model import LogisticRegression

    used = np.unique(np.append(table.indices, 0))  # one at least, for posts that are all empty
    # Each label counts alike, however rare: on EDOS dev this took macro-F1 from 0.71 to 0.76.
    balance = "balanced" if regression.weights is None else None
    model = LogisticRegression(C=regression.strength, max_iter=1000, class_weight=balance, random_state=regression.seed)
    model.fit(table[:, used], labels, sample_weight=regression.weights)
    weights = np.zeros((table.shape[1], len(model.coef_)), dtype=np.float32)
    weights[used] = model.coef_.T
    return weights, model.intercept_


def _probabilities(question: Question, logits: Array) -> Array:
    import numpy as np

    if question.multilabel or len(question.labels) == 2:
        yes = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
        return yes if question.multilabel else np.concatenate([1 - yes, yes], axis=1)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
