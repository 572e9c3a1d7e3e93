"""Feedback: in training, a person sees after each answer which answers are right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from davy.annotation.project.project import Item, Phase
from davy.core import Scheme
from davy.core.annotation import Answers
from davy.core.spans import overlap

SAME_MARKS = 0.5
"""From this overlap on two people's marks count as the same, as in ERASER's IoU F1."""


class Feedback(NamedTuple):
    """What was said to one question, what is right, and whether they are the same."""

    given: tuple[str, ...]
    gold: tuple[str, ...]
    right: bool


def feedback_on(phase: Phase, item: Item, scheme: Scheme | None, answers: Answers) -> Mapping[str, Feedback] | None:
    """Return how answers compare with gold, by question; None where the phase or the item gives no feedback.

    Training gives it unless its settings say `feedback: false`; other phases never do.
    """
    if not phase.behaviour.feedback or item.gold is None or phase.settings.get("feedback") is False:
        return None
    completed = answers if scheme is None else scheme.completed(answers)
    return {
        name: Feedback(
            tuple(completed.get(name, ())), gold, _is_right(scheme, name, tuple(completed.get(name, ())), gold)
        )
        for name, gold in item.gold.items()
    }


def _is_right(scheme: Scheme | None, name: str, given: tuple[str, ...], gold: tuple[str, ...]) -> bool:
    """Return whether two answers are the same; marked words are, where half of what either marks is in both."""
    if scheme is not None and name in {q.name for q in scheme.questions} and scheme.question(name).marks_text:
        return overlap(given, gold) >= SAME_MARKS
    return set(given) == set(gold)
