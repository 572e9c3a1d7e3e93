"""Spans: stretches of a post's text that somebody marked, as answers `start-end` or `start-end:label`.

Answers in, `TextSpan`s out, and back. Offsets count the characters (code points) of the post's own text, not of a
masked view of it; the end is the first character after the span.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FORM = re.compile(r"(\d{1,9})-(\d{1,9})(?::(.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class TextSpan:
    """`text[start:end]`, and what it was marked as; the label is empty where a question has only one kind of span."""

    start: int
    end: int
    label: str = ""

    def __str__(self) -> str:
        return f"{self.start}-{self.end}" + (f":{self.label}" if self.label else "")


def parse_span(answer: str) -> TextSpan:
    """Return the span that an answer names; another text raises ValueError with what is wrong."""
    match = _FORM.fullmatch(answer.strip())
    if match is None:
        raise ValueError(f"{answer[:40]!r} is no span such as 12-17 or 12-17:label")
    start, end = int(match[1]), int(match[2])
    if end <= start:
        raise ValueError(f"span {start}-{end} ends before it starts")
    return TextSpan(start, end, (match[3] or "").strip())


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """Return how much of what either answer marks both mark as the same, in characters; 1 where neither marks any."""
    first, second = (
        {(place, span.label) for span in parse_spans(answer) for place in range(span.start, span.end)}
        for answer in (one, other)
    )
    return len(first & second) / len(first | second) if first or second else 1.0


def parse_spans(answers: Iterable[str]) -> list[TextSpan]:
    """Return the spans of an answer, in the text's order."""
    return sorted(parse_span(answer) for answer in answers)
