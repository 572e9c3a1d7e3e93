"""Swaps of names and pronouns: who a post speaks of changes, what it says does not.

Text in, text out, or None where there is nothing to swap. A first name becomes
another one for the same gender, he becomes she and the other way round. Pronouns
are swapped in English alone: German `sie` is she, they and you.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from davy.text.lexicons.fill_ins import fill_ins

Swap = Callable[[str, str, random.Random], str]

_PRONOUN = re.compile(r"\b(he|she|him|his|hers|her|himself|herself)\b(?=(\s+[a-z]+)?)", re.IGNORECASE)
_OTHER: Mapping[str, str] = {
    "he": "she",
    "she": "he",
    "him": "her",
    "his": "her",
    "hers": "his",
    "himself": "herself",
    "herself": "himself",
}
_NO_NOUN: frozenset[str] = frozenset(
    re.findall(
        r"\w+",
        "and or but if so to for in on at by with from of that because when while as again too now then there here "
        "is was are were will would can could should did does do not",
    )
)
"""Words after `her` that say it stands alone (him), not before a noun (his)."""


def names(text: str, lang: str, chance: random.Random) -> str:
    """Return the text with every first name that we know replaced by another one, the same name always by the same."""
    chosen: dict[str, str] = {}
    for kind in ("woman", "man"):
        known = fill_ins(lang).get(kind, ())
        for name in known:
            if re.search(rf"\b{name}\b", text):
                chosen[name] = chance.choice([other for other in known if other != name])
    if not chosen:
        return text
    return re.sub(r"\b(" + "|".join(chosen) + r")\b", lambda match: chosen[match[1]], text)


def pronouns(text: str, lang: str, chance: random.Random) -> str:
    """Return an English text with he and she, him, his and her swapped; other languages stay as they are."""
    del chance
    return _PRONOUN.sub(_swapped, text) if lang == "en" else text


def _swapped(match: re.Match[str]) -> str:
    word = match[1].lower()
    if word == "her":
        following = (match[2] or "").strip().lower()
        other = "his" if following and following not in _NO_NOUN else "him"
    else:
        other = _OTHER[word]
    if match[1].isupper() and len(match[1]) > 1:
        return other.upper()
    return other.capitalize() if match[1][0].isupper() else other


SWAPS: Mapping[str, Swap] = {"other names": names, "other pronouns": pronouns}


def swap(text: str, kind: str, lang: str, *, seed: int = 0) -> str | None:
    """Return the text with a swap of `SWAPS` made, or None where it holds nothing to swap."""
    chance = random.Random(f"{seed} {kind} {text}")  # noqa: S311 - no secret depends on it
    swapped = SWAPS[kind](text, lang, chance)
    return swapped if swapped != text else None
