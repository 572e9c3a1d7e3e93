"""One post with its questions, as the labelling page shows it: to answer, or answered.

A `Sheet` of `labelling.labelling` comes in, what the templates need goes out: masked text, questions as HTML,
answers filled in and, in training, what was right. Questions without answers look alike for everyone who reads
one language, so their HTML is made once and kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from davy.annotation.labelling.labelling import Sheet
from davy.annotation.labelling.pages.questions import (
    LONGEST_OWN,
    NO_TEXT,
    IdentityKey,
    PostText,
    QuestionView,
    mark_rows,
    note_on_flag,
    question_views,
    shown_marks,
)
from davy.annotation.labelling.screening import Feedback
from davy.annotation.project.project import Member, Phase, Project
from davy.core import Annotation, Guideline, Post, Scheme
from davy.core.annotation import Answers
from davy.store.columns import new_id
from davy.web.context import Context
from davy.web.i18n import Translator
from davy.web.markdown import render_markdown

TEXTS: tuple[str, ...] = ("masked", "blurred", "plain")
PICTURES: tuple[str, ...] = ("grey", "blurred", "plain")


@dataclass(frozen=True, slots=True)
class DisplayChoice:
    """How a person wants to see posts before they ask for more: kept per project."""

    text: str = "masked"
    pictures: str = "grey"


@dataclass(frozen=True, slots=True)
class FormState:
    """What a form holds already: nothing at first, an earlier answer, or what was sent with something missing."""

    answers: Answers
    flags: Collection[str] = ()
    comment: str = ""
    seconds: float = 0.0
    annotation_id: str = ""
    missing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    armed: bool = False
    """Whether the next press of "refuse" refuses."""


BLANK = FormState({})


@dataclass(frozen=True, slots=True)
class SheetView:
    """A sheet for `parts/sheet.html`."""

    sheet: Sheet
    masked: str
    display: DisplayChoice
    questions_html: Markup
    flag_words: tuple[tuple[str, str, str], ...]
    changes: tuple[str, ...] | None
    """What changed in the guideline since an earlier answer; None where this is no second look."""
    annotation_id: str
    flags: Collection[str]
    comment: str
    seconds: float
    armed: bool

    @property
    def guideline_version(self) -> int:
        """The version of the guideline beside it."""
        return self.sheet.guideline.version if self.sheet.guideline else 0


@dataclass(frozen=True, slots=True)
class AnsweredSheet:
    """A sheet with what became of it."""

    sheet: Sheet
    annotation: Annotation | None
    feedback: Mapping[str, Feedback] | None = None
    """In training: what is right, by question."""


@dataclass(frozen=True, slots=True)
class GuidelineView:
    """The guideline and the definitions, for `parts/guide.html`."""

    version: int
    changes: str
    text: Markup | str
    warning: str
    questions: tuple[QuestionView, ...]


def sheet_view(context: Context, words: Translator, sheet: Sheet, filled: FormState | None = None) -> SheetView:
    """Return a sheet for the page; without `filled` the form is empty, or holds the earlier answer."""
    before = sheet.before
    filled = filled or (_state_of(before) if before else BLANK)
    asked = question_views(sheet.scheme, sheet.guideline, words.lang)
    return SheetView(
        sheet=sheet,
        masked=context.mask(sheet.post.text),
        display=display_choice_of(sheet.project, sheet.member),
        questions_html=questions_html(
            context.templates, words, sheet.scheme, asked, filled, post_text(context, sheet.post)
        ),
        flag_words=_flag_words(sheet.phase, sheet.guideline, words),
        changes=None if before is None or before.refused else changed_since(sheet.scheme, sheet.guideline, before),
        annotation_id=filled.annotation_id or new_id(),
        flags=filled.flags,
        comment=filled.comment,
        seconds=filled.seconds,
        armed=filled.armed,
    )


def answered_sheet_values(context: Context, words: Translator, answered: AnsweredSheet) -> dict[str, Any]:
    """Return what `parts/answered.html` shows."""
    sheet, annotation = answered.sheet, answered.annotation
    asked = question_views(sheet.scheme, sheet.guideline, words.lang)
    given = dict(annotation.answers) if annotation else {}
    masked = context.mask(sheet.post.text)
    return {
        "post": sheet.post,
        "masked": masked,
        "display": display_choice_of(sheet.project, sheet.member),
        "refused": annotation is not None and annotation.refused,
        "comment": annotation.comment if annotation else None,
        "answers": [(q.title, answer_titles(q, given[q.name], masked)) for q in asked if q.name in given],
        "feedback": [
            _feedback_values(q, answered.feedback[q.name], q.name in given, masked)
            for q in asked
            if q.name in answered.feedback
        ]
        if answered.feedback
        else None,
    }


def display_choice_of(project: Project, member: Member) -> DisplayChoice:
    """Return a person's choice, else the project's; a choice that is not known counts as none."""
    care = project.settings.get("care") or {}
    text = member.choices.get("text", care.get("veil"))
    pictures = member.choices.get("pictures")
    return DisplayChoice(text if text in TEXTS else "masked", pictures if pictures in PICTURES else "grey")


def guideline_view(scheme: Scheme, guideline: Guideline | None, words: Translator) -> GuidelineView:
    """Return the guideline with the definitions of the questions."""
    asked = question_views(scheme, guideline, words.lang)
    return GuidelineView(
        version=guideline.version if guideline else 0,
        changes=guideline.changes if guideline and guideline.version > 1 else "",
        text=render_markdown(guideline.text.said_in(words.lang)) if guideline else "",
        warning=scheme.warning.said_in(words.lang),
        questions=asked,
    )


def changed_since(scheme: Scheme, guideline: Guideline | None, before: Annotation) -> tuple[str, ...]:
    """Return what later guidelines say they changed, oldest first."""
    versions = {each.version: each for each in (*scheme.guidelines, *((guideline,) if guideline else ()))}
    return tuple(
        each.changes
        for version, each in sorted(versions.items())
        if version > before.guideline_version and each.changes
    )


def questions_html(
    templates: Environment,
    words: Translator,
    scheme: Scheme,
    asked: tuple[QuestionView, ...],
    filled: FormState,
    text: PostText = NO_TEXT,
) -> Markup:
    """Return the fieldsets of the questions; `text` is the post's, for questions about words of it."""
    blank = not filled.answers and not filled.missing and not filled.wrong
    if blank and not any(question.marks_text for question in asked):
        return _blank(templates, words, IdentityKey(scheme), IdentityKey(asked))
    applying = {question.name for question in scheme.asked(filled.answers)}
    return _html(templates, words, asked, applying, filled, text)


def post_text(context: Context, post: Post) -> PostText:
    """Return a post's text as its questions show it."""
    return PostText(post.text, context.mask(post.text), post.lang)


@lru_cache(maxsize=64)
def _blank(templates: Environment, words: Translator, scheme: IdentityKey, asked: IdentityKey) -> Markup:
    applying = {question.name for question in scheme.value.asked({})}
    return _html(templates, words, asked.value, applying, BLANK, NO_TEXT)


def _html(
    templates: Environment,
    words: Translator,
    asked: tuple[QuestionView, ...],
    applying: set[str],
    filled: FormState,
    text: PostText,
) -> Markup:
    html = templates.get_template("parts/questions.html").render(
        t=words,
        questions=asked,
        applying=applying,
        chosen=filled.answers,
        missing=filled.missing,
        wrong=filled.wrong,
        longest=LONGEST_OWN,
        mark_rows=mark_rows,
        post_text=text,
    )
    return Markup(html)  # noqa: S704 — made by a template that escapes


def flag_titles(words: Translator) -> dict[str, str]:
    """Return what each flag is called."""
    return {
        "unsure": words("label.flag_unsure"),
        "other target": words("label.flag_other_target"),
        "unrealistic": words("label.flag_unrealistic"),
        "ambiguous": words("label.flag_ambiguous"),
    }


def _flag_words(phase: Phase, guideline: Guideline | None, words: Translator) -> tuple[tuple[str, str, str], ...]:
    titles = flag_titles(words)
    flags = phase.behaviour.flags
    return tuple((flag, titles[flag], note_on_flag(guideline, flag, words.lang)) for flag in flags)


def _state_of(before: Annotation) -> FormState:
    flags = tuple(flag for flag in before.flags if flag != "refused")
    return FormState(before.answers, flags, before.comment or "")


def _feedback_values(question: QuestionView, feedback: Feedback, asked: bool, masked: str) -> dict[str, Any]:
    """Return one question's answer beside the right one, with the definition of what is right."""
    return {
        "title": question.title,
        "asked": asked,
        "given": answer_titles(question, feedback.given, masked),
        "gold": answer_titles(question, feedback.gold, masked),
        "right": feedback.right,
        "definitions": [option.definition for option in question.options if option.name in feedback.gold],
    }


def answer_titles(question: QuestionView, labels: Sequence[str], masked: str) -> str:
    """Return an answer as people read it: its labels, or the words that it marks in the masked text."""
    if question.marks_text:
        return shown_marks(labels, masked, question.title_of)
    return ", ".join(question.title_of(label) for label in labels)
