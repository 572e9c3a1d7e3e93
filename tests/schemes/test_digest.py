"""The digest moves with what is asked, and with nothing else."""

from dataclasses import replace

import pytest

from davy import schemes
from davy.core import Guideline, Wording


@pytest.fixture
def edos():
    return schemes.load("edos")


def with_label(scheme, **changes):
    first, *rest = scheme.questions
    label = replace(first.labels[0], **changes)
    return replace(scheme, questions=(replace(first, labels=(label, *first.labels[1:])), *rest))


def test_the_digest_of_one_scheme_is_always_the_same(edos):
    assert schemes.digest(edos) == schemes.digest(schemes.from_dict(schemes.to_dict(edos)))
    assert len(schemes.digest(edos)) == 16


def test_guidelines_aliases_and_examples_may_grow_under_one_digest(edos):
    grown = replace(edos, guidelines=(*edos.guidelines, Guideline(2, Wording("More."))), title=Wording("Other"))
    grown = with_label(grown, aliases=("0", "nope"), examples=(Wording("Nice weather."),))
    assert schemes.digest(grown) == schemes.digest(edos)


def test_a_translation_is_no_other_question(edos):
    said = {"en": edos.questions[0].labels[0].definition["en"]}
    assert schemes.digest(with_label(edos, definition=Wording(said))) == schemes.digest(edos)
    assert schemes.digest(with_label(edos, definition=Wording(said | {"de": "Anders."}))) == schemes.digest(edos)
    assert schemes.digest(with_label(edos, definition=Wording({"de": "Anders."}))) != schemes.digest(edos)


@pytest.mark.parametrize(
    "changes", [{"name": "fine"}, {"definition": Wording("Otherwise.")}, {"title": Wording("No")}, {"code": "0"}]
)
def test_another_name_meaning_or_code_of_a_label_is_another_digest(edos, changes):
    assert schemes.digest(with_label(edos, **changes)) != schemes.digest(edos)


def test_another_order_or_another_question_is_another_digest(edos):
    first, *rest = edos.questions
    turned = replace(edos, questions=(replace(first, labels=first.labels[::-1]), *rest))
    assert schemes.digest(turned) != schemes.digest(edos)
    assert schemes.digest(replace(edos, questions=edos.questions[:2])) != schemes.digest(edos)


def test_no_two_shipped_schemes_ask_the_same():
    digests = [schemes.digest(schemes.load(name)) for name in schemes.names()]
    assert len(set(digests)) == len(digests)
