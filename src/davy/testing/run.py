"""Ask detectors a suite's cases, and judge their answers: right, wrong, or does not apply.

A suite and scorers in, a `SuiteRun` for each scorer out. A batch that fails is cut in two until the case is found; a
detector that answers nothing at all is an error. An MFT is right if the label is. An INV is right if the label is the
one that the case it came from got; a DIR if the probability moved as expected. If the other case has no answer, the
comparison does not apply. Answers are kept by model version and suite hash, so that a second check costs nothing: a
file holds probabilities by case id and no texts.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from davy.core import Scorer
from davy.core.errors import UserError, nearest
from davy.core.scorer import label_advice
from davy.detectors.cache import cache_folder
from davy.files.atomic import make_folder, write_json
from davy.testing.suite import Case, Outcome, Suite

Answer = tuple[float, bool]
"""The probability of yes, and whether the detector says yes."""


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder of answers."""

    folder: Path

    @staticmethod
    def default() -> AnswerCache:
        """Return the user's own cache: `DAVY_CACHE`, else `davy` in the system's place for caches."""
        return AnswerCache(cache_folder() / "check")

    def read(self, model: str, version: str, suite: str, question: str) -> dict[str, Answer]:
        """Return the answers of a model version to a suite's cases, by case id; empty where there are none."""
        try:
            stored = json.loads(self._path(model, version, suite, question).read_text("utf-8"))
            return {case: (float(p), bool(is_yes)) for case, (p, is_yes) in stored["answers"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def write(self, model: str, version: str, suite: str, question: str, answers: dict[str, Answer]) -> None:
        """Keep answers; a folder that can't be written to is no reason to fail a check."""
        record = {"model": model, "version": version, "suite": suite, "question": question, "answers": answers}
        try:
            make_folder(self.folder)
            write_json(self._path(model, version, suite, question), record, indent=None)
        except UserError:
            return

    def _path(self, *key: str) -> Path:
        return self.folder / f"{hashlib.sha256(chr(31).join(key).encode()).hexdigest()[:32]}.json"


TOLERANCE = 1e-9


def judge_cases(suite: Suite, answers: Mapping[str, Answer], failed: Mapping[str, str]) -> tuple[Outcome, ...]:
    """Return an outcome for every case, in the suite's order."""
    return tuple(_judge_case(suite, case, answers, failed) for case in suite.cases)


def _judge_case(suite: Suite, case: Case, answers: Mapping[str, Answer], failed: Mapping[str, str]) -> Outcome:
    if case.id not in answers:
        note = failed.get(case.id, "the detector gave no answer")
        return Outcome(case.id, None, None, None, applies=False, note=note)
    probability, is_yes = answers[case.id]
    label = suite.labels[0] if is_yes else suite.labels[1]
    if case.test == "MFT":
        return Outcome(case.id, label, probability, label == case.expected)
    before = answers.get(str(case.pair))
    if before is None:
        note = "the case it is compared with has no answer"
        return Outcome(case.id, label, probability, None, applies=False, note=note)
    if case.test == "INV":
        return Outcome(case.id, label, probability, is_yes == before[1])
    return Outcome(case.id, label, probability, _moved(case.expected, probability - before[0]))


def _moved(expected: str, change: float) -> bool:
    if expected == "higher":
        return change > TOLERANCE
    if expected == "lower":
        return change < -TOLERANCE
    return change <= TOLERANCE if expected == "not higher" else change >= -TOLERANCE


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
    known = {each.name: each for each in scorer.questions}
    if question not in known:
        hint = nearest(question, list(known))
        raise UserError(
            f"{scorer.name} does not answer {question!r}, which the suite asks; it answers {', '.join(known)}.{hint} "
            f"Name the one that means the same: --question NAME{label_advice(scorer, question)}"
        )
    if known[question].positive is None:
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
        answers: dict[str, Answer] = {}
        for i, case in enumerate(cases):
            if answered is not None and not answered[i]:
                self.failed[case.id] = f"the detector does not answer {self.question!r} in this language"
            else:
                answers[case.id] = (round(float(yes[i]), 6) if yes is not None else 0.0, question.positive in chosen[i])
        return answers


def _reason(error: Exception) -> str:
    """Return a failure in a few words, without the text of a case: a library may quote what it was given."""
    if isinstance(error, UserError):
        return error.message
    return f"the detector failed ({type(error).__name__})"
