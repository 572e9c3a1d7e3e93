"""Anything that scores posts: a baseline, a trained model, an HTTP endpoint, a keyword list.

A scorer gets a polars frame with a `text` column (and `lang`, `image` where it
wants them) and returns `Scores`: for each of its questions one row of
probabilities a post, in the order of the question's labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from davy.core.scheme import Question

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


@runtime_checkable
class Scorer(Protocol):
    """What every stage may ask of a detector. `version` changes whenever the same text could score differently."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def questions(self) -> tuple[Question, ...]: ...

    def score(self, posts: pl.DataFrame) -> Scores: ...


@runtime_checkable
class TrainableScorer(Scorer, Protocol):
    """A scorer that learns from posts with `Q.gold` columns and can be written to a folder."""

    def fit(self, posts: pl.DataFrame, *, seed: int) -> TrainableScorer: ...

    def save(self, folder: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class Scores:
    """Probabilities for n posts: `probabilities[q]` has shape (n, labels of q).

    Rows of a `one` or `scale` question sum to 1; those of a `many` question need not.
    `thresholds[q]` is where a yes/no question says yes and where a `many` label is
    chosen (0.5 where absent). `read` is False where a cascade's screen cleared the
    post without the encoder; such posts have no answer to child questions.
    """

    questions: tuple[Question, ...]
    probabilities: Mapping[str, Array]
    thresholds: Mapping[str, float] = field(default_factory=dict)
    read: Array | None = None

    def __post_init__(self) -> None:
        import numpy as np

        for question in self.questions:
            block = self.probabilities[question.name]
            if block.ndim != 2 or block.shape[1] != len(question.labels):
                raise ValueError(f"{question.name}: shape {block.shape} for {len(question.labels)} labels")
            if not np.isfinite(block).all():
                raise ValueError(f"{question.name}: a score is not a number")

    def __len__(self) -> int:
        return len(next(iter(self.probabilities.values()))) if self.probabilities else 0

    def question(self, name: str) -> Question:
        """Return the question called `name`."""
        for question in self.questions:
            if question.name == name:
                return question
        raise KeyError(name)

    def positive(self, name: str) -> Array | None:
        """Return the probability of yes for each post, or None where the question is not yes/no."""
        question = self.question(name)
        if question.positive is None:
            return None
        column: Array = self.probabilities[name][:, question.label_names.index(question.positive)]
        return column

    def chosen(self, name: str) -> list[tuple[str, ...]]:
        """Return the labels chosen for each post, ignoring the hierarchy; empty where the post was not read."""
        question = self.question(name)
        block = self.probabilities[name]
        names = question.label_names
        threshold = self.thresholds.get(name, 0.5)
        yes = self.positive(name)
        picks: list[tuple[str, ...]]
        if question.kind == "many":
            picks = [tuple(n for n, p in zip(names, row, strict=True) if p >= threshold) for row in block]
        elif yes is not None and question.positive is not None and len(names) == 2:
            other = next(n for n in names if n != question.positive)
            picks = [(question.positive,) if p >= threshold else (other,) for p in yes]
        else:
            picks = [(names[i],) for i in block.argmax(axis=1)]
        if self.read is not None and question.under:
            picks = [pick if read else () for pick, read in zip(picks, self.read, strict=True)]
        return picks

    def verdicts(self) -> list[str]:
        """Return each post's path through the hierarchy, such as `sexist > derogation > descriptive attacks`.

        Several paths are joined by `; `. A post to which every yes/no root says no gets `none`.
        """
        chosen = {q.name: self.chosen(q.name) for q in self.questions}
        children: dict[str, list[Question]] = {}
        known = {q.name for q in self.questions}
        roots = [q for q in self.questions if not q.under or q.under[0] not in known]
        for q in self.questions:
            if q.under and q.under[0] in known:
                children.setdefault(q.under[0], []).append(q)

        def paths(question: Question, row: int) -> list[str]:
            labels = chosen[question.name][row]
            if not labels or (question.positive is not None and question.positive not in labels):
                return []
            deeper = [
                path
                for child in children.get(question.name, [])
                if child.under and set(child.under[1]) & set(labels)
                for path in paths(child, row)
            ]
            head = "|".join(labels)
            return [f"{head} > {path}" for path in deeper] or [head]

        return ["; ".join(path for root in roots for path in paths(root, i)) or "none" for i in range(len(self))]

    def columns(self) -> dict[str, list[Any]]:
        """Return the output columns: `Q` and `Q.label` for each question, then `verdict`."""
        columns: dict[str, list[Any]] = {}
        for question in self.questions:
            yes = self.positive(question.name)
            if yes is not None:
                columns[question.name] = [round(float(p), 6) for p in yes]
            columns[f"{question.name}.label"] = ["|".join(labels) for labels in self.chosen(question.name)]
        columns["verdict"] = self.verdicts()
        return columns
