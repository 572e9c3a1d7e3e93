"""Label-preserving rewrites of natural posts, with emoji and with broken spelling.

A text, its hate label where known and a random generator in; a changed text out,
or None where the rewrite does not fit. Everything rests on Unicode's names and
keywords, a sentence encoder's word similarity and look-alike letters; no template,
slot list or case of a functional suite is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

WORD = re.compile(r"[A-Za-z][A-Za-z'’]+")
TONED = {"black": "🏿", "african": "🏿", "brown": "🏽", "white": "🏻", "caucasian": "🏻", "pale": "🏻"}
PEOPLE = {
    **dict.fromkeys(
        ("woman", "women", "lady", "ladies", "female", "females", "wife", "she", "her"), ("👩", "👩", "🚺", "♀️")
    ),
    **dict.fromkeys(("girl", "girls", "daughter"), ("👧", "👩")),
    **dict.fromkeys(("man", "men", "guy", "guys", "male", "males", "dude", "husband"), ("👨", "👨", "🚹", "♂️")),
    **dict.fromkeys(("boy", "boys", "son"), ("👦", "👨")),
    **dict.fromkeys(("people", "person", "folk", "folks", "persons", "community"), ("👥", "🧑", "👨‍👩‍👧‍👦", "🧍")),
    **dict.fromkeys(("baby", "babies", "kid", "kids", "child", "children"), ("👶", "🧒")),
}
DEMONYMS = {
    "american": "🇺🇸", "mexican": "🇲🇽", "chinese": "🇨🇳", "indian": "🇮🇳", "pakistani": "🇵🇰", "polish": "🇵🇱",
    "irish": "🇮🇪", "german": "🇩🇪", "french": "🇫🇷", "russian": "🇷🇺", "japanese": "🇯🇵", "korean": "🇰🇷",
    "turkish": "🇹🇷", "turk": "🇹🇷", "israeli": "🇮🇱", "iranian": "🇮🇷", "iraqi": "🇮🇶", "syrian": "🇸🇾",
    "nigerian": "🇳🇬", "somali": "🇸🇴", "british": "🇬🇧", "italian": "🇮🇹", "spanish": "🇪🇸", "brazilian": "🇧🇷",
    "romanian": "🇷🇴", "ukrainian": "🇺🇦", "afghan": "🇦🇫", "egyptian": "🇪🇬", "vietnamese": "🇻🇳", "filipino": "🇵🇭",
    "canadian": "🇨🇦", "australian": "🇦🇺", "saudi": "🇸🇦", "greek": "🇬🇷", "cuban": "🇨🇺", "haitian": "🇭🇹",
}  # fmt: skip
LOOKALIKES = {
    "a": ("🅰️", "4️⃣", "🇦"), "b": ("🅱️", "8️⃣", "🇧"), "c": ("©️", "🇨"), "d": ("🇩",), "e": ("3️⃣", "🇪", "📧"),
    "f": ("🇫", "🎏"), "g": ("🇬", "9️⃣", "6️⃣"), "h": ("🇭", "♓"), "i": ("ℹ️", "1️⃣", "🇮"), "j": ("🇯", "🎷"),
    "k": ("🇰",), "l": ("1️⃣", "🇱"), "m": ("Ⓜ️", "🇲", "♏", "〽️"), "n": ("🇳", "♑"), "o": ("🅾️", "0️⃣", "⭕", "🇴"),
    "p": ("🅿️", "🇵"), "q": ("🇶",), "r": ("®️", "🇷"), "s": ("5️⃣", "💲", "🇸"), "t": ("7️⃣", "✝️", "🇹", "➕"),
    "u": ("🇺", "⛎"), "v": ("🇻", "♈"), "w": ("🇼",), "x": ("❌", "✖️", "🇽"), "y": ("🇾",), "z": ("2️⃣", "🇿"),
}  # fmt: skip
LEET = {"a": "4@", "e": "3", "i": "1!", "o": "0", "s": "5$", "t": "7", "b": "8", "g": "9", "l": "1"}
KIND = (
    "😀",
    "😊",
    "❤️",
    "👍",
    "🥰",
    "😍",
    "🎉",
    "😂",
    "🤣",
    "😁",
    "💕",
    "🙏",
    "✨",
    "😇",
    "👏",
    "💯",
    "😎",
    "🤗",
    "🌈",
    "☀️",
)
PLAIN = (
    "👀",
    "🤔",
    "📰",
    "📺",
    "🏠",
    "🚗",
    "☕",
    "📷",
    "🎵",
    "⏰",
    "📌",
    "🔗",
    "👇",
    "👉",
    "🍕",
    "📱",
    "🌍",
    "🤷",
    "😴",
    "🙃",
)
CROSS = ("😡", "🤮", "🤢", "😠", "🙄", "👎", "💩", "🖕", "😤", "🤬", "😒", "💀", "🗑️", "🤡")


@dataclass(frozen=True)
class Lexicon:
    """What the rewrites know: word → emoji that mean it, emoji → name, and words that carry a label."""

    emoji_of: dict[str, tuple[str, ...]]
    name_of: dict[str, str]
    telling: dict[str, float] = field(default_factory=dict)

    def meaning(self, word: str) -> tuple[str, ...]:
        """Return the emoji for a word or its singular."""
        low = word.lower()
        for form in (
            low,
            low.removesuffix("s"),
            low.removesuffix("es"),
            low.removesuffix("ing"),
            low.removesuffix("ed"),
        ):
            found = PEOPLE.get(form) or ((DEMONYMS[form],) if form in DEMONYMS else None) or self.emoji_of.get(form)
            if found:
                return found
        return ()


def swap_words(text: str, hate: int | None, lexicon: Lexicon, rng: Random) -> str | None:  # noqa: ARG001
    """Replace up to three words by emoji that mean them, telling words first; "black women" gets a skin tone."""
    hits = [m for m in WORD.finditer(text) if lexicon.meaning(m.group())]
    if not hits:
        return None
    hits.sort(key=lambda m: rng.random() - 0.5 * min(1.0, lexicon.telling.get(m.group().lower(), 0.0)))
    for match in sorted(hits[: rng.choice((1, 1, 2, 3))], key=lambda m: -m.start()):
        emoji = rng.choice(lexicon.meaning(match.group()))
        start = match.start()
        before = WORD.findall(text[max(0, start - 12) : start])
        if match.group().lower() in PEOPLE and emoji in "👩👧👨👦🧑🧍👶🧒" and before and before[-1].lower() in TONED:
            emoji += TONED[before[-1].lower()]
            if rng.random() < 0.7:
                start = text.rfind(before[-1], 0, start)
        glue = "" if rng.random() < 0.15 else " "
        text = (
            text[:start].rstrip() + glue + emoji * rng.choice((1, 1, 1, 2)) + glue + text[match.end() :].lstrip()
        ).strip()
    return text


def append(text: str, hate: int | None, lexicon: Lexicon, rng: Random) -> str | None:  # noqa: ARG001
    """Add emoji at the end or the start: any mood to a hateful post, none that is cross to another."""
    moods = (KIND, PLAIN, CROSS) if hate == 1 else (KIND, PLAIN)
    emoji = "".join(rng.choice(rng.choice(moods)) for _ in range(rng.choice((1, 1, 2, 3))))
    space = rng.choice((" ", " ", ""))
    return f"{emoji}{space}{text}" if rng.random() < 0.15 else f"{text}{space}{emoji}"


def letters_to_emoji(text: str, hate: int | None, lexicon: Lexicon, rng: Random) -> str | None:  # noqa: ARG001
    """Replace one letter or two inside a telling word by emoji that look like them."""

    def broken(word: str) -> str:
        places = [i for i, c in enumerate(word) if c.lower() in LOOKALIKES]
        for i in sorted(rng.sample(places, min(len(places), rng.choice((1, 1, 2)))), reverse=True):
            word = word[:i] + rng.choice(LOOKALIKES[word[i].lower()]) + word[i + 1 :]
        return word

    return _on_words(text, lexicon, rng, broken)


def names_for_emoji(text: str, hate: int | None, lexicon: Lexicon, rng: Random) -> str | None:  # noqa: ARG001
    """Write emoji out as their names."""
    out, changed = text, False
    for emoji in sorted((e for e in lexicon.name_of if e in text), key=len, reverse=True):
        if rng.random() < 0.8 and emoji in out:
            out, changed = out.replace(emoji, f" {lexicon.name_of[emoji]} "), True
    return " ".join(out.split()) if changed else None


def misspell(text: str, hate: int | None, lexicon: Lexicon, rng: Random) -> str | None:  # noqa: ARG001
    """Break the spelling of one or two words, telling ones first, or the space between two."""
    if rng.random() < 0.2:
        gaps = [m.start() for m in re.finditer(r"(?<=\w) (?=\w)", text)]
        if len(gaps) < 2:
            return None
        dropped = set(rng.sample(gaps, min(len(gaps), rng.choice((1, 2, 3, len(gaps))))))
        return "".join(c for i, c in enumerate(text) if i not in dropped)
    return _on_words(text, lexicon, rng, lambda word: _typo(word, rng))


def _typo(word: str, rng: Random) -> str:
    i = rng.randrange(len(word) - 1)
    kind = rng.randrange(7)
    if kind == 0:
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if kind == 1:
        return word[: i + 1] + word[i + 2 :]
    if kind == 2:
        return word[:i] + word[i] * rng.choice((2, 3, 4)) + word[i + 1 :]
    if kind == 3:
        return rng.choice(" .-*_").join(word)
    if kind == 4:
        j = max(1, i)
        return word[:j] + "*" + word[j + 1 :]
    places = [j for j, c in enumerate(word) if c.lower() in LEET]
    for j in rng.sample(places, min(len(places), rng.choice((1, 1, 2)))):
        word = word[:j] + rng.choice(LEET[word[j].lower()]) + word[j + 1 :]
    return word


def _on_words(text: str, lexicon: Lexicon, rng: Random, change: Callable[[str], str]) -> str | None:
    words = [m for m in WORD.finditer(text) if len(m.group()) > 2]
    if not words:
        return None
    words.sort(key=lambda m: rng.random() * 0.6 - min(1.0, lexicon.telling.get(m.group().lower(), 0.0)))
    for match in sorted(words[: rng.choice((1, 1, 2))], key=lambda m: -m.start()):
        text = text[: match.start()] + change(match.group()) + text[match.end() :]
    return text


REWRITES: dict[str, tuple[float, Callable[[str, int | None, Lexicon, Random], str | None]]] = {
    "swap": (0.40, swap_words),
    "append": (0.15, append),
    "letters": (0.15, letters_to_emoji),
    "misspell": (0.20, misspell),
    "names": (0.10, names_for_emoji),
}


def rewrite(text: str, hate: int | None, lexicon: Lexicon, rng: Random, *, twice: float = 0.2) -> str | None:
    """Return the text after one rewrite drawn by weight (sometimes two), or None where none fits."""
    names, weights = zip(*((name, weight) for name, (weight, _) in REWRITES.items()), strict=True)
    for _ in range(4):
        changed = REWRITES[rng.choices(names, weights)[0]][1](text, hate, lexicon, rng)
        if changed and changed != text:
            again = rewrite(changed, hate, lexicon, rng, twice=0) if rng.random() < twice else None
            return again or changed
    return None
