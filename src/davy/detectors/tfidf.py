"""TF-IDF of characters and words with logistic regression: the strong plain baseline.

Posts with `Q.gold` in, a scorer out; one regression a question. Training takes
scikit-learn where it is installed, else our own solver, which finds the same
minimum more slowly; scoring needs only numpy.
"""

from __future__ import annotations

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
from davy.detectors.ngrams import NgramHasher, inverse_frequencies, weigh
from davy.detectors.training_text_index import keep_learnt, save_learnt
from davy.files.arrays import open_arrays

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

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

    def fit(self, posts: pl.DataFrame, *, seed: int = 0) -> Tfidf:
        """Return a fitted scorer for the questions that the posts have answers to."""
        import numpy as np

        texts = posts["text"].fill_null("").to_list()
        rows, buckets, counts = self.pieces.counts(texts)
        rarity = inverse_frequencies(buckets, 2**self.pieces.bits, len(texts)).astype(np.float16).astype(np.float64)
        values = weigh(rows, buckets, counts, rarity, len(texts))
        table = _table(rows, buckets, values, (len(texts), 2**self.pieces.bits))
        weights, offsets = {}, {}
        for question, kept, gold in targets(self.questions, posts):
            each, offset = _regressed(question, table[kept], gold, self.strength, seed)
            # Rounded as a folder keeps them: a detector scores alike before and after it is saved.
            weights[question.name] = each.astype(np.float16).astype(np.float32)
            offsets[question.name] = offset.astype(np.float32)
        fitted = replace(
            self,
            questions=tuple(question for question in self.questions if question.name in weights),
            rarity_=rarity,
            weights_=weights,
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
        found = {}
        for name, weights in self.weights_.items():
            columns = [np.bincount(rows, values * weights[buckets, c], len(texts)) for c in range(weights.shape[1])]
            found[name] = np.stack(columns, axis=1) + self.offsets_[name]
        return found


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


def _regressed(question: Question, table: Any, gold: Array, strength: float, seed: int) -> tuple[Array, Array]:
    """Return weights (bucket × column) and offsets; two labels share one column, the log-odds of the second."""
    import numpy as np

    if question.multilabel:
        columns = [_binary(table, gold[:, i], strength, seed) for i in range(gold.shape[1])]
        return np.stack([c[0] for c in columns], axis=1), np.array([c[1] for c in columns])
    labels = gold.argmax(axis=1)
    if gold.shape[1] == 2:
        weights, offset = _binary(table, labels, strength, seed)
        return weights[:, None], np.array([offset])
    weights = np.zeros((table.shape[1], gold.shape[1]), dtype=np.float32)
    offsets = np.full(gold.shape[1], -20.0)
    seen = np.unique(labels)
    if len(seen) == 1:
        offsets[seen] = 20.0
    elif len(seen) == 2:
        one, offset = _binary(table, (labels == seen[1]).astype(int), strength, seed)
        weights[:, seen[1]], offsets[seen] = one, (0.0, offset)
    else:
        weights[:, seen], offsets[seen] = _fitted(table, labels, strength, seed)
    return weights, offsets


def _binary(table: Any, yes: Array, strength: float, seed: int) -> tuple[Array, float]:
    import numpy as np

    if yes.min() == yes.max():  # one answer only: nothing to learn but that
        return np.zeros(table.shape[1], dtype=np.float32), 20.0 if yes[0] else -20.0
    weights, offsets = _fitted(table, yes, strength, seed)
    return weights[:, 0].astype(np.float32), float(offsets[0])


def _fitted(table: Any, labels: Array, strength: float, seed: int) -> tuple[Array, Array]:
    """Return weights (bucket × column) and offsets, by scikit-learn where it is there; empty buckets cost nothing."""
    import numpy as np

    from davy.detectors.logistic import SparseTable, fit_logistic

    if isinstance(table, SparseTable):
        used, places = np.unique(table.indices, return_inverse=True)
        few = SparseTable(table.rows, places, table.values, (table.shape[0], max(1, len(used))))
        learnt, offsets = fit_logistic(few, labels, strength)
        weights = np.zeros((table.shape[1], learnt.shape[1]), dtype=np.float32)
        weights[used] = learnt[: len(used)]
        return weights, offsets
    from sklearn.linear_model import LogisticRegression

    used = np.unique(np.append(table.indices, 0))  # one at least, for posts that are all empty
    # Each label counts alike, however rare: on EDOS dev this took macro-F1 from 0.71 to 0.76.
    model = LogisticRegression(C=strength, max_iter=1000, class_weight="balanced", random_state=seed)
    model.fit(table[:, used], labels)
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
