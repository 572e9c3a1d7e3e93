"""The targets of a round, asked through the server's queues; and what refused an entry, in the reader's language.

A text in, predictions out. A target that can't answer is an `EntryRefused`, so that the page keeps the text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyio import from_thread
from starlette.requests import Request

from davy.core import Question, UserError
from davy.core.metric import FEWEST
from davy.core.scorer import PLAIN, Abilities, Scores
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.rounds.candidates import CandidateResult
from davy.rounds.entries import EntryRefused, target_prediction
from davy.rounds.round import Round, TargetPrediction
from davy.runs.jobs.training import TRAIN
from davy.runs.pages.detector_choices import MOST_TRAINED
from davy.scoring.queue.detector import PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.i18n import Translator

if TYPE_CHECKING:
    import polars as pl


async def ask_targets(
    request: Request, round_: Round, question: Question, texts: Sequence[str], langs: Sequence[str | None], label: str
) -> list[list[TargetPrediction]]:
    """Return what each target said of each text, the first target first; `label` is the author's."""
    answers = await asyncio.gather(*(_ask(request, target, texts, langs) for target in round_.targets))
    return [
        [
            target_prediction(target, scores, question, label, row)
            for target, scores in zip(round_.targets, answers, strict=True)
        ]
        for row in range(len(texts))
    ]


async def _ask(request: Request, target: str, texts: Sequence[str], langs: Sequence[str | None]) -> Scores:
    context = context_of(request)
    try:
        detector, scores = await context.part(Detectors).score(_posts(texts, langs), model=target)
    except UserError as error:
        reason = render.error_text(request, error).rstrip(".")
        raise EntryRefused("target", status=503, name=target, reason=reason) from None
    context.metrics.count("texts_scored", len(texts), model=detector.full_name)
    return scores


def _posts(texts: Sequence[str], langs: Sequence[str | None]) -> list[PostToScore]:
    return [PostToScore(text, lang) for text, lang in zip(texts, langs, strict=True)]


def possible_targets(request: Request, db: Connection, question: str) -> list[str]:
    """Return the detectors that answer a question, as name@version: the server's own first, then those it knows."""
    started = context_of(request).part(Detectors).started
    own = [f"{started.model['name']}@{started.model['version']}"] if question in started.questions else []
    known = [it for it in detectors.list_detectors(db) if it.state != "retired" and question in it.questions]
    return list(
        dict.fromkeys([*(it.full_name for it in known if it.is_default), *own, *(it.full_name for it in known)])
    )


def new_target(every: Sequence[Round]) -> str:
    """Return the target that the newest closed round made; empty where there is none."""
    return next((str(it.outcome["target"]) for it in reversed(every) if it.outcome.get("target")), "")


def few_measured(db: Connection, project: str, every: Sequence[Round]) -> dict[str, int]:
    """Return the targets that a project made and that were measured on fewer than `FEWEST` posts, with how many."""
    counts = {}
    sources = {it.source: it.full_name for it in detectors.list_detectors(db)}
    for job in jobs.latest(db, kind=TRAIN, project=project, state="done", limit=MOST_TRAINED):
        name = sources.get(str((job.result or {}).get("model")))
        if name is not None:
            counts[name] = int((job.result or {}).get("measured_on", 0))
    for round_ in every:
        if round_.outcome.get("target"):
            winner = CandidateResult.from_dict(round_.outcome["winner"])
            counts[str(round_.outcome["target"])] = winner.measured_on(round_.outcome["chosen_by"])
    return {name: n for name, n in counts.items() if n < FEWEST}


def refusal_text(words: Translator, error: UserError) -> str:
    """Return why an entry was refused, in the reader's language."""
    if not isinstance(error, EntryRefused):
        key = getattr(error, "key", None)
        return words(f"error.{key}", **getattr(error, "values", {})) if key else words.error(error.message)
    values = dict(error.values)
    if error.why == "wrong_change":
        values = {name: words(f"rounds.what.{value}") for name, value in values.items()}
    return words(f"rounds.refused.{error.why}", **values)


class QueuedScorer:
    """A target as a scorer that asks through the server's queue; for use in a worker thread."""

    def __init__(self, targets: Detectors, target: str) -> None:
        self.name, _, self.version = target.partition("@")
        self.questions: tuple[Question, ...] = ()
        self._targets = targets
        self._target = target

    @property
    def abilities(self) -> Abilities:
        """What any scorer can do."""
        return PLAIN

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scores of some posts."""
        texts, langs = posts["text"].to_list(), posts["lang"].to_list()

        async def ask() -> Scores:
            return (await self._targets.score(_posts(texts, langs), model=self._target))[1]

        return from_thread.run(ask)
