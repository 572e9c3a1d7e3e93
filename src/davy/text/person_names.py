"""Names of people in texts: what a title or a known given name gives away becomes one word.

The list holds given names that are frequent in English and German and no other words. So a name that is not on it, or
that is a word as well (Rose, Mark), is found after a title alone; a nickname and a name in small letters never is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib import resources

TITLES = frozenset(("mr", "mrs", "ms", "mx", "miss", "sir", "dr", "prof", "herr", "herrn", "frau", "hr", "fr"))
PARTICLES = frozenset(("von", "van", "der", "den", "de", "zu", "al", "el", "bin", "la", "le", "da", "di"))
BEGINNING = frozenset(("von", "van", "zu", "de", "al", "el"))
"""Particles with which a name may begin after a title; others begin what is no name (Herr der Ringe)."""
AFTER_TITLE, AFTER_NAME = 3, 2
"""So many words of a name follow a title, or stand from a given name on; particles are not counted."""
_WORD = re.compile(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*")


@cache
def given_names() -> frozenset[str]:
    """Return the given names that are known, in their spelling."""
    text = resources.files("davy.text").joinpath("given_names.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def mask_names(text: str, word: str, more: Collection[str] = ()) -> str:
    """Return a text with each name of a person that is found replaced by a word; `more` are further given names."""
    known = given_names() | frozenset(more)
    words = list(_WORD.finditer(text))
    pieces, end, place = [], 0, 0
    while place < len(words):
        after_title = words[place].group().casefold() in TITLES
        first = place + after_title
        last = _end_of_name(text, words, first, AFTER_TITLE if after_title else AFTER_NAME)
        if last > first and (after_title or _is_given(words[first].group(), known)):
            stop = words[last - 1].end() - (2 if words[last - 1].group().endswith(("'s", "’s")) else 0)
            pieces += [text[end : words[first].start()], word]
            end, place = stop, last
        else:
            place += 1
    return "".join([*pieces, text[end:]])


def _is_given(word: str, known: Collection[str]) -> bool:
    plain = re.sub(r"[’']s$", "", word)
    return plain in known or (len(plain) > 3 and plain.isupper() and plain.capitalize() in known)


def _end_of_name(text: str, words: list[re.Match[str]], first: int, most: int) -> int:
    """Return where a run of capitalised words ends that begins at `first`; a particle counts where a name follows."""
    last = place = first
    count = 0
    while place < len(words) and count < most:
        word = words[place].group()
        between = text[words[place - 1].end() : words[place].start()] if place else ""
        if place > first and between != " ":
            break
        if word[0].isupper() and word.casefold() not in TITLES:
            count, last = count + 1, place + 1
        elif word not in (BEGINNING if place == first else PARTICLES):
            break
        place += 1
    return last
