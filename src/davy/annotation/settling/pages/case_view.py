"""A case as an expert's page shows it: the split without names, what is open, and the questions to answer.

`settling.expert_cases` gives a sitting; plain values for `case.html` come out. Comments are
masked like posts. Questions are rendered by the labelling page's own template, with
conditions only on what the expert answers here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.datastructures import FormData

from davy.annotation.labelling.pages.questions import (
    LONGEST_OWN,
    SEPARATOR,
    MarkRow,
    PostText,
    QuestionView,
    mark_rows,
    overlay_rows,
    question_views,
    read_marks,
)
from davy.annotation.labelling.pages.sheets import answer_titles, post_text
from davy.annotation.settling.expert_cases import AnonymousAnswer, CaseReview
from davy.core import Guideline, Post, Scheme
from davy.core.annotation import Answers
from davy.core.spans import TextSpan, parse_spans
from davy.text.words import join_words, marked_words
from davy.web.context import Context
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One label, and the letters of those who chose it; `settled` where it is what stands."""

    title: str
    letters: tuple[str, ...]
    settled: bool = False


@dataclass(frozen=True, slots=True)
class AnswerSplit:
    """How people answered one question. `state` is `open`, `settled` or empty where nothing hangs on it."""

    name: str
    title: str
    rows: tuple[SplitRow, ...]
    state: str
    basis: str = ""
    n: int = 0
    overlay: tuple[MarkRow, ...] = ()
    """Of a question about words: the text with who marked what."""
    silent: tuple[str, ...] = ()
    """Those who marked nothing."""


def case_values(
    context: Context, words: Translator, scheme: Scheme, here: CaseReview, post: Post, *, missing: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what `parts/case_questions.html` and `case.html` need of a sitting about a post."""
    asked = question_views(scheme, scheme.guideline, words.lang)
    text = post_text(context, post)
    return {
        "case": here.case,
        "splits": [split for question in asked if (split := _split(question, here, words, text))],
        "flags": _flags(here.voices, words),
        "comments": [
            (voice.letter, context.mask(voice.comment), voice.comment) for voice in here.voices if voice.comment
        ],
        "voices": len(here.voices),
        "stands": [
            (question.title, answer_titles(question, verdict.labels, text.masked), verdict.basis)
            for question, verdict in _stands(asked, here)
        ],
        "doubts": _doubts(asked, here, text.masked),
        "questions": open_questions(scheme, scheme.guideline, words.lang, here),
        "applying": {question.name for question in here.questions},
        "chosen": {**_common_marks(here, text), **here.answers},
        "missing": tuple(missing),
        "wrong": (),
        "longest": LONGEST_OWN,
        "mark_rows": mark_rows,
        "post_text": text,
    }


def _common_marks(here: CaseReview, text: PostText) -> dict[str, tuple[str, ...]]:
    """Return, for the questions about words, those that half of the people or more marked: where an expert starts."""
    common = {}
    for question in (it for it in here.questions if it.marks_text):
        voices = [parse_spans(it.answers[question.name]) for it in here.voices if question.name in it.answers]
        spans: list[TextSpan] = []
        for label in question.label_names or ("",):
            marks = [marked_words(text.plain, (span for span in mine if span.label == label)) for mine in voices]
            votes = Counter(word for mine in marks for word in mine)
            spans += join_words(text.plain, {word for word, n in votes.items() if 2 * n >= len(voices)}, label)
        common[question.name] = tuple(map(str, spans))
    return common


def open_questions(
    scheme: Scheme, guideline: Guideline | None, lang: str, here: CaseReview
) -> tuple[QuestionView, ...]:
    """Return the questions that the expert answers; what hangs on a settled answer hangs on nothing here."""
    names = {question.name for question in here.questions}
    views = []
    for asked in question_views(scheme, guideline, lang):
        if asked.name not in names:
            continue
        parent = asked.under[0] if asked.under else None
        if parent is not None and parent not in names:
            above = set(here.settled[parent].labels) if parent in here.settled else set()
            groups = tuple(
                (
                    group,
                    tuple(
                        replace(option, under=()) for option in options if not option.under or above & set(option.under)
                    ),
                )
                for group, options in asked.groups
            )
            asked = replace(asked, under=None, groups=groups)
        views.append(asked)
    return tuple(views)


def read_decision(scheme: Scheme, form: FormData, text: str = "") -> Answers:
    """Return what a form answers to the questions that it showed about a post with this text.

    What is open to the expert is not checked here.
    """
    shown = {value for value in form.getlist("asked") if isinstance(value, str)}
    answers: dict[str, tuple[str, ...]] = {}
    for question in scheme.questions:
        if question.name not in shown or question.derived is not None:
            continue
        given = [value for value in form.getlist(f"answer.{question.name}") if isinstance(value, str) and value]
        if question.marks_text:
            marks = read_marks(question, given, text)
            answers |= {question.name: marks} if marks or not question.required else {}
            continue
        own = form.get(f"other.{question.name}") if question.open else None
        given += [" ".join(label.split()) for label in own.split(SEPARATOR)] if isinstance(own, str) else []
        labels = tuple(dict.fromkeys(label for label in given if label))
        if not question.takes_several and len(labels) > 1:
            raise LocalizedError("choice")
        if any(len(label) > LONGEST_OWN or "|" in label for label in labels if label not in question.label_names):
            raise LocalizedError("choice")
        if labels or not question.is_required:
            answers[question.name] = labels
    return answers


def _split(question: QuestionView, here: CaseReview, words: Translator, text: PostText) -> AnswerSplit | None:
    if question.marks_text:
        return _marks_split(question, here, text)
    letters: dict[str, list[str]] = {}
    n = 0
    for voice in here.voices:
        if question.name in voice.answers:
            n += 1
            for label in voice.answers[question.name] or ("",):
                letters.setdefault(label, []).append(voice.letter)
    if not letters:
        return None
    order = [option.name for option in question.options]
    verdict = here.settled.get(question.name)
    rows = tuple(
        SplitRow(
            question.title_of(label) if label else words("label.nothing"),
            tuple(sorted(letters[label])),
            verdict is not None and (label in verdict.labels or (not label and not verdict.labels)),
        )
        for label in sorted(letters, key=lambda name: order.index(name) if name in order else len(order))
    )
    return AnswerSplit(question.name, question.title, rows, *_state(question, here), n)


def _state(question: QuestionView, here: CaseReview) -> tuple[str, str]:
    """Return whether a question is open to the expert or settled, and on what basis."""
    verdict = here.settled.get(question.name)
    is_open = any(other.name == question.name for other in here.questions)
    return "open" if is_open else "settled" if verdict else "", verdict.basis if verdict else ""


def _marks_split(question: QuestionView, here: CaseReview, text: PostText) -> AnswerSplit | None:
    """Return what people marked, laid over each other on the text."""
    voices = [(voice.letter, voice.answers[question.name]) for voice in here.voices if question.name in voice.answers]
    overlay = tuple(overlay_rows(question, text, voices))
    if not voices:
        return None
    silent = tuple(sorted(letter for letter, answer in voices if not answer))
    return AnswerSplit(question.name, question.title, (), *_state(question, here), len(voices), overlay, silent)


def _flags(voices: Sequence[AnonymousAnswer], words: Translator) -> list[tuple[str, str]]:
    titles = {
        "unsure": words("label.flag_unsure"),
        "other target": words("label.flag_other_target"),
        "unrealistic": words("label.flag_unrealistic"),
        "ambiguous": words("label.flag_ambiguous"),
    }
    raised = {flag: sorted(voice.letter for voice in voices if flag in voice.flags) for flag in titles}
    return [(titles[flag], ", ".join(letters)) for flag, letters in raised.items() if letters]


def _stands(asked: Sequence[QuestionView], here: CaseReview) -> list[tuple[QuestionView, Any]]:
    return [(question, here.settled[question.name]) for question in asked if question.name in here.settled]


def _doubts(asked: Sequence[QuestionView], here: CaseReview, masked: str) -> list[tuple[str, str, float, str]]:
    """Return what an audit doubts: (question, what stands, how far, who doubts)."""
    kept: Mapping[str, Any] = here.case.outcome.get("doubts", {})
    sources = dict(zip(here.case.questions, here.case.why, strict=False))
    return [
        (
            question.title,
            answer_titles(question, kept[question.name]["settled"].split("|"), masked),
            float(kept[question.name]["doubt"]),
            sources.get(question.name, ""),
        )
        for question in asked
        if question.name in kept
    ]
