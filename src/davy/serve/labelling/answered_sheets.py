"""A post that somebody answered, as they see it again: what they said and, in training, what was right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from davy.annotate.feedback import Feedback
from davy.annotate.labelling import Sheet
from davy.core import Annotation
from davy.serve.context import Context
from davy.serve.i18n import Translator
from davy.serve.labelling.display_choice import display_choice_of
from davy.serve.labelling.questions import QuestionView, question_views


@dataclass(frozen=True, slots=True)
class AnsweredSheet:
    """A sheet with what became of it."""

    sheet: Sheet
    annotation: Annotation | None
    feedback: Mapping[str, Feedback] | None = None
    """In training: what is right, by question."""


def answered_sheet_values(context: Context, words: Translator, it: AnsweredSheet) -> dict[str, Any]:
    """Return what `parts/answered.html` shows."""
    sheet, annotation = it.sheet, it.annotation
    asked = question_views(sheet.scheme, sheet.guideline, words.lang)
    given = dict(annotation.answers) if annotation else {}
    return {
        "post": sheet.post,
        "masked": context.mask(sheet.post.text),
        "veil": display_choice_of(sheet.project, sheet.member),
        "refused": annotation is not None and annotation.refused,
        "comment": annotation.comment if annotation else None,
        "answers": [(q.title, _said(q, given[q.name])) for q in asked if q.name in given],
        "feedback": [_compared(q, it.feedback[q.name], q.name in given) for q in asked if q.name in it.feedback]
        if it.feedback
        else None,
    }


def _compared(question: QuestionView, seen: Feedback, asked: bool) -> dict[str, Any]:
    """Return one question's answer beside the right one, with the definition of what is right."""
    return {
        "title": question.title,
        "asked": asked,
        "given": _said(question, seen.given),
        "gold": _said(question, seen.gold),
        "right": seen.right,
        "definitions": [option.definition for option in question.options if option.name in seen.gold],
    }


def _said(question: QuestionView, labels: tuple[str, ...]) -> str:
    return ", ".join(question.title_of(label) for label in labels)
