"""What is done to a text before a tokenizer sees it, the same in training and at run time.

Text in, text out, by named steps that a model folder lists.
"""

from __future__ import annotations

from collections.abc import Sequence

STEPS: tuple[str, ...] = ("emoji names",)


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
    from davy.text import emoji

    return emoji.replace(text, None)
