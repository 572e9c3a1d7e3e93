"""What stands behind another service's attributes: products along a scheme, or with the questions in `given`."""

import numpy as np
import pytest

from davy import schemes
from davy.core.errors import UserError
from davy.core.scorer import Scores
from davy.moderation.attribute_formula import parse_formula
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


def value_of(text, **answered):
    found = attribute_scores(scores(**answered), AttributeSource(formula=parse_formula(text)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("offensive", [0.6, 0.3]),
        ("offensive * (1 - hate)", [0.54, 0.06]),
        ('max(hate, 0.5 * type["threatening language"])', [0.5, 0.8]),
        ("min(hate, offensive, 0.2)", [0.1, 0.2]),
        ("hate + offensive + hate", [0.8, 1.0]),
        ("hate - offensive", [0.0, 0.5]),
    ],
)
def test_a_formula_computes_with_answers_and_stays_between_0_and_1(formula, expected):
    assert value_of(formula)[0].tolist() == pytest.approx(expected)


def test_a_formula_has_no_score_where_one_of_its_questions_was_not_put():
    assert value_of("hate * offensive", offensive=[True, False])[1].tolist() == [True, False]
    assert attribute_scores(scores(), AttributeSource(formula=parse_formula("hate * sexist"))) is None
    assert attribute_scores(scores(), AttributeSource(formula=parse_formula('type["no such"]'))) is None


def test_words_count_in_a_formula_where_the_texts_are_known():
    source = AttributeSource(formula=parse_formula("max(0.5 * words(profanity, slur), 0.1 * hate)"))
    assert attribute_scores(scores(), source) is None
    found = attribute_scores(scores(), source, lambda kinds: np.array([float(kinds == ("profanity", "slur")), 0.0]))
    assert found is not None
    assert found[0].tolist() == pytest.approx([0.5, 0.08])


@pytest.mark.parametrize(
    "formula",
    [
        *("", "1", "hate +", "hate / 2", "__import__('os')", "hate.real", "max(hate)", "words()", "hate ** 9"),
        *("hate if 1 else 2", "type[0]", "words(profanity, slur=1)", "lambda: 1", "'hate'", "1000 * hate"),
        *("(" * 300 + "hate" + ")" * 300, "hate*" * 200),
    ],
)
def test_what_is_no_formula_is_refused_with_what_one_may_have(tmp_path, formula):
    with pytest.raises(ValueError, match=r"formula|same for every post|characters"):
        parse_formula(formula)


def loaded(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return load_attributes(file)


def test_a_language_has_a_detector_and_sources_of_its_own(tmp_path):
    made = loaded(
        tmp_path,
        "name: mine\ninclude: perspective\nlanguages:\n  fr:\n    model: hf:a/b\n    attributes:\n"
        "      TOXICITY: {question: label, label: toxic}\n      INSULT: {question: hate, model: embedded}\n",
    )
    assert (made.source("TOXICITY", "fr").text, made.source("TOXICITY", "fr").model) == ('label["toxic"]', "hf:a/b")
    assert made.source("TOXICITY", "en") == load_attributes().attributes["TOXICITY"]
    assert made.source("THREAT", "fr") == made.source("THREAT", "en")
    assert made.models == ["hf:a/b", "embedded"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("attributes:\n  A: {question: hate}\n  B: {question: hate}\n", "A and B are the same number"),
        ("attributes:\n  A: {formula: hate /}\n", "mine.yaml:2: The formula can't be read"),
        ("attributes:\n  A: {formula: hate, question: hate}\n", "not both"),
        ("attributes:\n  A: {question: hate, approximation: perhaps}\n", "`approximation` is true or false"),
        ("include: mine.yaml\n", "`include` names a shipped file: moderation, perspective"),
        ("include: perspective\nlanguages:\n  fr: hf:a\n", "A language is a mapping"),
        ("include: perspective\nlanguages:\n  fr:\n    attributes:\n      NEW: {question: x}\n", "NEW stands below"),
        ("name: mine\n", "at least one name"),
    ],
)
def test_a_wrong_file_says_what_is_wrong_and_where(tmp_path, text, said):
    with pytest.raises(UserError, match=said):
        loaded(tmp_path, text)


def test_each_shipped_attribute_is_a_number_of_its_own_and_formulas_are_approximations():
    sources = {name: source for name, source in load_attributes().attributes.items() if source}
    assert len({source.text for source in sources.values()}) == len(sources)
    assert {name for name, source in sources.items() if not source.approximation} == {
        "TOXICITY", "IDENTITY_ATTACK", "SEXISM", "MISOGYNY",
    }  # fmt: skip
    assert all(source.approximation for source in sources.values() if source.formula)
