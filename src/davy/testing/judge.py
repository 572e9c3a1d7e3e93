"""Answers into outcomes: right, wrong, or does not apply.

An MFT is right where the label is. An INV is right where the label is the one
that the case it came from got; a DIR where the probability moved as expected.
Where the other case has no answer, the comparison does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping

from davy.testing.answer_cache import Answer
from davy.testing.suite import Case, Outcome, Suite

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
