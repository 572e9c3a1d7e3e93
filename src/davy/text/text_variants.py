"""The ways a reader can take a text: as it stands, digits as letters, letters with dots between, words run together.

A text in, readings out. Each reading is a string and, for every character of
it, where that character stands in the text. All but the plain one are made
only where the text gives a reason, so an ordinary text costs one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from davy.text.normalise import fold_char

STAR = "\ufffe"
"""Stands for a `*` that masks a letter: part of a word, equal to no letter. A noncharacter, so no text means it."""

_LETTER = r"[^\W\d_]"
_WORDY = r"[^\W_]"
_INNER_STAR = re.compile(rf"(?<={_LETTER})\*++(?={_LETTER})")
_OUTER_STAR = re.compile(rf"(?<!\*)\*++(?={_LETTER})|(?<={_LETTER})\*++")
_CAMEL = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")
# Possessive throughout: a failed match must not be tried again in pieces, or time grows with the square of the length.
_SPACED = re.compile(rf"(?<!{_WORDY}){_LETTER}([ .\-_~,·•/]){_LETTER}(?!{_WORDY})(?:\1{_LETTER}(?!{_WORDY}))*+")
_JOINED = re.compile(rf"(?<!{_WORDY}){_LETTER}++(?:[.\-_~·]++{_LETTER}++)++")
_SIGN_AFTER = re.compile(r"(?<![!|+$€@])[!|+$€@]++(?!\w)")
_MENTION = re.compile(r"(?<!\w)[@$](?=\w)")
# Whether a reading has a reason: each starts with a rare character, so that an ordinary text is passed over fast.
_HAS_CAMEL = re.compile(r"[A-ZÀ-ÖØ-Þ](?<=[a-zß-öø-ÿ].)")
_HAS_LEET = re.compile(rf"[0-9@$!|€+](?:(?<={_LETTER}.)|(?={_LETTER}))")
_HAS_ONE = re.compile(rf"[1!|](?:(?<={_LETTER}.)|(?={_LETTER}))")
_HAS_SPACED = re.compile(rf"[ .\-_~,·•/]{_LETTER}(?!{_WORDY})(?<=(?<!{_WORDY}){_LETTER}..)")
_HAS_JOINED = re.compile(rf"[.\-_~·](?={_LETTER})")
_JOINT = re.compile(rf"[^\w{STAR}]|_")
_DIGITS = dict(zip("0134578@$!|€+", "oieastbasiiet", strict=True))


@dataclass(frozen=True, slots=True)
class TextVariant:
    """One way to take a text.

    `at` is None where characters stand as in the text. In a `leet` reading
    digits are letters; in a `joined` one only whole words count.
    """

    text: str
    table: dict[int, str]
    at: list[int] | None = None
    leet: bool = False
    joined: bool = False


def text_variants(text: str) -> Iterator[TextVariant]:
    """Yield the readings of a text, the plain one first."""
    plain = letters()
    if STAR in text:
        text = text.replace(STAR, " ")
    if "*" in text:
        starred = _OUTER_STAR.sub(_stars, text)
        text = _INNER_STAR.sub(_stars, text)
        if starred != text:
            yield TextVariant(starred, plain)
    yield TextVariant(text, plain)
    if _HAS_CAMEL.search(text):
        yield _camel(text, plain)
    if _HAS_LEET.search(text):
        # A sign after a word ends a sentence; one before it, or an @, may be the word's own first letter.
        digits = _SIGN_AFTER.sub(lambda match: " " * len(match[0]), text)
        yield TextVariant(digits, leet("i"), leet=True)
        if _HAS_ONE.search(digits):
            yield TextVariant(digits, leet("l"), leet=True)
        if _MENTION.search(digits):
            yield TextVariant(_MENTION.sub(" ", digits), leet("i"), leet=True)
    for reason, pattern in ((_HAS_SPACED, _SPACED), (_HAS_JOINED, _JOINED)):
        spans = [match.span() for match in pattern.finditer(text)] if reason.search(text) else []
        if spans:
            yield _joined(text, spans, plain)


def _stars(match: re.Match[str]) -> str:
    return STAR * len(match[0])


def _camel(text: str, table: dict[int, str]) -> TextVariant:
    """Return the reading in which a capital after a small letter starts a word."""
    parts: list[str] = []
    at: list[int] = []
    last = 0
    for match in [*_CAMEL.finditer(text), None]:
        here = match.start() if match else len(text)
        parts.append(text[last:here])
        at.extend(range(last, here))
        if match:
            parts.append(" ")
            at.append(here)
        last = here
    return TextVariant("".join(parts), table, at)


def _joined(text: str, spans: list[tuple[int, int]], table: dict[int, str]) -> TextVariant:
    """Return only the given spans, a space between them, without the marks inside them."""
    parts: list[str] = []
    at: list[int] = []
    for start, end in spans:
        if end < len(text) and text[end].isalnum():
            continue  # the word goes on with a digit (asked here: a look-ahead in the pattern would cost the square)
        kept = [i for i in range(start, end) if not _JOINT.match(text[i])]
        parts.append("".join(text[i] for i in kept) + " ")
        at.extend(kept)
        at.append(end)
    return TextVariant("".join(parts), table, at, joined=True)


class _Letters(dict[int, str]):
    """Translation table: letters folded, everything else a space; invisible characters nothing."""

    def __init__(self, digits: dict[str, str]) -> None:
        super().__init__()
        self._digits = digits

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = out = self._digits.get(char) or _letter(char)
        return out


def _letter(char: str) -> str:
    if char == STAR:
        return STAR
    if not char.isspace() and not char.isprintable() and char.isascii():
        return ""  # control characters: invisible, so no boundary either
    return "".join(part if part.isalpha() else " " for part in fold_char(char))


@cache
def letters() -> dict[int, str]:
    """Return the table of the plain reading."""
    return _Letters({})


@cache
def leet(one: str) -> dict[int, str]:
    """Return the table in which digits and signs are the letters they look like; `1` is the letter given."""
    return _Letters(_DIGITS | dict.fromkeys("1!|", one))


SQUEEZED = "abcdefghijklmnopqrstuvwxyz " + STAR
_PAIRS = [(char * 2, char) for char in SQUEEZED]


def squeeze(text: str) -> str:
    """Return text with every run of a plain letter, a space or a star as one."""
    for pair, one in _PAIRS:
        while pair in text:
            text = text.replace(pair, one)
    return text
