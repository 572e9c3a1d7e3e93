"""What stands behind another service's attributes: products along a scheme, or with the questions in `given`."""

import numpy as np
import pytest

from davy import schemes
from davy.core.errors import UserError
from davy.core.scorer import Scores
from davy.moderation.attribute_map import AttributeSource, attribute_scores, load_attributes

THREATENING = {"question": "type", "label": "threatening language"}


def scores(**answered):
    questions = tuple(it for it in schemes.load("embedded-en").questions if it.name in ("hate", "type", "offensive"))
    chances = {
        "hate": [[0.9, 0.1], [0.2, 0.8]],
        "offensive": [[0.4, 0.6], [0.7, 0.3]],
        "type": [[0.0, 0.0, 1.0, 0.0], [0.2, 0.2, 0.5, 0.1]],
    }
    return Scores(
        questions=questions,
        probabilities={it.name: np.array(chances[it.name]) for it in questions},
        thresholds={"hate": 0.5, "offensive": 0.5},
        answered={name: np.array(it) for name, it in answered.items()},
    )


def test_a_label_has_the_product_with_the_answers_that_lead_to_it():
    found = attribute_scores(scores(), AttributeSource(**THREATENING))
    assert found is not None
    assert found[0].tolist() == pytest.approx([0.1, 0.4])


def test_given_takes_the_likeliest_yes_instead():
    found = attribute_scores(scores(), AttributeSource(**THREATENING, given=("offensive", "hate")))
    assert found is not None
    assert found[0].tolist() == pytest.approx([0.6, 0.4])
    one = attribute_scores(scores(), AttributeSource(**THREATENING, given=("offensive",)))
    assert one is not None
    assert one[0].tolist() == pytest.approx([0.6, 0.15])


def test_there_is_no_score_where_a_question_was_not_put():
    source = AttributeSource(**THREATENING, given=("offensive", "hate"))
    for question in ("type", "offensive", "hate"):
        found = attribute_scores(scores(**{question: [True, False]}), source)
        assert found is not None
        assert found[1].tolist() == [True, False]
    assert attribute_scores(scores(), AttributeSource(**THREATENING, given=("sexist",))) is None


def test_given_needs_a_label(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nattributes:\n  RUDE: {question: hate, given: [offensive]}\n")
    with pytest.raises(UserError, match="`given` stands beside a question with a label"):
        load_attributes(file)
