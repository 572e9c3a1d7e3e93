"""The baselines that every detector must beat: the most frequent answer, and chance.

Posts in, scores out. Neither reads what a post says; chance depends on the text
only so that the same text always gets the same score.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.gold import gold_questions
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scores
from davy.detectors import folder as folders
from davy.detectors.model_name import ModelName

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

WORDLESS = Abilities(explains=False)


@dataclass(frozen=True)
class Majority:
    """Gives every post the same answers. Unfitted, that is no to yes/no questions and the first label to others."""

    questions: tuple[Question, ...]
    answers_: Mapping[str, str] | None = None
    name: str = "majority"
    abilities: Abilities = WORDLESS

    @property
    def version(self) -> str:
        """A hash of the questions and the answers."""
        return content_hash(self.questions, self._answers())

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return certainty in the same answers for every post."""
        import numpy as np

        answers = self._answers()
        blocks = {}
        for question in self.questions:
            chosen = answers[question.name].split("|")
            row = np.array([float(name in chosen) for name in question.label_names])
            blocks[question.name] = np.tile(row, (len(posts), 1))
        return Scores(self.questions, blocks)

    def fit(self, posts: pl.DataFrame, *, seed: int = 0) -> Majority:  # noqa: ARG002
        """Return a baseline that gives the most frequent `Q.gold`; ties go to the label that comes first."""
        answers = {}
        for question in gold_questions(self.questions, posts):
            counts = Counter(posts[f"{question.name}.gold"].drop_nulls().to_list())
            allowed = set(question.label_names)
            known = Counter({gold: n for gold, n in counts.items() if set(gold.split("|")) <= allowed})
            if known:
                order = list(question.label_names)
                answers[question.name] = min(known, key=lambda gold: (-known[gold], order.index(gold.split("|")[0])))
        kept = tuple(question for question in self.questions if question.name in answers)
        return replace(self, questions=kept, answers_=answers)

    def save(self, folder: Path) -> None:
        """Write the baseline as a model folder."""
        folder.mkdir(parents=True, exist_ok=True)
        manifest = folders.Manifest("majority", self.name, self.questions, settings={"answers": dict(self._answers())})
        folders.write(folder, manifest)

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> Majority:
        """Return the baseline that `save` wrote."""
        abilities = replace(folders.abilities(folder, manifest), explains=False)
        return cls(manifest.questions, dict(manifest.settings["answers"]), manifest.name, abilities)

    def _answers(self) -> Mapping[str, str]:
        return self.answers_ or {question.name: _default(question) for question in self.questions}


@dataclass(frozen=True)
class Uniform:
    """Gives every text chance scores, drawn evenly; a text's scores depend on the text and the seed alone."""

    questions: tuple[Question, ...]
    seed: int = 0
    name: str = "uniform"
    abilities: Abilities = WORDLESS

    @property
    def version(self) -> str:
        """A hash of the questions and the seed."""
        return content_hash(self.questions, {"seed": self.seed})

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return chance scores: even over (0, 1) for a label of a `many` question, over all mixtures for others."""
        import numpy as np

        key = str(self.seed).encode()
        digests = [
            hashlib.blake2b((text or "").encode(), digest_size=8, key=key).digest() for text in posts["text"].to_list()
        ]
        states = np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(-1, 1)
        blocks, drawn = {}, 0
        for question in self.questions:
            steps = np.arange(drawn + 1, drawn + 1 + len(question.labels), dtype=np.uint64)
            drawn += len(question.labels)
            even = _even(states, steps)
            if not question.multilabel:
                # Exponential waits, normalised, fall evenly on all mixtures of the labels.
                waits = -np.log(even)
                even = waits / waits.sum(axis=1, keepdims=True)
            blocks[question.name] = even
        return Scores(self.questions, blocks)


def majority(asked: ModelName) -> Majority:
    """Return `majority`, fitted on a file where one is named."""
    if not asked.argument:
        return Majority(asked.questions(), name=asked.name)
    questions, posts = asked.labelled_posts()
    fitted = Majority(questions, name=asked.name).fit(posts, seed=0)
    return Majority(fitted.questions, fitted.answers_, asked.name)


def uniform(asked: ModelName) -> Uniform:
    """Return `uniform`, with the seed that the name gives."""
    try:
        seed = int(asked.argument or 0)
    except ValueError:
        raise UserError(f"{asked.name!r} needs a whole number as its seed, such as uniform:7.") from None
    return Uniform(asked.questions(), seed, asked.name)


def content_hash(questions: tuple[Question, ...], content: Mapping[str, Any]) -> str:
    """Return a short hash that changes whenever the questions or the content do."""
    record = {"questions": [folders.question_to_json(question) for question in questions], "content": dict(content)}
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:12]


def _default(question: Question) -> str:
    if question.multilabel:
        return ""
    return next(name for name in question.label_names if name != question.positive)


def _even(states: Array, steps: Array) -> Array:
    """Return numbers in (0, 1), one for each state and step (the SplitMix64 generator, reached at any step)."""
    import numpy as np

    with np.errstate(over="ignore"):
        mixed = states + steps * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53
