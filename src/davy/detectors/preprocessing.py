"""What is done to a text before a tokenizer sees it, the same in training and at run time.

Text in, text out, by named steps that a model folder lists.
"""

from __future__ import annotations

from collections.abc import Sequence

STEPS: tuple[str, ...] = ("emoji names", "calm capitals")
SHOUTED = 0.6
"""The share of capitals among a text's letters from which on it is shouting; German nouns alone stay far below."""


def prepare_text(text: str, steps: Sequence[str]) -> str:
    """Return a text after the named steps, in their order."""
    for step in steps:
        if step == "emoji names":
            text = name_emoji(text)
        elif step == "calm capitals":
            text = lower_shouting(text)
        else:
            raise ValueError(f"unknown text step {step!r}")
    return text


def name_emoji(text: str) -> str:
    """Return text in which each emoji is its Unicode name in colons, as BERTweet reads them: 🦞 is `:lobster:`."""
    if text.isascii():
        return text
    from davy.text import emoji

    return emoji.replace(text, None)


def lower_shouting(text: str) -> str:
    """Return a text that is mostly capitals in small letters: a tokenizer that minds case has few pieces for it."""
    letters = sum(map(str.isalpha, text))
    capitals = sum(map(str.isupper, text))
    return text.lower() if capitals > 4 and capitals >= SHOUTED * letters else text
