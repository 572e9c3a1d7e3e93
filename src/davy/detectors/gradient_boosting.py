"""TF-IDF with XGBoost: the tree baseline that the EDOS paper names.

Posts with `Q.gold` in, a scorer out; one booster a question, saved in XGBoost's
own JSON. Needs the extra `train`, for scoring too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.gold import targets
from davy.core.scheme import Question
from davy.core.scorer import PLAIN, Abilities, Scores
from davy.detectors import folder as folders
from davy.detectors.model_name import ModelName
from davy.detectors.tfidf import NgramHasher, NumberedWords, inverse_frequencies, sparse_matrix, weigh
from davy.detectors.training_text_index import keep_learnt, save_learnt
from davy.files.arrays import open_arrays

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

# Words alone, in fewer buckets: trees split on one piece at a time, and character n-grams drown them.
WORDS = NgramHasher(characters=(1, 0), words=(1, 2), bits=16)


@dataclass(frozen=True)
class GradientBoosting:
    """Scores by boosted trees over words. `trees` and `depth` are XGBoost's rounds and maximal depth."""

    questions: tuple[Question, ...]
    trees: int = 200
    depth: int = 6
    pieces: NgramHasher | NumberedWords = WORDS
    name: str = "xgboost"
    version: str = "unfitted"
    rarity_: Any = None
    boosters_: Mapping[str, Any] = field(default_factory=dict)
    abilities: Abilities = PLAIN
    balanced: bool = True
    """Whether each label counts alike, however rare, as in the linear baseline."""

    def fit(self, posts: pl.DataFrame, *, seed: int = 0) -> GradientBoosting:
        """Return a fitted scorer for the questions that the posts have answers to."""
        texts = posts["text"].fill_null("").to_list()
        rarity = inverse_frequencies(self.pieces.counts(texts)[1], 2**self.pieces.bits, len(texts))
        table = self._table(texts, rarity)
        boosters = {
            q.name: self._boosted(q, table[kept], gold, seed) for q, kept, gold in targets(self.questions, posts)
        }
        fitted = replace(
            self,
            questions=tuple(question for question in self.questions if question.name in boosters),
            rarity_=rarity,
            boosters_=boosters,
            abilities=replace(self.abilities, learnt=keep_learnt(texts)),
        )
        return replace(fitted, version=folders.saved_version(fitted.save))

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the boosters' probabilities."""
        import numpy as np
        import xgboost

        if self.rarity_ is None:
            raise UserError(f"{self.name} has learnt nothing yet. Give it a file, {self.name}:FILE, or train it.")
        texts = posts["text"].fill_null("").to_list()
        if not texts:
            return Scores(self.questions, {q.name: np.zeros((0, len(q.labels))) for q in self.questions})
        table = xgboost.DMatrix(self._table(texts, self.rarity_))
        blocks = {}
        for question in self.questions:
            block = self.boosters_[question.name].predict(table).astype(np.float64).reshape(len(texts), -1)
            blocks[question.name] = np.concatenate([1 - block, block], axis=1) if _binary(question) else block
        return Scores(self.questions, blocks)

    def save(self, folder: Path) -> None:
        """Write the scorer as a model folder: a JSON file a question, how rare each word is, and the manifest."""
        import numpy as np

        folder.mkdir(parents=True, exist_ok=True)
        for i, question in enumerate(self.questions):
            self.boosters_[question.name].save_model(folder / f"booster-{i}.json")
        np.savez_compressed(folder / "rarity.npz", allow_pickle=False, rarity=self.rarity_)
        save_learnt(self.abilities.learnt, folder)
        settings = {"trees": self.trees, "depth": self.depth, "pieces": asdict(self.pieces)}
        folders.write(folder, folders.Manifest("xgboost", self.name, self.questions, settings=settings))

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> GradientBoosting:
        """Return the scorer that `save` wrote."""
        import xgboost

        boosters = {}
        for i, question in enumerate(manifest.questions):
            boosters[question.name] = xgboost.Booster(model_file=folder / f"booster-{i}.json")
        with open_arrays(folder / "rarity.npz", "this model's weights") as arrays:
            rarity = arrays["rarity"]
        trees, depth = int(manifest.settings["trees"]), int(manifest.settings["depth"])
        cut = manifest.settings["pieces"]
        pieces = NgramHasher(tuple(cut["characters"]), tuple(cut["words"]), int(cut["bits"]))
        learnt = (rarity, boosters, folders.abilities(folder, manifest))
        return cls(manifest.questions, trees, depth, pieces, manifest.name, manifest.version, *learnt)

    def _table(self, texts: list[str], rarity: Array) -> Any:
        rows, buckets, counts = self.pieces.counts(texts)
        values = weigh(rows, buckets, counts, rarity, len(texts))
        return sparse_matrix(rows, buckets, values, (len(texts), 2**self.pieces.bits))

    def _boosted(self, question: Question, table: Any, gold: Array, seed: int) -> Any:
        import numpy as np
        import xgboost

        labels = gold if question.multilabel else gold.argmax(axis=1)
        settings: dict[str, Any] = {"max_depth": self.depth, "eta": 0.3, "seed": seed, "tree_method": "hist"}
        if question.multilabel or _binary(question):
            settings["objective"] = "binary:logistic"
        else:
            settings |= {"objective": "multi:softprob", "num_class": len(question.labels)}
        weights = None
        if not question.multilabel and self.balanced:
            counts = np.bincount(labels, minlength=len(question.labels))
            weights = (len(labels) / (np.maximum(counts, 1) * (counts > 0).sum()))[labels]
        return xgboost.train(settings, xgboost.DMatrix(table, labels, weight=weights), num_boost_round=self.trees)


def load_boosted(asked: ModelName) -> GradientBoosting:
    """Return the scorer, fitted on a file where one is named."""
    if not asked.argument:
        return GradientBoosting(asked.questions(), name=asked.name)
    questions, posts = asked.labelled_posts()
    return GradientBoosting(questions, name=asked.name).fit(posts, seed=0)


def _binary(question: Question) -> bool:
    return not question.multilabel and len(question.labels) == 2
