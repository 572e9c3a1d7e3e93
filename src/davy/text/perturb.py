"""Small changes to a text: how people mistype, how they dodge filters, and swaps of names and pronouns.

Text in, text out, or None where a change has nothing to work on. The same text
and seed give the same result. Addresses, mentions and hashtags stay as they are.
A first name becomes another one for the same gender; pronouns are swapped in
English alone, for German `sie` is she, they and you. Robustness tests use these,
and so do attacks on a detector.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from davy.text.lexicons.read import fill_ins

Change = Callable[[str, random.Random], str]

LEET: Mapping[str, str] = {"a": "4", "e": "3", "i": "1", "o": "0", "s": "5", "t": "7"}
HOMOGLYPHS: Mapping[str, str] = dict(
    zip("acehijopsxyABCEHIKMOPSTX", "асеһіјорѕхуАВСЕНІКМОРЅТХ", strict=True)
)  # the second half is Cyrillic
NEUTRAL: tuple[str, ...] = ("📌", "📎", "🔎", "🗓️", "🌍", "🕒", "📷", "☕")
KEYCAPS: Mapping[str, str] = {"a": "4️⃣", "e": "3️⃣", "i": "1️⃣", "o": "0️⃣"}
VOWEL_EMOJI: tuple[str, ...] = ("🌟", "❤️")
SHARE = 0.3
"""How many of the words that can change do, one at least."""

_KEEP = re.compile(r"(?:https?://|www\.|[@#])\S*", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_VOWEL = re.compile(r"[aeiouäöü]", re.IGNORECASE)


def character_swap(text: str, chance: random.Random) -> str:
    """Return the text with two neighbouring letters inside a word swapped, in some words of four letters and more."""

    def swapped(word: str) -> str:
        places = [i for i in range(1, len(word) - 2) if word[i] != word[i + 1]]
        if not places:
            return word
        at = chance.choice(places)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    return _in_words(text, chance, swapped, shortest=4)


def leetspeak(text: str, chance: random.Random) -> str:
    """Return the text with digits for letters in some words."""
    return _in_words(text, chance, lambda word: "".join(LEET.get(char.lower(), char) for char in word), shortest=3)


def spacing(text: str, chance: random.Random) -> str:
    """Return the text with some words spelt with spaces between their letters."""
    return _in_words(text, chance, " ".join, shortest=3)


def homoglyphs(text: str, chance: random.Random) -> str:
    """Return the text with letters of another script that look the same in some words."""
    return _in_words(text, chance, lambda word: "".join(HOMOGLYPHS.get(char, char) for char in word), shortest=2)


def casing(text: str, chance: random.Random) -> str:
    """Return the text in capitals, or in small letters where it is in capitals already."""
    del chance
    upper = "".join(piece if kept else piece.upper() for piece, kept in _pieces(text))
    return upper if upper != text else "".join(piece if kept else piece.lower() for piece, kept in _pieces(text))


def neutral_emoji(text: str, chance: random.Random) -> str:
    """Return the text with an emoji after it that says nothing about it."""
    return f"{text.rstrip()} {chance.choice(NEUTRAL)}"


def emoji_letters(text: str, chance: random.Random) -> str:
    """Return the text with emoji for vowels in some words: keycaps that look like them, or a star or heart for one."""
    picture = chance.choice((None, *VOWEL_EMOJI))

    def spelt(word: str) -> str:
        if picture is None:
            return "".join(KEYCAPS.get(char.lower(), char) for char in word)
        return _VOWEL.sub(picture, word, count=1)

    return _in_words(text, chance, spelt, shortest=3)


def swap_words(text: str, swaps: Mapping[str, Sequence[str]], chance: random.Random) -> str:
    """Return the text with whole words (small letters in `swaps`) replaced, a word by the same picture everywhere."""
    if not swaps:
        return text
    chosen: dict[str, str] = {}

    def swapped(match: re.Match[str]) -> str:
        word = match[0].lower()
        return chosen.setdefault(word, chance.choice(list(swaps[word])))

    longest_first = sorted(swaps, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)
    return "".join(piece if kept else pattern.sub(swapped, piece) for piece, kept in _pieces(text))


CHANGES: Mapping[str, Change] = {
    "character swaps": character_swap,
    "leetspeak": leetspeak,
    "spacing": spacing,
    "homoglyphs": homoglyphs,
    "casing": casing,
    "neutral emoji": neutral_emoji,
}


def perturb(text: str, change: str, *, seed: int = 0) -> str | None:
    """Return the text with a change of `CHANGES` made to it, or None where nothing in it can change."""
    changed = CHANGES[change](text, random.Random(f"{seed} {change} {text}"))  # noqa: S311 - no secret depends on it
    return changed if changed != text else None


def _pieces(text: str) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with whether it must stay as it is; joined they are the text."""
    pieces: list[tuple[str, bool]] = []
    last = 0
    for found in _KEEP.finditer(text):
        pieces += [(text[last : found.start()], False), (found[0], True)]
        last = found.end()
    return [*pieces, (text[last:], False)]


def _in_words(text: str, chance: random.Random, change: Callable[[str], str], *, shortest: int) -> str:
    """Return the text with some of the words that can change changed, at least one."""
    kept = [found.span() for found in _KEEP.finditer(text)]
    words = [
        (found.start(), found.end(), new)
        for found in _WORD.finditer(text)
        if len(found[0]) >= shortest
        and not any(start < found.end() and found.start() < end for start, end in kept)
        and (new := change(found[0])) != found[0]
    ]
    if not words:
        return text
    chosen = sorted(chance.sample(words, max(1, round(SHARE * len(words)))), reverse=True)
    for start, end, new in chosen:
        text = text[:start] + new + text[end:]
    return text


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


def swap_names(text: str, lang: str, chance: random.Random) -> str:
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


def swap_pronouns(text: str, lang: str, chance: random.Random) -> str:
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


SWAPS: Mapping[str, Swap] = {"other names": swap_names, "other pronouns": swap_pronouns}


def swap(text: str, kind: str, lang: str, *, seed: int = 0) -> str | None:
    """Return the text with a swap of `SWAPS` made, or None where it holds nothing to swap."""
    chance = random.Random(f"{seed} {kind} {text}")  # noqa: S311 - no secret depends on it
    swapped = SWAPS[kind](text, lang, chance)
    return swapped if swapped != text else None
