"""One detector behind the pages: a scorer, its queue, and its answers as a person reads them.

Posts in, scores out; for people an `AnswerView` a question with its label, its
probability and whether it was asked at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeVar

from anyio import to_thread

from davy import schemes
from davy.core.scheme import Question, applicable_questions
from davy.core.scorer import Scorer, Scores
from davy.scoring.explain import Explanation, leave_out, weigh
from davy.scoring.queue.batching import Batcher
from davy.scoring.queue.fair_queue import Row
from davy.scoring.result import model_of, repair_text
from davy.web.i18n import translated_title

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PostToScore:
    """A text with its language where that is known; `image` names a picture that the server holds for the request."""

    text: str
    lang: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One question's answer: `value` is the probability of `of`, None where there is no single one to show."""

    title: str
    labels: tuple[str, ...]
    of: str = ""
    value: float | None = None
    threshold: float | None = None
    yes: bool = False
    unsure: bool = False
    children: tuple[AnswerView, ...] = ()
    """The questions that this answer led to."""


class Detector:
    """Scores texts through a micro-batching queue of its own, under a name and with thresholds that an admin gave."""

    def __init__(
        self,
        scorer: Scorer,
        *,
        name: str | None = None,
        thresholds: Mapping[str, float] | None = None,
        queue: Callable[[Scorer], Batcher] = Batcher,
    ) -> None:
        self.scorer = scorer
        self._queue = queue
        self.model: dict[str, str | None] = {
            **model_of(scorer),
            **({"name": name} if name else {}),
            "data_hash": scorer.abilities.data_hash,
        }
        self.questions = tuple(question.name for question in scorer.questions)
        self._thresholds = dict(thresholds or {})
        self._batcher: Batcher | None = None
        self.looks = scorer.abilities.images

    async def start(self) -> None:
        """Open the queue in the running event loop."""
        self._batcher = self._queue(self.scorer)
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

    @property
    def full_name(self) -> str:
        """Name and version, as one may ask for it."""
        return f"{self.model['name']}@{self.model['version']}"

    @property
    def is_full(self) -> bool:
        """Whether a post that comes now would wait too long."""
        return self._batcher is not None and self._batcher.is_full

    @property
    def counters(self) -> dict[str, int]:
        """What the queue did so far."""
        return self._batcher.counters if self._batcher is not None else {}

    async def score(self, posts: Sequence[PostToScore], *, sender: str = "") -> Scores:
        """Return the scores of some posts, in their order. Senders get their turns one after the other."""
        rows = [(repair_text(post.text), post.lang, post.image if self.looks else None) for post in posts]
        return await self._score(rows, sender)

    async def explain(self, post: PostToScore, *, sender: str = "") -> Explanation:
        """Return which words of a post carried its decision.

        It costs up to a hundred texts, which wait for their sender's turns; a caller that gives up ends it.
        """
        variants = await to_thread.run_sync(partial(leave_out, post.text, self.scorer, lang=post.lang))
        scores = await self._score([(text, variants.lang, None) for text in variants.texts()], sender)
        return weigh(variants, scores)

    async def run(self, function: Callable[[Scorer], Result], *, sender: str = "") -> Result:
        """Return what a function makes of the scorer, in its sender's turn."""
        return await self._running().run(function, sender=sender)

    async def _score(self, rows: Sequence[Row], sender: str) -> Scores:
        scores = await self._running().score(rows, sender=sender)
        return replace(scores, thresholds={**scores.thresholds, **self._thresholds}) if self._thresholds else scores

    def _running(self) -> Batcher:
        if self._batcher is None:
            raise RuntimeError("the detector has not started")
        return self._batcher


def answer_tree(scores: Scores, row: int, lang: str) -> tuple[list[AnswerView], list[str]]:
    """Return one post's answers as a tree, each with the questions it led to, and the titles of those not reached.

    A question that the detector does not ask in the post's language is in neither.
    """
    picked = {question.name: scores.chosen(question.name)[row] for question in scores.questions}
    reached = set(applicable_questions(scores.questions, picked))
    chosen = {name: labels for name, labels in picked.items() if name in reached and labels}

    def view(question: Question) -> AnswerView:
        below = (it for it in scores.questions if it.name in chosen and it.under and it.under[0] == question.name)
        return replace(_answer(scores, question, row, lang, chosen), children=tuple(map(view, below)))

    roots = [it for it in scores.questions if it.name in chosen and not (it.under and it.under[0] in chosen)]
    left = [question_title(it, lang) for it in scores.questions if it.name not in chosen and _is_asked(scores, it, row)]
    return [view(question) for question in roots], left


def _is_asked(scores: Scores, question: Question, row: int) -> bool:
    mask = scores.answered.get(question.name)
    return mask is None or bool(mask[row])


def _answer(scores: Scores, question: Question, row: int, lang: str, chosen: dict[str, tuple[str, ...]]) -> AnswerView:
    import numpy as np

    title = question_title(question, lang)
    labels = chosen[question.name]
    titles = tuple(label_title(question, label, lang) for label in labels)
    yes = scores.positive(question.name)
    if yes is not None and question.positive is not None:
        cut = float(np.broadcast_to(scores.thresholds.get(question.name, 0.5), len(scores))[row])
        of = label_title(question, question.positive, lang)
        unsure = question.name in scores.unsure and bool(scores.unsure[question.name][row])
        return AnswerView(title, titles, of, float(yes[row]), cut, question.positive in labels, unsure)
    if len(labels) != 1:
        return AnswerView(title, titles)
    value = float(scores.probabilities[question.name][row, question.label_names.index(labels[0])])
    return AnswerView(title, titles, titles[0], value, None, False)


def verdict_text(scores: Scores, row: int, lang: str) -> str:
    """Return one post's verdict in a language, such as `Sexist › Derogation`; empty where nothing was found."""
    verdict = scores.verdicts()[row]
    if verdict is None or verdict == "none":
        return ""
    titles = {
        label: label_title(question, label, lang) for question in scores.questions for label in question.label_names
    }
    paths = [
        " › ".join(", ".join(titles.get(label, label) for label in step.split("|")) for step in path.split(" > "))
        for path in verdict.split("; ")
    ]
    return "; ".join(paths)


def label_title(question: Question, label: str, lang: str) -> str:
    """Return what a label is called in a language."""
    return translated_title(worded(question).label(label).title, label, lang)


def worded(question: Question) -> Question:
    """Return a question with titles: its own, else those of the shipped scheme that asks it with the same labels.

    A model folder keeps names and rules alone.
    """
    if question.title.said_in("en"):
        return question
    return _shipped_question(question.name, question.label_names) or question


@cache
def _shipped_question(name: str, labels: tuple[str, ...]) -> Question | None:
    every = (question for scheme in map(schemes.load, schemes.names()) for question in scheme.questions)
    return next((it for it in every if it.name == name and set(labels) <= set(it.label_names)), None)


def question_title(question: Question, lang: str) -> str:
    """Return what a question is called in a language."""
    return translated_title(worded(question).title, question.name, lang)
