"""What a community decides by: a question of the detector, or an attribute of the map with its formula.

Scores and a community in; its thresholds by question, the deciding numbers and an outcome for each post out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from davy.core.scorer import Scores
from davy.moderation.attribute_map import AttributeMap, attribute_scores
from davy.moderation.perspective_answer import has_word_in
from davy.moderation.store.communities import Community
from davy.scoring.queue.detector import PostToScore
from davy.text.lexicons.read import load as load_lexicon

NOT_JUDGED = "not_judged"


@dataclass(frozen=True, slots=True)
class DecidingScores:
    """The numbers that decide, and the outcomes: `not_judged` where there is no number."""

    chance: Any
    outcomes: list[str]
    thresholds: Sequence[float]
    attribute: str = ""
    """The attribute that decides; "" where a question does."""

    def reason(self, row: int) -> dict[str, Any]:
        """Return the deciding attribute of a post as one of its reasons."""
        return {
            "attribute": self.attribute,
            "probability": round(float(self.chance[row]), 6),
            "threshold": round(self.thresholds[row], 6),
        }


def community_thresholds(community: Community, scores: Scores, langs: Sequence[str]) -> dict[str, Any]:
    """Return a community's thresholds of the detector's questions; one for each post where a language has its own."""
    known = {question.name for question in scores.questions}
    common = {**community.thresholds, community.question: community.threshold}
    own = {name for by_question in community.language_thresholds.values() for name in by_question}
    found: dict[str, Any] = {name: float(value) for name, value in common.items() if name in known}
    for name in own & known:
        otherwise = np.broadcast_to(common.get(name, scores.thresholds.get(name, 0.5)), len(scores))
        found[name] = np.array(
            [
                _own(community.language_thresholds, lang).get(name, float(rest))
                for lang, rest in zip(langs, otherwise, strict=True)
            ]
        )
    return found


def deciding_scores(
    community: Community, scores: Scores, posts: Sequence[PostToScore], langs: Sequence[str], attributes: AttributeMap
) -> DecidingScores:
    """Return what decides about posts."""
    name, attribute = community.question, ""
    known = {question.name: question for question in scores.questions}
    if name in known and known[name].positive is not None:
        yes = scores.positive(name)
        answered = scores.has_answer(known[name])
        there = np.ones(len(scores), dtype=bool) if answered is None else answered
    else:
        attribute = name
        yes, there = np.zeros(len(scores)), np.zeros(len(scores), dtype=bool)
        for lang in dict.fromkeys(langs):
            rows = np.array([row for row, other in enumerate(langs) if other == lang])
            source = attributes.source(name, lang.lower().partition("-")[0])
            words = has_word_in([posts[row].text for row in rows], load_lexicon("masking")) if source.words else None
            found = attribute_scores(scores.take(rows), source, words)
            if found is not None:
                yes[rows], there[rows] = found
    chance: Any = np.asarray(yes, dtype=np.float64)
    outcomes = [
        community.decide(float(chance[row]), lang) if there[row] else NOT_JUDGED for row, lang in enumerate(langs)
    ]
    return DecidingScores(chance, outcomes, [community.threshold_in(lang) for lang in langs], attribute)


def _own(thresholds: Mapping[str, Mapping[str, float]], lang: str) -> Mapping[str, float]:
    return thresholds.get(lang.lower().partition("-")[0], {})
