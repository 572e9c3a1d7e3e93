"""A scheme's questions as a form shows them, a form's fields as answers, and words of a post to tick.

A scheme and a language in, plain values for templates out; made once a scheme and kept. Conditions on derived questions
are turned into conditions on what people are asked, so that a script needs to compare names only. `read_answers` is
the way back. A question about words (`mark_rows`) is one row of words, or one a label: words are cut here, so that
browsers never count characters. Masking keeps the length, so offsets hold in both forms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from starlette.datastructures import FormData

from davy.core import FLAGS, Guideline, Question, Scheme, Wording
from davy.core.annotation import Answers
from davy.core.question_kind import HasKind
from davy.core.spans import parse_span, parse_spans
from davy.text.words import find_words, marked_words, snap_answer
from davy.web.errors import LocalizedError
from davy.web.i18n import translated_label, translated_title

MOST_WORDED = 6
"""A question with more labels than this lists them without their definitions, which are beside it."""
MOST_SHOWN = 12
"""A question with more labels than this gets a box to find one."""
LONGEST_OWN = 80
SEPARATOR = ";"
"""What people put between labels of their own."""

Condition = tuple[str, tuple[str, ...]]
"""(question, labels): holds where that question got one of those labels."""


@dataclass(frozen=True, slots=True)
class OptionView:
    """One label to choose. `under` are the labels of the parent that it is offered beneath; none: always."""

    id: str
    name: str
    title: str
    definition: str
    examples: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    priority: bool = False
    digit: str = ""
    """The key that chooses it, where the scheme's codes are digits."""
    code: str = ""
    """The short code that guidelines speak in, such as `2.1`."""
    shown: str = ""
    """The title with its code before it."""


@dataclass(frozen=True, slots=True)
class QuestionView(HasKind):
    """One question. `under` is its condition on an earlier one; `groups` are its options by heading."""

    id: str
    question: Question
    kind: str
    title: str
    definition: str
    under: Condition | None
    groups: tuple[tuple[str, tuple[OptionView, ...]], ...]
    notes: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """What the scheme calls it."""
        return self.question.name

    @property
    def open(self) -> bool:
        """Whether people may write labels of their own."""
        return self.question.open

    @property
    def required(self) -> bool:
        """Whether it can't be left without an answer."""
        return self.question.is_required

    @property
    def options(self) -> tuple[OptionView, ...]:
        """Every option in order."""
        return tuple(option for _, options in self.groups for option in options)

    @property
    def worded(self) -> bool:
        """Whether the definitions stand beneath the labels."""
        return all(
            sum(not option.under or label in option.under for option in self.options) <= MOST_WORDED
            for label in ({name for option in self.options for name in option.under} or {""})
        )

    @property
    def long(self) -> bool:
        """Whether finding a label takes a box to type in."""
        return len(self.options) > MOST_SHOWN

    def title_of(self, label: str) -> str:
        """Return a label's title with its code; one that the question does not list is its own."""
        return next((option.shown for option in self.options if option.name == label), label)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What a form holds: answers to the questions that apply, and which of those are still open."""

    answers: Answers
    missing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


class IdentityKey:
    """A cache key that compares objects by identity: comparing every word of two schemes would cost more."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.value is other.value


def question_views(scheme: Scheme, guideline: Guideline | None, lang: str) -> tuple[QuestionView, ...]:
    """Return the questions that people are asked, with words in `lang` and the guideline's notes where they belong."""
    return _cached_views(IdentityKey(scheme), _notes(scheme, guideline, lang), lang)


@lru_cache(maxsize=128)
def _cached_views(key: IdentityKey, notes: tuple[tuple[str, str, str], ...], lang: str) -> tuple[QuestionView, ...]:
    scheme: Scheme = key.value
    asked = [question for question in scheme.questions if question.derived is None]
    return tuple(_view(scheme, question, f"q{place}", notes, lang) for place, question in enumerate(asked, 1))


def _view(
    scheme: Scheme, question: Question, id: str, notes: tuple[tuple[str, str, str], ...], lang: str
) -> QuestionView:
    grouped: dict[str, list[OptionView]] = {}
    codes = [label.code or "" for label in question.labels]
    coded = all(len(code) == 1 and code.isdecimal() for code in codes) and len(set(codes)) == len(codes)
    for place, label in enumerate(question.labels, 1):
        option = OptionView(
            id=f"{id}-{place}",
            name=label.name,
            title=translated_title(label.title, label.name, lang),
            definition=label.definition.said_in(lang),
            examples=tuple(example.said_in(lang) for example in label.examples),
            under=_origin(scheme, (question.under[0], label.under))[1] if question.under and label.under else (),
            priority=label.priority,
            digit=label.code or "" if coded else "",
            code=label.code or "",
            shown=translated_label(label, lang),
        )
        grouped.setdefault(label.group or "", []).append(option)
    return QuestionView(
        id=id,
        question=question,
        kind=question.kind,
        title=translated_title(question.title, question.name, lang),
        definition=question.definition.said_in(lang),
        under=_origin(scheme, question.under) if question.under else None,
        groups=tuple((translated_title(Wording(), group, lang), tuple(options)) for group, options in grouped.items()),
        notes=tuple((name, words) for belongs, name, words in notes if belongs == question.name),
    )


def _origin(scheme: Scheme, condition: Condition) -> Condition:
    """Return a condition on a question that is asked: a derived one is traced to what it follows from."""
    name, needed = condition
    parent = scheme.question(name)
    if parent.derived is None:
        return condition
    origin, table = parent.derived
    return _origin(scheme, (origin, tuple(label for label, follows in table.items() if follows in needed)))


def _notes(scheme: Scheme, guideline: Guideline | None, lang: str) -> tuple[tuple[str, str, str], ...]:
    """Return the guideline's notes as (question, name, words): `question: name` names it, else it is the first.

    A note with the name of a flag is shown at the flag, by `note_on_flag`.
    """
    if guideline is None:
        return ()
    asked = [question.name for question in scheme.questions if question.derived is None]
    notes = []
    for name, words in guideline.notes.items():
        question, colon, rest = name.partition(":")
        belongs, title = (question, rest.strip()) if colon and question in asked else (asked[0], name)
        if name not in FLAGS:
            notes.append((belongs, translated_title(Wording(), title, lang), words.said_in(lang)))
    return tuple(notes)


def note_on_flag(guideline: Guideline | None, flag: str, lang: str) -> str:
    """Return what the guideline says of a flag, or nothing."""
    return guideline.notes[flag].said_in(lang) if guideline and flag in guideline.notes else ""


def read_answers(scheme: Scheme, form: FormData, text: str = "") -> AnswerForm:
    """Return what a form answers about a post with this text. What does not apply is left out: the answer above it
    was changed.

    A question counts as asked if the form showed it (`asked`), so that nobody answers
    "none of these" to what they never saw.
    """
    seen = {value for value in form.getlist("asked") if isinstance(value, str)}
    answers: dict[str, tuple[str, ...]] = {}
    wrong: list[str] = []
    for question in scheme.questions:
        if question.derived is not None or question.name not in {asked.name for asked in scheme.asked(answers)}:
            continue
        given = _given(question, form)
        above = scheme.completed(answers).get(question.under[0], ()) if question.under else ()
        if question.marks_text:
            marks = read_marks(question, given, text, above)
            if marks or not text.strip() or (not question.required and question.name in seen):
                answers[question.name] = marks
            continue
        labels = tuple(label for label in given if _offered(question, label, above))
        if labels or (not question.is_required and question.name in seen):
            answers[question.name] = labels
        if not question.takes_several and len(labels) > 1:
            raise LocalizedError("choice")
        wrong += [question.name] if any(len(label) > LONGEST_OWN or "|" in label for label in labels) else []
    missing = tuple(asked.name for asked in scheme.asked(answers) if asked.name not in answers)
    if scheme.faults({name: labels for name, labels in answers.items() if name not in wrong}):
        raise LocalizedError("choice")
    return AnswerForm(answers, missing, tuple(wrong))


def read_marks(
    question: Question, given: Sequence[str], text: str, above: Collection[str] | None = None
) -> tuple[str, ...]:
    """Return the words that a form marks as spans of the text; what our page can't have sent is refused.

    `above` is the answer to the question's parent: labels that don't fit beneath it are left out.
    """
    try:
        spans = [question.span(answer) for answer in given]
    except ValueError:
        raise LocalizedError("marks") from None
    if any(span.end > len(text) for span in spans):
        raise LocalizedError("marks")
    offered = [
        str(span) for span in spans if above is None or not span.label or question.label(span.label).fits_under(above)
    ]
    return snap_answer(question, text, offered)


def _given(question: Question, form: FormData) -> tuple[str, ...]:
    given = [value for value in form.getlist(f"answer.{question.name}") if isinstance(value, str) and value]
    own = form.get(f"other.{question.name}") if question.open else None
    for label in own.split(SEPARATOR) if isinstance(own, str) else ():
        written = " ".join(label.split())
        if written:
            given.append(_known(question, written))
    return tuple(dict.fromkeys(given))


def _known(question: Question, written: str) -> str:
    """Return the label that somebody wrote by hand although it is listed; else what they wrote."""
    try:
        return question.label(written).name
    except KeyError:
        return written


def _offered(question: Question, name: str, above: tuple[str, ...]) -> bool:
    return all(label.fits_under(above) for label in question.labels if label.name == name)


@dataclass(frozen=True, slots=True)
class PostText:
    """A post's text as a page shows it."""

    plain: str = ""
    masked: str = ""
    lang: str | None = None


NO_TEXT = PostText()


@dataclass(frozen=True, slots=True)
class WordView:
    """One word to tick, with the space before it; `letters` are those who marked it, where answers are shown."""

    value: str
    gap: str
    masked: str
    plain: str
    marked: bool = False
    letters: str = ""


@dataclass(frozen=True, slots=True)
class MarkRow:
    """The words of a post to mark as one label; without a title where the question has one kind of span."""

    id: str
    title: str
    definition: str
    words: tuple[WordView, ...]


def mark_rows(question: QuestionView, text: PostText, chosen: Sequence[str] = ()) -> list[MarkRow]:
    """Return the rows of a question's form, with what is chosen already; none for a text without words."""
    if not find_words(text.plain):
        return []
    kinds = [(it.id, it.name, it.title, it.definition) for it in question.options] or [(f"{question.id}-0", "", "", "")]
    spans = parse_spans(chosen)
    return [
        MarkRow(
            id, title, definition, _words(text, label, marked_words(text.plain, (s for s in spans if s.label == label)))
        )
        for id, label, title, definition in kinds
    ]


def overlay_rows(question: QuestionView, text: PostText, voices: Iterable[tuple[str, Sequence[str]]]) -> list[MarkRow]:
    """Return the post's words with the letters of those who marked each; only labels that somebody used."""
    marked = [(letter, parse_spans(answer)) for letter, answer in voices]
    rows = []
    for row in mark_rows(question, text):
        label = parse_span(row.words[0].value).label
        letters: dict[int, str] = {}
        for letter, spans in sorted(marked):
            for place in marked_words(text.plain, (span for span in spans if span.label == label)):
                letters[place] = letters.get(place, "") + letter
        if letters or not question.options:
            words = _words(text, label, letters, letters)
            rows.append(MarkRow(row.id, row.title, row.definition, words))
    return rows


def shown_marks(answer: Iterable[str], masked: str, title_of: Callable[[str], str]) -> str:
    """Return what an answer marked, quoted from the masked text, each passage with its label if it has one."""
    return " · ".join(
        f"“{masked[span.start : span.end]}”" + (f" ({title_of(span.label)})" if span.label else "")
        for span in parse_spans(answer)
    )


def _words(
    text: PostText, label: str, marked: Iterable[int], letters: dict[int, str] | None = None
) -> tuple[WordView, ...]:
    chosen, views, last = set(marked), [], 0
    for place, (start, end) in enumerate(find_words(text.plain)):
        views.append(
            WordView(
                f"{start}-{end}" + (f":{label}" if label else ""),
                text.plain[last:start],
                text.masked[start:end],
                text.plain[start:end],
                place in chosen,
                (letters or {}).get(place, ""),
            )
        )
        last = end
    return tuple(views)
