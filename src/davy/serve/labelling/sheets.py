"""One post with its questions, as the labelling page shows it.

What `annotate.work` gives out comes in, what the templates need goes out: masked text,
questions as HTML, answers filled in. Questions without answers look alike for everyone
who reads one language, so their HTML is made once and kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment
from markupsafe import Markup

from davy.annotate.labelling import Sheet
from davy.core import Annotation, Guideline, Scheme
from davy.core.annotation import Answers
from davy.serve.context import Context
from davy.serve.i18n import Translator
from davy.serve.labelling.display_choice import DisplayChoice, display_choice_of
from davy.serve.labelling.questions import LONGEST_OWN, IdentityKey, QuestionView, note_on_flag, question_views
from davy.serve.markdown import render_markdown
from davy.store.columns import new_id


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
    veil: DisplayChoice
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
    filled = filled or (_of_annotation(before) if before else BLANK)
    asked = question_views(sheet.scheme, sheet.guideline, words.lang)
    return SheetView(
        sheet=sheet,
        masked=context.mask(sheet.post.text),
        veil=display_choice_of(sheet.project, sheet.member),
        questions_html=questions_html(context.templates, words, sheet.scheme, asked, filled),
        flag_words=_flag_words(sheet.guideline, words),
        changes=None if before is None or before.refused else changed_since(sheet.scheme, sheet.guideline, before),
        annotation_id=filled.annotation_id or new_id(),
        flags=filled.flags,
        comment=filled.comment,
        seconds=filled.seconds,
        armed=filled.armed,
    )


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
    versions = {it.version: it for it in (*scheme.guidelines, *((guideline,) if guideline else ()))}
    return tuple(
        it.changes for version, it in sorted(versions.items()) if version > before.guideline_version and it.changes
    )


def questions_html(
    templates: Environment, words: Translator, scheme: Scheme, asked: tuple[QuestionView, ...], filled: FormState
) -> Markup:
    """Return the fieldsets of the questions."""
    if not filled.answers and not filled.missing and not filled.wrong:
        return _blank(templates, words, IdentityKey(scheme), IdentityKey(asked))
    applying = {question.name for question in scheme.asked(filled.answers)}
    return _html(templates, words, asked, applying, filled)


@lru_cache(maxsize=64)
def _blank(templates: Environment, words: Translator, scheme: IdentityKey, asked: IdentityKey) -> Markup:
    applying = {question.name for question in scheme.it.asked({})}
    return _html(templates, words, asked.it, applying, BLANK)


def _html(
    templates: Environment, words: Translator, asked: tuple[QuestionView, ...], applying: set[str], filled: FormState
) -> Markup:
    html = templates.get_template("parts/questions.html").render(
        t=words,
        questions=asked,
        applying=applying,
        chosen=filled.answers,
        missing=filled.missing,
        wrong=filled.wrong,
        longest=LONGEST_OWN,
    )
    return Markup(html)  # noqa: S704 — made by a template that escapes


def _flag_words(guideline: Guideline | None, words: Translator) -> tuple[tuple[str, str, str], ...]:
    titles = {
        "unsure": words("label.flag_unsure"),
        "other target": words("label.flag_other_target"),
        "unrealistic": words("label.flag_unrealistic"),
    }
    return tuple((flag, title, note_on_flag(guideline, flag, words.lang)) for flag, title in titles.items())


def _of_annotation(before: Annotation) -> FormState:
    flags = tuple(flag for flag in before.flags if flag != "refused")
    return FormState(before.answers, flags, before.comment or "")
