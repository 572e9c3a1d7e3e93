"""What is done to a text before a tokenizer sees it, the same in training and at run time.

Text in, text out, by named steps that a model folder lists.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

STEPS: tuple[str, ...] = ("emoji names",)

_INVISIBLE = frozenset("\ufe0e\ufe0f\u200d")


def prepared(text: str, steps: Sequence[str]) -> str:
    """Return a text after the named steps, in their order."""
    for step in steps:
        if step == "emoji names":
            text = emoji_names(text)
        else:
            raise ValueError(f"unknown text step {step!r}")
    return text


def emoji_names(text: str) -> str:
    """Return text in which each emoji is its Unicode name in colons, as BERTweet reads them: 🦞 is `:lobster:`."""
    if text.isascii():
        return text
    return "".join(_named(char) for char in text)


def _named(char: str) -> str:
    if char in _INVISIBLE:
        return ""
    # Symbols outside the letters and signs of everyday text: pictographs, dingbats, skin tones, flag letters.
    if ord(char) < 0x2190 or unicodedata.category(char) not in ("So", "Sk"):
        return char
    return f" :{unicodedata.name(char, 'emoji').lower().replace(' ', '_')}: "
