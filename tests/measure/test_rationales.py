"""Faithfulness and agreement of explanations, against worked examples of ERASER's definitions."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from davy.core import UserError
from davy.measure.intervals import Bootstrap
from davy.measure.rationales import (
    Faithfulness,
    WeighedText,
    faithfulness,
    marked_share,
    mean_faithfulness,
    plausibility,
    stretch_f1,
    strongest_units,
    unit_f1,
)

WORTH = [0.5, 0.1, 0.2, 0.0]
"""A made-up detector: the label's probability is 0.1 and what the units that are left are worth."""


def score(versions):
    return [0.1 + sum(WORTH[i] for i in kept) for kept in versions]


def test_the_strongest_units_are_a_share_of_the_text_and_at_least_one():
    assert strongest_units([0.5, 0.1, 0.2, 0.0], 0.5) == [0, 2]
    assert strongest_units([0.5, 0.1, 0.2, 0.0], 0.01) == [0]
    assert strongest_units([0.1, 0.1, 0.1], 1.0) == [0, 1, 2]


def test_comprehensiveness_and_sufficiency_by_hand():
    # Whole text: 0.9. Shares 0.25 and 0.5 take unit 0, then units 0 and 2.
    # Without them 0.4 and 0.2: lost 0.5 and 0.7, and 0 for nothing taken: (0 + 0.5 + 0.7) / 3.
    # Left alone 0.6 and 0.8: lost 0.3 and 0.1: (0.3 + 0.1) / 3.
    found = faithfulness(WORTH, 0.9, score, shares=(0.25, 0.5))
    assert found.comprehensiveness == pytest.approx(0.4)
    assert found.sufficiency == pytest.approx(0.4 / 3)


def test_an_explanation_that_points_at_the_wrong_units_is_less_faithful():
    right, wrong = (faithfulness(weights, 0.9, score) for weights in (WORTH, [-w for w in WORTH]))
    assert right.comprehensiveness > wrong.comprehensiveness
    assert right.sufficiency < wrong.sufficiency


def test_every_version_is_asked_for_once():
    asked = []
    faithfulness(WORTH, 0.9, lambda versions: asked.extend(versions) or score(versions))
    assert len(asked) == len({tuple(version) for version in asked})


def test_means_come_with_their_n_and_interval():
    both = mean_faithfulness([Faithfulness(0.2, 0.1), Faithfulness(0.4, 0.3)], bootstrap=Bootstrap(100))
    assert [(m.value, m.n) for m in both] == [(pytest.approx(0.3), 2), (pytest.approx(0.2), 2)]
    assert mean_faithfulness([])[0].note == "not defined: no texts"
    with pytest.raises(UserError, match="without a unit"):
        faithfulness([], 0.9, score)


def test_agreement_with_marked_words_by_hand():
    assert unit_f1({1, 2, 3}, {2, 3, 4, 5}) == pytest.approx(2 * 2 / 7)
    assert unit_f1(set(), set()) == 1
    assert unit_f1({1}, set()) == 0
    # (0, 4) and (1, 5) share three of five units, so they are the same stretch; (8, 9) is nobody's.
    assert stretch_f1([(0, 4), (6, 7)], [(1, 5), (8, 9)]) == pytest.approx(2 * 1 / 4)
    assert stretch_f1([(0, 4)], [(3, 9)]) == 0


def test_plausibility_by_hand():
    # Four words each. People marked the first two of one text and the last of another: 2/4 and 1/4, 3/8 on average,
    # so round(3/8 · 4) = 2 words are chosen: 0 and 3, then 3 and 2.
    one = WeighedText((0.9, 0.1, -0.2, 0.5), frozenset({0, 1}))
    other = WeighedText((0.0, 0.1, 0.2, 0.6), frozenset({3}))
    unmarked = WeighedText((0.3, 0.2), frozenset())
    assert marked_share([one, other]) == 3 / 8
    tokens, passages, area = plausibility([one, other, unmarked], bootstrap=Bootstrap(0))
    # F1: one of two and two, 1/2; one of one and two, 2/3.
    assert (tokens.value, tokens.n) == (pytest.approx((1 / 2 + 2 / 3) / 2), 2)
    # Passages: 0–2 against 0 and 3, overlap 1/2 is a hit, 2·1/3; 3 against 2–4, overlap 1/2, 1.
    assert passages.value == pytest.approx((2 / 3 + 1) / 2)
    # Precision where a marked word is met: at places 1 and 3, (1 + 2/3)/2; at place 1.
    assert area.value == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    assert area.value == pytest.approx(
        np.mean(
            [average_precision_score([1, 1, 0, 0], one.weights), average_precision_score([0, 0, 0, 1], other.weights)]
        )
    )
    assert plausibility([unmarked])[0].note == "not defined: no text has a mark"
