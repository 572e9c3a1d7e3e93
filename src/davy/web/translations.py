"""Sentences from below the pages in the reader's language: what a stage refused, what the audit recorded, label titles.

They are made in English with their values filled in, and shell and API say them so. Pages look them up here by their
words: `locale/errors.de.yaml` and `locale/events.de.yaml` of the feature that says a sentence hold it with `{}` where a
value stands, and a test finds those that they lack. A sentence that is not there stays English; what was written
down long ago is found too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from string import Formatter

from davy import schemes
from davy.core.scheme import Label, Wording
from davy.web.feature_files import load_words

_DEEPEST = 2
"""A value may be a sentence itself, such as what is wrong with an answer."""


def translate(kind: str, sentence: str, lang: str, *, deepest: int = _DEEPEST) -> str:
    """Return a sentence of `errors` or `events` in a language; one that is not known there comes back as it is."""
    if lang == "en":
        return sentence
    words = sentence.lstrip()  # one that goes on another begins with a space
    for pattern, found in _patterns(kind, lang):
        if match := pattern.fullmatch(words):
            values = [translate(kind, it, lang, deepest=deepest - 1) if deepest else it for it in match.groups()]
            return sentence.removesuffix(words) + found.format(*values)
    return sentence


def translated_title(title: Wording, name: str, lang: str) -> str:
    """Return what a question or a label is called: its own title, else what shipped ones are called, else its name."""
    own = title.said_in(lang) or name
    return own if lang == "en" or lang in title else shipped_titles(lang).get(own.casefold(), own)


def translated_label(label: Label, lang: str) -> str:
    """Return what people read: the title, with the code that guidelines speak in before it."""
    title = translated_title(label.title, label.name, lang)
    return f"{label.code} {title}" if label.code else title


@cache
def shipped_titles(lang: str) -> Mapping[str, str]:
    """Return what shipped questions and labels are called in a language, by their English titles and labels' names.

    `schemes/locale/labels.de.yaml` says it of names that schemes title in several ways, and of what has no title.
    """
    asked = [question for name in schemes.names() for question in schemes.load(name).questions]
    named = [(question.title, question.title.said_in("en")) for question in asked]
    for question in asked:
        named += [(label.title, it) for label in question.labels for it in (label.title.said_in("en"), label.name)]
    titles = {english.casefold(): title[lang] for title, english in reversed(named) if lang in title}
    return {**titles, **translations_of("labels", lang)}


@cache
def translations_of(kind: str, lang: str) -> Mapping[str, str]:
    """Return a language's sentences by the English ones, both with `{}` or `{0}` for values."""
    return load_words(f"{kind}.{lang}.yaml")


@cache
def _patterns(kind: str, lang: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return what to look for, the sentences with most words of their own first."""
    by_words = sorted(translations_of(kind, lang).items(), key=lambda item: -len(item[0].replace("{}", "")))
    return tuple((_pattern(english), found) for english, found in by_words)


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = Formatter().parse(sentence)
    return re.compile("".join(re.escape(it) + ("" if name is None else "(.*?)") for it, name, _, _ in parts), re.DOTALL)
