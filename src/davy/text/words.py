"""The words of a text, as people mark them: runs without spaces, every emoji a word of its own.

A text and spans in, places of words out, and back. Chinese and Japanese have no spaces, so each of their characters is
a word. The one thing to know: between two neighbouring words there is nothing but space, so that a run of marked words
is one span.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from davy.core import Question
from davy.core.spans import TextSpan, parse_spans
from davy.text import emoji

_PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


@lru_cache(maxsize=512)
def find_words(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each word of a text starts and ends, in order."""
    words: list[tuple[int, int]] = []
    start = 0
    for piece, is_emoji in emoji.split(text):
        if is_emoji:
            words.append((start, start + len(piece)))
        else:
            words += [(start + found.start(), start + found.end()) for found in _PIECE.finditer(piece)]
        start += len(piece)
    return tuple(words)


def marked_words(text: str, spans: Iterable[TextSpan]) -> set[int]:
    """Return the places of the words that spans touch, whatever their labels."""
    words = find_words(text)
    found: set[int] = set()
    for span in spans:
        first = bisect_right(words, span.start, key=lambda word: word[1])
        after = bisect_left(words, span.end, key=lambda word: word[0])
        found.update(range(first, after))
    return found


def join_words(text: str, places: Collection[int], label: str = "") -> list[TextSpan]:
    """Return the spans of some words: neighbours are one span."""
    words = find_words(text)
    spans: list[TextSpan] = []
    for place in sorted(places):
        if place - 1 in places and spans:
            spans[-1] = TextSpan(spans[-1].start, words[place][1], label)
        else:
            spans.append(TextSpan(*words[place], label))
    return spans


def snap_answer(question: Question, text: str, answer: Sequence[str]) -> tuple[str, ...]:
    """Return an answer to a `spans` question in whole words, label by label, in the text's order."""
    spans = parse_spans(answer)
    snapped = [
        span
        for label in dict.fromkeys(span.label for span in spans)
        for span in join_words(text, marked_words(text, (it for it in spans if it.label == label)), label)
    ]
    order = ("", *question.label_names)
    return tuple(str(span) for span in sorted(snapped, key=lambda it: (it.start, it.end, order.index(it.label))))


def span_texts(text: str, answer: Iterable[str]) -> list[str]:
    """Return what an answer marked, as it stands in the text."""
    return [text[span.start : span.end] for span in parse_spans(answer)]
