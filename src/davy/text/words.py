"""Words and sentences of a text, and the endings under which a word counts as the same word.

A text in, places of words and sentences out, and back. A word is a run without spaces; every emoji and every Chinese or
Japanese character is a word of its own. Between two neighbouring words there is nothing but space, so that a run of
marked words is one span. Sentences are found by rules, not by a model. Spellings of a lexicon's entry are generous on
purpose: a made-up form does no harm, and forms that are other words are entries of kind `harmless`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from davy.core import Question
from davy.core.spans import TextSpan, parse_spans
from davy.text import emoji
from davy.text.lexicons.read import LexiconEntry

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
    marked: set[int] = set()
    for span in spans:
        first = bisect_right(words, span.start, key=lambda word: word[1])
        after = bisect_left(words, span.end, key=lambda word: word[0])
        marked.update(range(first, after))
    return marked


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


_SENTENCE_END = re.compile(r"[.!?…‼⁉。！？]+[\"'’”»)\]]*(?=\s|$)|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|bzw|z\.b|d\.h|u\.a|usw|ca|nr|hr|fr|evtl|ggf)|\b[a-zäöü]|\b\d{1,4})\.$",
    re.IGNORECASE,
)


def sentence_spans(text: str, *, most: int = 100) -> list[tuple[int, int]]:
    """Return the sentences of a text in their order; what comes after `most` - 1 of them is the last one."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if len(spans) >= most - 1:
            break
        if match.group().startswith("\n"):
            end = match.start()
        elif _ABBREVIATION.search(text[start : match.end()][-12:]) and match.end() < len(text):
            continue
        else:
            end = match.end()
        spans += _trimmed(text, start, end)
        start = match.end()
    return spans + _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the span without space at its ends; nothing where there is only space."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    right = len(part.rstrip())
    return [(start + left, start + right)] if right > left else []


_GERMAN: dict[str, tuple[str, ...]] = {
    "s": ("s",),
    "noun": ("e", "n", "en", "s", "es", "er", "ern", "in", "innen"),
    "verb": ("e", "st", "t", "en", "te", "ten", "end", "ende", "enden", "er", "ers", "ern", "erin", "erei", "erisch"),
    "adj": ("e", "er", "es", "en", "em", "ere", "eren", "ste", "sten"),
}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def inflected_forms(entry: LexiconEntry) -> list[str]:
    """Return the spellings of an entry, the term itself first; `ä` is also spelt `ae`."""
    term = entry.term
    found = [term, *(_german(term, entry.inflect) if entry.lang == "de" else _english(term, entry.inflect))]
    found += [form.translate(_UMLAUTS) for form in found]
    return list(dict.fromkeys(found))


def _german(term: str, inflect: str) -> list[str]:
    endings = [term + ending for ending in _GERMAN.get(inflect, ())]
    return [*endings, f"ge{term}t", f"ge{term}te", f"ge{term}ten", f"ge{term}ter"] if inflect == "verb" else endings


def _english(term: str, inflect: str) -> list[str]:
    if not inflect:
        return []
    if term.endswith("y") and term[-2:-1] not in ("a", "e", "o", "u"):
        found = [term + "s", term[:-1] + "ies"]
    elif term.endswith(("s", "x", "z", "ch", "sh")):
        found = [term + "es", term + "s"]
    else:
        found = [term + "s"]
    stem = term.removesuffix("e")
    if inflect == "verb":
        found += [stem + ending for ending in ("ing", "in", "ings", "ed", "er", "ers", "able")]
    if inflect == "adj":
        found += [(stem[:-1] + "i" if term.endswith("y") else stem) + ending for ending in ("er", "est", "ly", "ness")]
    return found
