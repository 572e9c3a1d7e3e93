"""Translations that a shipped scheme got after a database had kept it: a kept scheme in, the same with them out.

A translation is no new version. Words are found by the English ones, so a scheme or a guideline that says something
else in English, or says it in the other language itself, keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TypeVar

from davy.core.scheme import Guideline, Label, Question, Scheme, Wording
from davy.schemes.read import load, names

Part = TypeVar("Part", Question, Label)


def with_translations(scheme: Scheme) -> Scheme:
    """Return a scheme with the languages that the shipped one of its name has and it lacks."""
    if scheme.name not in names():
        return scheme
    known = _shipped_words(scheme.name)
    return replace(
        scheme,
        title=_filled(scheme.title, known),
        description=_filled(scheme.description, known),
        warning=_filled(scheme.warning, known),
        questions=tuple(_question(question, known) for question in scheme.questions),
        guidelines=tuple(_guideline(guideline, known) for guideline in scheme.guidelines),
    )


def wordings(scheme: Scheme) -> Iterator[Wording]:
    """Yield everything that people read of a scheme."""
    yield from (scheme.title, scheme.description, scheme.warning)
    for question in scheme.questions:
        yield from (question.title, question.definition)
        for label in question.labels:
            yield from (label.title, label.definition, *label.examples)
    for guideline in scheme.guidelines:
        yield from (guideline.text, *guideline.notes.values())


@cache
def _shipped_words(name: str) -> Mapping[str, Wording]:
    """Return what a shipped scheme says, by the English words."""
    return {wording["en"]: wording for wording in wordings(load(name)) if "en" in wording}


def _filled(wording: Wording, known: Mapping[str, Wording]) -> Wording:
    return Wording({**known.get(wording.get("en", ""), {}), **wording})


def _question(question: Question, known: Mapping[str, Wording]) -> Question:
    labels = tuple(
        replace(_titled(label, known), examples=tuple(_filled(example, known) for example in label.examples))
        for label in question.labels
    )
    return replace(_titled(question, known), labels=labels)


def _titled(part: Part, known: Mapping[str, Wording]) -> Part:
    return replace(part, title=_filled(part.title, known), definition=_filled(part.definition, known))


def _guideline(guideline: Guideline, known: Mapping[str, Wording]) -> Guideline:
    notes = {name: _filled(said, known) for name, said in guideline.notes.items()}
    return replace(guideline, text=_filled(guideline.text, known), notes=notes)
