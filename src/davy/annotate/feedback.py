"""Feedback: in training, a person sees after each answer which answers are right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from davy.core import Item, Phase, Scheme
from davy.core.annotation import Answers


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
    said = answers if scheme is None else scheme.completed(answers)
    return {
        name: Feedback(tuple(said.get(name, ())), gold, set(said.get(name, ())) == set(gold))
        for name, gold in item.gold.items()
    }
