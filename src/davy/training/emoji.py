"""Emoji as tokens of their own, for encoders whose vocabulary has none.

A tokenizer, an encoder and texts in; both grown by a token for every emoji that the
texts use, each starting as the mean of the word pieces of its Unicode name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import nn

from davy.text import emoji as emojis

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def add_tokens(tokenizer: Tokenizer, encoder: nn.Module, texts: Iterable[str]) -> int:
    """Add a token for each emoji that the tokenizer can't read; return how many were added."""
    from tokenizers import AddedToken

    unknown = sorted({found.emoji for text in texts if not text.isascii() for found in emojis.find(text)})
    new = [emoji for emoji in unknown if not _readable(tokenizer, emoji)]
    if not new:
        return 0
    names = [tokenizer.encode(emojis.name(emoji).replace(":", " "), add_special_tokens=False).ids for emoji in new]
    first = tokenizer.get_vocab_size()
    tokenizer.add_tokens([AddedToken(emoji, normalized=False, special=False) for emoji in new])
    old = encoder.get_input_embeddings().weight.detach().clone()  # type: ignore[operator]
    encoder.resize_token_embeddings(tokenizer.get_vocab_size(), mean_resizing=False)  # type: ignore[operator]
    table = encoder.get_input_embeddings().weight  # type: ignore[operator]
    with torch.no_grad():
        for row, ids in enumerate(names, start=first):
            table[row] = old[ids].mean(0) if ids else old.mean(0)
    return len(new)


def _readable(tokenizer: Tokenizer, emoji: str) -> bool:
    """Return whether the tokenizer has pieces for an emoji, none of them the unknown one."""
    tokens = tokenizer.encode(emoji, add_special_tokens=False).tokens
    return bool(tokens) and not any(token in ("[UNK]", "<unk>") for token in tokens)
