"""Where the sentences of a text stand. A text in, `(start, end)` pairs out, without the space between them.

Rules, not a model: a sentence ends with `.`, `!`, `?` or `…` (and quotes or brackets after it) before a space, or with
a line. Common abbreviations and numbers with a dot don't end one.
"""

from __future__ import annotations

import re

_END = re.compile(r"[.!?…‼⁉。！？]+[\"'’”»)\]]*(?=\s|$)|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|bzw|z\.b|d\.h|u\.a|usw|ca|nr|hr|fr|evtl|ggf)|\b[a-zäöü]|\b\d{1,4})\.$",
    re.IGNORECASE,
)


def sentence_spans(text: str, *, most: int = 100) -> list[tuple[int, int]]:
    """Return the sentences of a text in their order; what comes after `most` - 1 of them is the last one."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
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
