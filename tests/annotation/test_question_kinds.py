"""Kinds of question are rows of one table: rows are complete, and nothing asks for a kind by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import davy
from davy.annotation.settling import rules
from davy.core import Label, Question
from davy.core.question_kind import DEFAULT_KIND, QUESTION_KINDS, kind_called
from davy.web import i18n
from davy.web.render import environment

SOURCE = Path(davy.__file__).parent
SURVEYS = {"annotation/care/survey.py", "annotation/care/pages/templates/survey.html"}
"""A survey's questions have kinds of their own, one of which is a scale too."""


@pytest.mark.parametrize("name", QUESTION_KINDS)
def test_every_kind_has_a_rule_a_widget_and_words(name):
    kind = QUESTION_KINDS[name]
    assert name in rules.SETTLED_BY
    assert kind.summary
    assert f"parts/answer_{kind.widget}.html" in environment().list_templates()
    for lang in i18n.LANGUAGES:
        words = i18n.Translator(lang)
        assert words.has(f"scheme.kind.{name}")
        assert words.has(f"label.request.{kind.request}")


def test_nothing_asks_for_a_kind_by_its_name():
    names = "|".join(QUESTION_KINDS)
    asker = r"""\b(?:\w*question\w*(?:\(\w+\))?|q|asked|view|head|given|it|before\[\w+\]|seen\[\w+\])"""
    kind = r"""\.(?:kind|get\(["']kind["'][^)]*\))"""
    by_name = re.compile(rf"""{asker}{kind}\s*(?:==|!=|in|not in)[\s(\[{{]*["'](?:{names})["']""")
    files = [it for ending in ("*.py", "*.html") for it in SOURCE.rglob(ending)]
    found = {it.relative_to(SOURCE).as_posix() for it in files if by_name.search(it.read_text(encoding="utf-8"))}
    assert found == SURVEYS


def test_a_question_without_a_kind_takes_one_label_and_an_unknown_kind_asks_for_nothing():
    assert kind_called(None) is QUESTION_KINDS[DEFAULT_KIND]
    assert kind_called("ranking").fewest_labels <= 1
    with pytest.raises(ValueError, match=f"unknown kind 'ranking'; known: {', '.join(QUESTION_KINDS)}"):
        Question("q", (Label("a"), Label("b")), kind="ranking")
