"""A question about words of the post: the post's text as words to tick, and what somebody marked in words.

A question, a post's text and its masked form in, rows for `parts/questions.html` out: one row, or one a label. Words
are cut here, so that browsers never count characters. Masking keeps the length, so offsets hold in both forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from davy.annotation.labelling.pages.questions import QuestionView
from davy.core.spans import parse_span, parse_spans
from davy.text.words import find_words, marked_words


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
    chosen, found, last = set(marked), [], 0
    for place, (start, end) in enumerate(find_words(text.plain)):
        found.append(
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
    return tuple(found)
