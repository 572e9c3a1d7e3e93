"""Find emoji in a text: whole sequences, as a reader sees them.

Text in, sequences with offsets out. One pattern by Unicode's own rules for
emoji sequences (skin tones, joined families, flags, tag flags, keycaps), over
the blocks that hold pictographs; no table to go out of date.
"""

from __future__ import annotations

import re
import unicodedata
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
