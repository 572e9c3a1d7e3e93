"""Anything that scores posts: a baseline, a trained model, an HTTP endpoint, a keyword list.

A scorer gets a polars frame with a `text` column (and `lang`, `image` where it
wants them) and returns `Scores`: for each of its questions one row of
probabilities a post, in the order of the question's labels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from davy.core.answers import SEPARATOR
from davy.core.errors import UserError
from davy.core.scheme import Question

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]
    Picks = tuple[Array, list[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a scorer can do beyond `score`. The defaults are those of a scorer that does nothing special."""

    batch_size: int = 256
    """How many posts it is best to ask for at once."""
    cascaded: bool = False
    """Whether a screen may clear posts without reading them: scores then say which were read."""
    cascade: Callable[[], Scorer] | None = None
    """Returns the same scorer with its screen in front; None where it has no screen."""
    one_by_one: Callable[[int | None], Scorer] | None = None
    """Returns, for so many cores, the same scorer with no post moving another's score; None where none ever does."""
    language_of: Callable[[str], str] | None = None
    """Returns the language whose scorer reads a text; None where posts are not routed by language."""
    questions_in: Callable[[str], tuple[Question, ...]] | None = None
    """Returns the questions that are put to posts in a language; None where they are the same in all."""
    explains: bool = True
    """Whether scores depend on the words of a text, so that leaving words out explains them."""
    images: bool = False
    """Whether it looks at a post's image; else it reads the text alone."""
    with_images: Callable[[Callable[[str], Any]], Scorer] | None = None
    """Returns the same scorer with another source of pictures; None where it looks at none."""
    folder: Path | None = None
    """Where it was loaded from; None where it has no folder."""
    data_hash: str | None = None
    """The hash of the posts that it learnt from, where its folder says so."""
    learnt: Callable[[Sequence[str | None]], Array] | None = None
    """Returns for each text whether it learnt from it; None where it does not know."""
    calibrated: Callable[[Sequence[str | None]], Array] | None = None
    """Returns for each text whether its temperatures or thresholds were set on it; None where it does not know."""
    languages: tuple[str, ...] | None = None
    """The languages that it was made for; None where it does not say."""
    refuses_languages: bool = False
    """Whether it leaves posts in other languages than its own unjudged, and says so."""
    abstains: bool = False
    """Whether it says of which answers it is unsure."""
    heads_apart: Callable[[], Scorer] | None = None
    """Returns the same scorer with each question answered by itself; None where answers are not decoded together."""
    parallel: bool = False
    """Whether several threads may ask it at once."""
    recalibrated: Callable[[Mapping[str, float], Mapping[str, float], Mapping[str, float]], Scorer] | None = None
    """Returns the same scorer with temperatures, thresholds and shifts; None where it is the same to move answers."""
    at_prevalence: Callable[[float | Mapping[str, float]], Scorer] | None = None
    """Returns the same scorer for posts of which so many are a yes; None where it can't."""


PLAIN = Abilities()


@runtime_checkable
class Scorer(Protocol):
    """What every stage may ask of a detector. `version` changes whenever the same text could score differently."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def questions(self) -> tuple[Question, ...]: ...

    @property
    def abilities(self) -> Abilities: ...

    def score(self, posts: pl.DataFrame) -> Scores: ...


@runtime_checkable
class TrainableScorer(Scorer, Protocol):
    """A scorer that learns from posts with `Q.gold` columns and can be written to a folder."""

    def fit(self, posts: pl.DataFrame, *, seed: int) -> TrainableScorer: ...

    def save(self, folder: Path) -> None: ...


class NotANumber(UserError):
    """A scorer gave NaN or infinity for one post's answer to one question. `row` counts from 0."""

    def __init__(self, question: str, row: int) -> None:
        super().__init__(f"The model gave no number for {question!r} (post {row + 1}). Use another model.", status=502)
        self.question = question
        self.row = row


@dataclass(frozen=True, slots=True)
class Scores:
    """Probabilities for n posts: `probabilities[q]` has shape (n, labels of q).

    Rows of a `one` or `scale` question sum to 1; those of a `many` question need not.
    `thresholds[q]` is where a yes/no question says yes and where a `many` label is
    chosen (0.5 where absent): one for all posts, or an array with one a post. `read` is
    False where a cascade cleared the post without reading it to the end; such posts have
    no answer to child questions. `answered[q]` is False where the question was not put to
    the post (a German detector and an English taxonomy), whatever its probabilities hold.
    `unsure[q]` is True where the answer lies in the detector's band of doubt. `unsupported`
    has a language code for each post that was not judged because of its language, else "".
    Work is done once for each distinct answer, so 100,000 posts cost milliseconds.
    """

    questions: tuple[Question, ...]
    probabilities: Mapping[str, Array]
    thresholds: Mapping[str, float | Array] = field(default_factory=dict)
    read: Array | None = None
    answered: Mapping[str, Array] = field(default_factory=dict)
    unsure: Mapping[str, Array] = field(default_factory=dict)
    unsupported: Array | None = None

    def __post_init__(self) -> None:
        import numpy as np

        for question in self.questions:
            block = self.probabilities[question.name]
            if block.ndim != 2 or block.shape[1] != len(question.labels):
                raise ValueError(f"{question.name}: shape {block.shape} for {len(question.labels)} labels")
            if len(block) != len(self):
                raise ValueError(f"{question.name}: {len(block)} rows, another question has {len(self)}")
            finite = np.isfinite(block).all(axis=1)
            if not finite.all():
                raise NotANumber(question.name, int(np.argmin(finite)))

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

    def take(self, rows: Array | slice) -> Scores:
        """Return the scores of the posts at these positions, in this order."""
        return replace(
            self,
            probabilities={name: block[rows] for name, block in self.probabilities.items()},
            thresholds={name: it if isinstance(it, float) else it[rows] for name, it in self.thresholds.items()},
            read=None if self.read is None else self.read[rows],
            answered={name: mask[rows] for name, mask in self.answered.items()},
            unsure={name: mask[rows] for name, mask in self.unsure.items()},
            unsupported=None if self.unsupported is None else self.unsupported[rows],
        )

    @staticmethod
    def concat(parts: Sequence[Scores]) -> Scores:
        """Return the scores of several calls to one scorer as one, in their order."""
        import numpy as np

        if len(parts) == 1:
            return parts[0]

        def joined(values: list[Any]) -> Array:
            return np.concatenate([np.broadcast_to(it, len(p)) for p, it in zip(parts, values, strict=True)])

        first = parts[0]
        named = {name for part in parts for name in part.answered}
        doubted = {name for part in parts for name in part.unsure}
        varying = {name for part in parts for name, it in part.thresholds.items() if not isinstance(it, float)}
        thresholds = {name: joined([p.thresholds.get(name, 0.5) for p in parts]) for name in varying}
        return replace(
            first,
            probabilities={n: np.concatenate([p.probabilities[n] for p in parts]) for n in first.probabilities},
            thresholds={**first.thresholds, **thresholds},
            read=None if all(p.read is None for p in parts) else joined([_or_true(p.read) for p in parts]),
            answered={name: joined([_or_true(p.answered.get(name)) for p in parts]) for name in named},
            unsure={name: joined([p.unsure.get(name, False) for p in parts]) for name in doubted},
            unsupported=None if all(p.unsupported is None for p in parts) else joined([p.languages() for p in parts]),
        )

    def chosen(self, name: str) -> list[tuple[str, ...]]:
        """Return the labels chosen for each post, ignoring the hierarchy; empty where there is no answer."""
        codes, answers = self._picks(self.question(name))
        return [answers[code] for code in codes.tolist()]

    def verdicts(self) -> list[str | None]:
        """Return each post's path through the hierarchy, such as `sexist > derogation > descriptive attacks`.

        A label that belongs under certain labels of the parent is chosen only beneath those. Several
        paths are joined by `; `. A post to which every yes/no root says no gets `none`; one that has no
        answer to any question (a language model that refused it) has no verdict.
        """
        import numpy as np

        if not len(self):
            return []
        picks: dict[str, Picks] = {}
        for question in self.questions:
            above = picks.get(question.under[0]) if question.under else None
            picks[question.name] = self._picks(question, above)
        table = np.stack([picks[question.name][0] for question in self.questions], axis=1)
        distinct, which = _distinct(table)
        names = [question.name for question in self.questions]
        paths = [
            verdict_path(self.questions, {name: picks[name][1][code] for name, code in zip(names, row, strict=True)})
            for row in distinct.tolist()
        ]
        silent = self._silent()
        return [None if quiet else paths[i] for i, quiet in zip(which.tolist(), silent.tolist(), strict=True)]

    def _silent(self) -> Array:
        """Return for each post whether no question has an answer."""
        import numpy as np

        silent: Array = np.ones(len(self), dtype=bool)
        for question in self.questions:
            answered = self.has_answer(question)
            silent &= False if answered is None else ~answered
        return silent

    def columns(self) -> dict[str, list[Any]]:
        """Return the output columns: `Q`, `Q.label` and `Q.probabilities` for each question, then `verdict`.

        `Q` is the probability of yes; a question of other labels has all their probabilities as JSON. Null where there
        is no answer. `unsure` names the questions that were answered in doubt, where the detector
        says so; `unsupported_language` is the language of a post that was not judged because of it; with a cascade
        `cleared` marks what it cleared.
        """
        columns: dict[str, list[Any]] = {}
        for question in self.questions:
            yes = self.positive(question.name)
            if yes is not None:
                columns[question.name] = self._where_answered(question, yes.astype("float64").round(6).tolist())
            codes, answers = self._picks(question)
            labels = [SEPARATOR.join(answer) for answer in answers]
            chosen = [labels[code] for code in codes.tolist()]
            columns[f"{question.name}.label"] = self._where_answered(question, chosen)
            if question.no is None:
                columns[f"{question.name}.probabilities"] = self._probabilities_json(question)
        columns["verdict"] = self.verdicts()
        if self.unsure:
            columns["unsure"] = [SEPARATOR.join(names) or None for names in self.doubts()]
        if self.unsupported is not None:
            columns["unsupported_language"] = [code or None for code in self.unsupported.tolist()]
        if self.read is not None:
            columns["cleared"] = (~self.read).tolist()
        return columns

    def _probabilities_json(self, question: Question) -> list[str | None]:
        """Return for each post the probability of every label as a JSON object; null where there is no answer."""
        keys = [json.dumps(name, ensure_ascii=False) for name in question.label_names]
        mask = self.has_answer(question)
        rows = self.probabilities[question.name].astype("float64").round(6)
        cells: list[str | None] = [None] * len(rows)
        for row in range(len(rows)) if mask is None else mask.nonzero()[0].tolist():
            pairs = zip(keys, rows[row].tolist(), strict=True)
            cells[row] = "{" + ", ".join(f"{key}: {number}" for key, number in pairs) + "}"
        return cells

    def doubts(self) -> list[tuple[str, ...]]:
        """Return for each post the questions whose answer is in doubt, among those that were answered."""
        doubted: list[tuple[str, ...]] = [()] * len(self)
        for question in self.questions:
            mask = self.unsure.get(question.name)
            if mask is None:
                continue
            answered = self.has_answer(question)
            for row in (mask if answered is None else mask & answered).nonzero()[0].tolist():
                doubted[row] = (*doubted[row], question.name)
        return doubted

    def languages(self) -> Array:
        """Return for each post the unsupported language that it is in, "" where it was judged."""
        import numpy as np

        return np.full(len(self), "", dtype=object) if self.unsupported is None else self.unsupported

    def has_answer(self, question: Question) -> Array | None:
        """Return for each post whether the question has an answer, or None where all have."""
        mask = self.answered.get(question.name)
        if self.read is None or not question.under:
            return mask
        return self.read if mask is None else self.read & mask

    def without_answers(self, rows: Array) -> Scores:
        """Return the scores with no answer to any question for the posts that are marked."""
        if not rows.any():
            return self
        answered = {}
        for question in self.questions:
            mask = self.answered.get(question.name)
            answered[question.name] = ~rows if mask is None else mask & ~rows
        return replace(self, answered=answered)

    def _where_answered(self, question: Question, values: list[Any]) -> list[Any]:
        mask = self.has_answer(question)
        if mask is None:
            return values
        return [value if answered else None for value, answered in zip(values, mask.tolist(), strict=True)]

    def _picks(self, question: Question, above: Picks | None = None) -> Picks:
        """Return a code for each post and the answer that each code stands for.

        With `above`, the parent's picks, labels that don't belong under the parent's answer are left out.
        """
        import numpy as np

        answered = self.has_answer(question)
        if answered is not None and not answered.any():
            return np.zeros(len(self), dtype=np.int64), [()]
        block = self.probabilities[question.name]
        if above is not None and any(label.under for label in question.labels):
            allowed = np.array([[label.fits_under(answer) for label in question.labels] for answer in above[1]])
            block = np.where(allowed[above[0]], block, -1.0)
        codes, answers = _choose(question, block, self.thresholds.get(question.name, 0.5))
        answers.append(())
        nothing = len(answers) - 1
        codes = np.where(block.max(axis=1) < 0, nothing, codes) if len(block) else codes
        return (codes if answered is None else np.where(answered, codes, nothing)), answers


def label_advice(scorer: Scorer, question: str) -> str:
    """Return how to say which label of a classifier answers a question; nothing for scorers of other names."""
    own = next((known for known in scorer.questions if known.positive is None), None)
    if own is None or not scorer.name.startswith("hf:"):
        return ""
    name = scorer.name.partition("@")[0]
    labels = ", ".join(own.label_names[:12])
    return f". Say which of its labels ({labels}) is a yes: {name}@{question}={own.label_names[-1]}"


def _or_true(mask: Array | None) -> Array | bool:
    return True if mask is None else mask


def _choose(question: Question, block: Array, threshold: float | Array) -> Picks:
    """Return codes and answers for a block of probabilities, one row a post."""
    import numpy as np

    names = question.label_names
    if question.multilabel:
        distinct, codes = _distinct(block >= np.reshape(threshold, (-1, 1)))
        answers = [tuple(name for name, on in zip(names, row, strict=True) if on) for row in distinct.tolist()]
        return codes, answers
    if question.positive is not None and len(names) == 2:
        yes = names.index(question.positive)
        return np.where(block[:, yes] >= threshold, yes, 1 - yes), [(name,) for name in names]
    return block.argmax(axis=1), [(name,) for name in names]


def _distinct(table: Array) -> tuple[Array, Array]:
    """Return the distinct rows of a table and which of them each row is; numpy's own way sorts, 20 times slower."""
    import numpy as np

    rows = np.ascontiguousarray(table)
    width = rows.shape[1] * rows.itemsize
    places: dict[bytes, int] = {}
    keys: list[Any] = rows.view(np.dtype((np.void, width))).reshape(-1).tolist()
    which = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    return np.frombuffer(b"".join(places), dtype=rows.dtype).reshape(-1, rows.shape[1]), which


def verdict_path(questions: tuple[Question, ...], answers: Mapping[str, tuple[str, ...]]) -> str:
    """Return one post's paths as text; `answers` has the labels picked for each question."""

    def below(question: Question) -> list[str]:
        labels = answers[question.name]
        if not labels or (question.positive is not None and question.positive not in labels):
            return []
        children = [q for q in questions if q.under and q.under[0] == question.name and q.applies_under(labels)]
        head = SEPARATOR.join(labels)
        return [f"{head} > {path}" for child in children for path in below(child)] or [head]

    roots = [q for q in questions if not q.under or q.under[0] not in answers]
    return "; ".join(path for root in roots for path in below(root)) or "none"
