"""Emoji in a text: whole sequences, as a reader sees them, and what to swap them to.

Text in, sequences with offsets out. One pattern by Unicode's own rules for
emoji sequences (skin tones, joined families, flags, tag flags, keycaps), over
the blocks that hold pictographs; no table to go out of date. Families and tones
are data (`emoji_meanings.tsv`, which names its source); an emoji that is not in
them gets a few that turn most sentences.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

# Characters that are emoji on their own, and those that are only with U+FE0F after them.
_ALWAYS = (
    "⌚⌛⏩-⏬⏰⏳◽◾☔☕♈-♓♿⚓⚡⚪⚫⚽⚾⛄⛅⛎⛔⛪⛲⛳⛵⛺⛽✅✊✋✨❌❎❓-❕❗➕-➗➰➿⬛⬜⭐⭕"
    "\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f21a\U0001f22f\U0001f232-\U0001f236"
    "\U0001f238-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7f0"
    "\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
_WITH_SELECTOR = (
    "©®‼⁉™ℹ↔-↙↩↪⌨⏏⏭-⏯⏱⏲⏸-⏺Ⓜ▪▫▶◀◻◼☀-☄☎☑☘☝☠☢☣☦☪☮☯☸-☺♀♂♟♠♣♥♦♨♻♾⚒⚔-⚗⚙⚛⚜⚠⚧⚰⚱⛈⛏⛑⛓⛩⛰⛱⛴⛷-⛹✂✈✉✌✍✏✒✔✖✝✡✳✴❄❇❣❤➡⤴⤵"
    "⬅-⬇〰〽㊗㊙\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202\U0001f237"
)
_TONE = "[\U0001f3fb-\U0001f3ff]"
_UNIT = f"(?:[{_ALWAYS}]|[{_WITH_SELECTOR}](?=\ufe0f|{_TONE}|\u200d[\u2640\u2642]))(?:\ufe0f|{_TONE})?"
_TAGS = "[\U000e0020-\U000e007e]++\U000e007f"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
_LINK = f"\u200d(?:[{_ALWAYS}{_WITH_SELECTOR}])(?:\ufe0f|{_TONE})?"
_EMOJI = re.compile(f"{_KEYCAP}|{_FLAG}|{_UNIT}(?:{_TAGS}|(?:{_LINK})*+)")


class EmojiMatch(NamedTuple):
    """One emoji sequence: `text[start:end]`."""

    emoji: str
    start: int
    end: int


def find(text: str) -> list[EmojiMatch]:
    """Return the emoji of a text in order, each sequence whole."""
    return [EmojiMatch(match[0], *match.span()) for match in _EMOJI.finditer(text)]


def count(text: str) -> int:
    """Return how many emoji a reader sees."""
    return sum(1 for _ in _EMOJI.finditer(text))


def split(text: str) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with whether it is one emoji; joined they are the text."""
    pieces: list[tuple[str, bool]] = []
    last = 0
    for emoji, start, end in find(text):
        if start > last:
            pieces.append((text[last:start], False))
        pieces.append((emoji, True))
        last = end
    return [*pieces, (text[last:], False)] if last < len(text) else pieces


def replace(text: str, by: str | None = "") -> str:
    """Return the text with every emoji replaced by `by`, or by its name in colons when `by` is None."""
    return _EMOJI.sub(lambda match: f":{name(match[0])}:" if by is None else by, text)


def plain(emoji: str) -> str:
    """Return an emoji without skin tone and variation selector: the key under which variants are counted together."""
    return re.sub(f"{_TONE}|\ufe0f", "", emoji)


def name(emoji: str) -> str:
    """Return what an emoji shows in words, from Unicode's character names: `woman, rocket`; `flag: DE`; `keycap: 1`."""
    if emoji.endswith("\u20e3"):
        return f"keycap: {emoji[0]}"
    if re.fullmatch(_FLAG, emoji):
        return "flag: " + "".join(chr(ord(char) - 0x1F1E6 + ord("A")) for char in emoji)
    tags = "".join(chr(ord(char) - 0xE0000) for char in emoji if 0xE0020 <= ord(char) <= 0xE007E)
    if tags:
        return f"flag: {tags}"
    words = []
    for char in emoji:
        if char in "\u200d\ufe0f":
            continue
        word = unicodedata.name(char, f"U+{ord(char):04X}").lower()
        tone = re.fullmatch(r"emoji modifier fitzpatrick type-(\S+)", word)
        words.append(f"skin tone {tone[1]}" if tone else word)
    return ", ".join(words)


OPPOSITE_TONE: dict[str, str] = {
    "positive": "negative",
    "negative": "positive",
    "identity": "thing",
    "thing": "identity",
}
ANY: dict[str, tuple[str, ...]] = {"liking": ("positive", "negative"), "judgement": ("positive", "negative")}
"""Families that an emoji without a family of its own gets swaps from, both tones in turn."""
MOST_SWAPS = 8


@dataclass(frozen=True, slots=True)
class Emoji:
    """One emoji with its name in a language and its tone: positive, negative, identity or thing."""

    emoji: str
    name: str
    tone: str


@cache
def _families() -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    """Return (emoji, English name, German name) by family and tone, in the file's order."""
    families: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    lines = resources.files("davy.text").joinpath("emoji_meanings.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            family, tone, emoji, english, german = line.split("\t")
            families[family, tone].append((emoji, english, german))
    return dict(families)


def suggest_swaps(emoji: str, lang: str = "en", *, most: int = MOST_SWAPS) -> list[Emoji]:
    """Return emoji of the same family and the opposite tone, nearest family first; names in English or German."""
    key = plain(emoji)
    own = [place for place, rows in _families().items() if any(plain(row[0]) == key for row in rows)]
    places = [(family, OPPOSITE_TONE[tone]) for family, tone in own]
    if not places:
        places = [(family, tone) for family, tones in ANY.items() for tone in tones]
        most_each = max(1, most // len(places))
    else:
        most_each = most
    swaps: dict[str, Emoji] = {}
    for place in places:
        for one, english, german in _families()[place][:most_each]:
            if plain(one) != key:
                swaps.setdefault(one, Emoji(one, german if lang == "de" else english, place[1]))
    return list(swaps.values())[:most]


def tones(emoji: str) -> set[str]:
    """Return the tones that an emoji has in the families that name it; empty where none does."""
    key = plain(emoji)
    return {tone for (_, tone), rows in _families().items() if any(plain(row[0]) == key for row in rows)}
