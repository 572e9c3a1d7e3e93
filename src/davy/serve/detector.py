"""One detector behind the pages: a scorer, its queue, and its answers as a person reads them.

Texts in; for programs the records of `davy.score`, for people an `AnswerView` a
question with its label, its probability and whether it was asked at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from davy.core.scheme import Question, applicable_questions
from davy.core.scorer import Scorer, Scores
from davy.score.result import model_of, repair_text
from davy.serve.batching import Batcher


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One question's answer: `value` is the probability of `of`, None where there is no single one to show."""

    title: str
    labels: tuple[str, ...]
    of: str = ""
    value: float | None = None
    threshold: float | None = None
    yes: bool = False


class Detector:
    """Scores texts through a micro-batching queue of its own, under a name and with thresholds that an admin gave."""

    def __init__(
        self, scorer: Scorer, *, name: str | None = None, thresholds: Mapping[str, float] | None = None
    ) -> None:
        self.scorer = scorer
        self.model = {**model_of(scorer), **({"name": name} if name else {})}
        self.questions = tuple(question.name for question in scorer.questions)
        self._thresholds = dict(thresholds or {})
        self._batcher: Batcher | None = None

    async def start(self) -> None:
        """Open the queue in the running event loop."""
        self._batcher = Batcher(self.scorer)
        self._batcher.start()

    async def stop(self) -> None:
        """Answer what waits and close the queue."""
        if self._batcher is not None:
            await self._batcher.close()
            self._batcher = None

    @property
    def ready(self) -> bool:
        """Whether texts can be scored now."""
        return self._batcher is not None

    async def score(self, texts: Sequence[str], langs: Sequence[str | None] | None = None) -> Scores:
        """Return the scores of some texts, in their order."""
        import polars as pl

        if self._batcher is None:
            raise RuntimeError("the detector has not started")
        frame = pl.DataFrame(
            {"text": [repair_text(text) for text in texts], "lang": list(langs or [None] * len(texts))},
            schema={"text": pl.String, "lang": pl.String},
        )
        scores = await self._batcher.score(frame)
        return replace(scores, thresholds={**scores.thresholds, **self._thresholds}) if self._thresholds else scores


def answer_views(scores: Scores, row: int, lang: str) -> list[AnswerView]:
    """Return one post's answers for display, in the order of the questions; children only where they apply."""
    picked = {question.name: scores.chosen(question.name)[row] for question in scores.questions}
    asked = applicable_questions(scores.questions, picked)
    chosen = {name: labels if name in asked else () for name, labels in picked.items()}
    return [_answer(scores, question, row, lang, chosen) for question in scores.questions]


def _answer(scores: Scores, question: Question, row: int, lang: str, chosen: dict[str, tuple[str, ...]]) -> AnswerView:
    import numpy as np

    title = question.title.said_in(lang) or question.name
    labels = chosen[question.name]
    if not labels:
        return AnswerView(title, ())
    said = tuple(_said(question, label, lang) for label in labels)
    yes = scores.positive(question.name)
    if yes is not None and question.positive is not None:
        cut = float(np.broadcast_to(scores.thresholds.get(question.name, 0.5), len(scores))[row])
        of = _said(question, question.positive, lang)
        return AnswerView(title, said, of, float(yes[row]), cut, question.positive in labels)
    if len(labels) != 1:
        return AnswerView(title, said)
    value = float(scores.probabilities[question.name][row, question.label_names.index(labels[0])])
    return AnswerView(title, said, said[0], value, None, False)


def verdict_text(scores: Scores, row: int, lang: str) -> str:
    """Return one post's verdict in a language, such as `Sexist › Derogation`; empty where nothing was found."""
    verdict = scores.verdicts()[row]
    if verdict is None or verdict == "none":
        return ""
    titles = {label: _said(question, label, lang) for question in scores.questions for label in question.label_names}
    paths = [
        " › ".join(", ".join(titles.get(label, label) for label in step.split("|")) for step in path.split(" > "))
        for path in verdict.split("; ")
    ]
    return "; ".join(paths)


def _said(question: Question, label: str, lang: str) -> str:
    return question.label(label).title.said_in(lang) or label


def response_body(model: dict[str, str], records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the API's answer: the model first, then a record a text."""
    return {"model": model, "results": records}
