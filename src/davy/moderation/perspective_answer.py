"""What an answer in Perspective's shape holds: which language, which detector for each attribute, and the scores.

A comment's text and attributes in; a `Plan` says which detector is asked what, and what can't be answered; scores in,
`attributeScores` with what stands behind each out. An error names every attribute that is missing, not the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from davy.core.scorer import Scores
from davy.detectors.embedded import detect_languages
from davy.moderation.attribute_map import AttributeMap, AttributeSource, attribute_scores
from davy.scoring.queue.detector import Detector
from davy.text.language import detect
from davy.text.lexicons.read import SHIPPED, Lexicon
from davy.text.match import matcher
from davy.web.error_pages import AnalyzeError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

SURE = 0.5
"""The probability from which on a language that the map brings is believed."""
LONGEST_UNKNOWN = 2
"""Letters of the longest word of a text whose language can't be told: `f u c k`."""
MOST_NAMED = 20
"""Attributes that an error names."""


@dataclass(frozen=True, slots=True)
class CommentLanguages:
    """The languages of a comment: as sent, as detected, those that it is scored in, and where these come from."""

    requested: list[str]
    detected: list[str]
    used: list[str]
    source: str


def find_languages(
    text: str, requested: Sequence[str] | None, defaults: Mapping[str, str | None], read: Iterable[str]
) -> CommentLanguages:
    """Return the languages: those that were sent, else what is detected, else the first of the defaults.

    `defaults` are languages by who names them (key, community, server, detector); `read` are those that the map brings.
    """
    given = list(dict.fromkeys(lang.strip().lower().partition("-")[0] for lang in requested or [] if lang.strip()))
    lang = _detect(text, frozenset(read))
    detected = [lang] if lang else []
    if given:
        return CommentLanguages(given, detected, given, "request")
    if detected:
        return CommentLanguages(given, detected, detected, "detected")
    who, default = next(((who, lang) for who, lang in defaults.items() if lang), ("", None))
    return CommentLanguages(given, detected, [default] if default else [], who)


def _detect(text: str, read: frozenset[str]) -> str:
    """Return a text's language; nothing where it can't be told."""
    if not any(len(word) > LONGEST_UNKNOWN for word in text.split()):
        return ""
    found = detect_languages([text])[0]
    lang, probability = detect(text) if read else ("", 0.0)
    lang = lang if lang in read and probability >= SURE else found
    return "" if lang == "und" else lang


@dataclass(frozen=True, slots=True)
class Plan:
    """What each attribute is computed from in each language, and the languages that an attribute lacks."""

    sources: Mapping[str, Mapping[str, AttributeSource]]
    missing: Mapping[str, Sequence[str]]

    def languages_by_model(self) -> dict[str | None, list[str]]:
        """Return which detectors are asked (None is the one that answers by default, and comes first), in which
        languages."""
        found: dict[str | None, list[str]] = {}
        for by_lang in self.sources.values():
            for lang, source in by_lang.items():
                langs = found.setdefault(source.model, [])
                if lang not in langs:
                    langs.append(lang)
        return dict(sorted(found.items(), key=lambda pair: pair[0] is not None))


def plan_attributes(
    attributes: AttributeMap,
    names: Iterable[str],
    languages: Sequence[str],
    detector_of: Callable[[str | None], Detector],
    *,
    own_words: bool = False,
) -> Plan:
    """Return what is computed for the attributes asked for; `own_words`: the server has a word list of its own."""
    sources: dict[str, Mapping[str, AttributeSource]] = {}
    missing: dict[str, Sequence[str]] = {}
    for name in names:
        by_lang = {lang: attributes.source(name, lang) for lang in languages}
        lacks = [
            lang
            for lang, source in by_lang.items()
            if not source
            or (source.words and lang not in SHIPPED and not own_words)
            or not _answers(detector_of(source.model), lang, source)
        ]
        if lacks:
            missing[name] = lacks
        else:
            sources[name] = by_lang
    return Plan(sources, missing)


def _answers(detector: Detector, lang: str, source: AttributeSource) -> bool:
    """Return whether a detector says beforehand that it answers what a source takes, in a language."""
    abilities = detector.scorer.abilities
    if abilities.languages is not None and lang not in abilities.languages:
        return False
    asked = abilities.questions_in(lang) if abilities.questions_in is not None else detector.scorer.questions
    return source.fits({question.name: question for question in asked})


def unsupported_error(
    missing: Mapping[str, Sequence[str]], attributes: AttributeMap, languages: CommentLanguages
) -> AnalyzeError:
    """Return Perspective's error for attributes that can't be answered, with every one of them in it."""
    sides = {"requestedLanguages": languages.requested, "detectedLanguages": languages.detected}
    shown = {key: it for key, it in sides.items() if it}
    by_langs: dict[str, list[str]] = {}
    for name, langs in missing.items():
        by_langs.setdefault(", ".join(langs), []).append(name)
    parts = []
    for langs, names in by_langs.items():
        many = len(names) > 1
        verb = "do" if many else "does"
        parts.append(f"Attribute{'s' * many} {_listed(names)} {verb} not support request languages: {langs}")
    hints = {name: it for name in missing if (it := attributes.attributes[name].instead)}
    if hints:
        parts.append("Ask for " + ", ".join(f"{other} in place of {name}" for name, other in hints.items()))
    error = AnalyzeError(". ".join(parts))
    error.details = [
        AnalyzeError(
            "",
            "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE",
            languageNotSupportedByAttributeError={**shown, "attribute": name},
        ).details[0]
        for name in missing
    ]
    return error


def unknown_error(names: Sequence[str]) -> AnalyzeError:
    """Return Perspective's error for attributes that nobody knows, with every one of them in it."""
    return AnalyzeError(f"Unknown requested attribute{'s' * (len(names) > 1)}: {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(name[:100] for name in names[:MOST_NAMED]) + more


@dataclass(frozen=True, slots=True)
class ModelScores:
    """What one detector said of a comment's parts: the rows of each language in turn."""

    detector: str
    scores: Scores
    texts: Sequence[str]
    languages: Sequence[str]
    _columns: dict[str, Any] = field(default_factory=dict)

    def values(self, source: AttributeSource, lang: str, lexicon: Lexicon) -> list[float] | None:
        """Return the score of each part in a language; None where the detector has none for one of them."""
        import numpy as np

        if source.text not in self._columns:
            self._columns[source.text] = attribute_scores(self.scores, source, has_word_in(self.texts, lexicon))
        if self._columns[source.text] is None:
            return None
        chances, there = self._columns[source.text]
        parts = len(self.texts) // len(self.languages)
        rows = slice(self.languages.index(lang) * parts, (self.languages.index(lang) + 1) * parts)
        return np.asarray(chances, dtype=np.float64)[rows].tolist() if np.all(there[rows]) else None


def has_word_in(texts: Sequence[str], lexicon: Lexicon) -> Callable[[tuple[str, ...]], Array]:
    """Return the function that says which texts have a word of some kinds; plain lists have one kind, which counts."""
    import numpy as np

    found = [matcher(lexicon).kinds(text) for text in texts]
    return lambda kinds: np.array([float(not it.isdisjoint({*kinds, "term"})) for it in found])


def scores_of(
    plan: Plan, scored: Mapping[str | None, ModelScores], lexicon: Lexicon
) -> tuple[dict[str, list[float]], dict[str, list[str]]]:
    """Return each attribute's score of each part, and the languages in which a detector gave none after all.

    A comment in several languages has the score of the language in which it is highest.
    """
    found: dict[str, list[float]] = {}
    missing: dict[str, list[str]] = {}
    for name, by_lang in plan.sources.items():
        columns = {lang: scored[source.model].values(source, lang, lexicon) for lang, source in by_lang.items()}
        lacks = [lang for lang, column in columns.items() if column is None]
        if lacks:
            missing[name] = lacks
        else:
            found[name] = [max(values) for values in zip(*(it for it in columns.values() if it), strict=True)]
    return found, missing


def behind(
    names: Iterable[str], plan: Plan, scored: Mapping[str | None, ModelScores]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return for each attribute and language what stands behind it, who answered, and whether it is measured."""
    return {
        name: {
            lang: {
                "behind": source.text,
                "approximation": source.approximation,
                "detector": scored[source.model].detector,
            }
            for lang, source in plan.sources[name].items()
        }
        for name in names
    }
