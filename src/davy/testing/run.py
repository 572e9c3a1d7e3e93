"""Ask detectors a suite's cases: one pass each, and one case that fails harms no other.

A suite and scorers in, a `SuiteRun` for each scorer out. A batch that fails is cut in
two until the case is found; a detector that answers nothing at all is an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from davy.core import Scorer, UserError
from davy.core.errors import nearest
from davy.core.scorer import label_advice
from davy.testing.answer_cache import Answer, AnswerCache
from davy.testing.judge import judge_cases
from davy.testing.suite import Case, Outcome, Suite

BATCH = 256
PATIENCE = 25
"""So many single cases may fail before anything has worked; then the detector is taken to be down."""


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """What one detector said to every case of a suite, in the suite's order."""

    model: str
    version: str
    outcomes: tuple[Outcome, ...]
    seconds: float = 0.0
    cached: int = 0
    """How many answers were known from before."""
    learnt: int = 0
    """How many cases have a text that the detector learnt from."""

    @property
    def failed(self) -> list[Outcome]:
        """The cases that the detector could not answer."""
        return [outcome for outcome in self.outcomes if not outcome.applies and outcome.probability is None]


def run_suite(
    suite: Suite,
    scorer: Scorer,
    *,
    name: str = "",
    question: str = "",
    cache: AnswerCache | None = None,
    batch: int = BATCH,
    progress: Callable[[int], Any] | None = None,
) -> SuiteRun:
    """Return a detector's outcomes. `question` is the detector's, where it is not called like the suite's."""
    asked = question or suite.question
    _answers_it(scorer, asked)
    name = name or scorer.name
    start = time.perf_counter()
    known = cache.read(scorer.name, scorer.version, suite.digest, asked) if cache else {}
    known = {case.id: known[case.id] for case in suite.cases if case.id in known}
    cached = len(known)
    left = [case for case in suite.cases if case.id not in known]
    if progress:
        progress(cached)
    fresh, failed = _Asking(scorer, asked, progress or (lambda _: None)).all(left, batch)
    if not known and not fresh and suite.cases:
        raise UserError(f"{name} answered none of the {len(suite.cases)} cases: {next(iter(failed.values()))}")
    if cache and fresh:
        cache.write(scorer.name, scorer.version, suite.digest, asked, {**known, **fresh})
    outcomes = judge_cases(suite, {**known, **fresh}, failed)
    seen = scorer.abilities.learnt
    learnt = 0 if seen is None else int(seen([case.text for case in suite.cases]).sum())
    return SuiteRun(name, scorer.version, outcomes, time.perf_counter() - start, cached, learnt)


def _answers_it(scorer: Scorer, question: str) -> None:
    found = {each.name: each for each in scorer.questions}
    if question not in found:
        hint = nearest(question, list(found))
        raise UserError(
            f"{scorer.name} does not answer {question!r}, which the suite asks; it answers {', '.join(found)}.{hint} "
            f"Name the one that means the same: --question NAME{label_advice(scorer, question)}"
        )
    if found[question].positive is None:
        raise UserError(
            f"{scorer.name}'s question {question!r} is not a yes/no question, and the suite needs one"
            f"{label_advice(scorer, 'hate') or '.'}"
        )


class _Asking:
    """One pass over the cases: collects answers, and the reason where there is none."""

    def __init__(self, scorer: Scorer, question: str, progress: Callable[[int], Any]) -> None:
        self.scorer, self.question, self.progress = scorer, question, progress
        self.answers: dict[str, Answer] = {}
        self.failed: dict[str, str] = {}

    def all(self, cases: Sequence[Case], batch: int) -> tuple[dict[str, Answer], dict[str, str]]:
        # Texts of one length share a batch: a network pads to the longest.
        ordered = sorted(cases, key=lambda case: len(case.text))
        for start in range(0, len(ordered), batch):
            part = ordered[start : start + batch]
            self.some(part)
            self.progress(len(part))
        return self.answers, self.failed

    def some(self, cases: Sequence[Case]) -> None:
        try:
            self.answers.update(self.scored(cases))
        except KeyboardInterrupt:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a detector raises is its failure on these cases
            if len(cases) == 1:
                self.failed[cases[0].id] = _reason(error)
                if not self.answers and len(self.failed) >= PATIENCE:
                    raise UserError(
                        f"{self.scorer.name} failed on the first {PATIENCE} cases: {_reason(error)}. Is it up?"
                    ) from None
                return
            middle = len(cases) // 2
            self.some(cases[:middle])
            self.some(cases[middle:])

    def scored(self, cases: Sequence[Case]) -> dict[str, Answer]:
        import polars as pl

        posts = pl.DataFrame({"text": [case.text for case in cases], "lang": [case.lang for case in cases]})
        scores = self.scorer.score(posts.cast({"text": pl.String, "lang": pl.String}))
        if len(scores) != len(cases):
            raise ValueError(f"{len(scores)} scores for {len(cases)} cases")
        question = scores.question(self.question)
        yes = scores.positive(self.question)
        chosen = scores.chosen(self.question)
        answered = scores.has_answer(question)
        found: dict[str, Answer] = {}
        for i, case in enumerate(cases):
            if answered is not None and not answered[i]:
                self.failed[case.id] = f"the detector does not answer {self.question!r} in this language"
            else:
                found[case.id] = (round(float(yes[i]), 6) if yes is not None else 0.0, question.positive in chosen[i])
        return found


def _reason(error: Exception) -> str:
    """Return a failure in a few words, without the text of a case: a library may quote what it was given."""
    if isinstance(error, UserError):
        return error.message
    return f"the detector failed ({type(error).__name__})"
