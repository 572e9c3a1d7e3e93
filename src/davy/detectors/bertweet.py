"""BERTweet's tokenizer in the fast form: its word pieces and merges in, a `tokenizers.Tokenizer` with the same ids out.

BERTweet marks pieces inside a word with `@@` behind them; the fast form marks the end of a word instead, so every piece
is renamed and keeps its id. A merge whose product is not in the vocabulary is done, as there, and has an id beyond the
vocabulary: whoever has no vector for it reads it as unknown (`unknown_beyond`).
Texts are split at spaces; emoji become names only where the config says so (`emoji: names`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

END = "</w>"
INSIDE = "@@"
START, STOP, UNKNOWN = "<s>", "</s>", "<unk>"


def make_fast_tokenizer(vocabulary: Mapping[str, int], ranks: Mapping[tuple[str, ...], int]) -> Tokenizer:
    """Return the tokenizer of a vocabulary (piece → id) and of merges in the order of their ranks."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    merges = [pair for pair, _ in sorted(ranks.items(), key=lambda item: item[1]) if len(pair) == 2]
    pieces = {_renamed(piece): number for piece, number in vocabulary.items()}
    beyond = max(pieces.values()) + 1
    for piece in dict.fromkeys(piece for pair in merges for piece in (*pair, "".join(pair))):
        if piece not in pieces:  # a step between two pieces: merges need an id of its own for it
            pieces[piece] = beyond
            beyond += 1
    model = models.BPE(
        vocab=pieces, merges=[(first, second) for first, second in merges], unk_token=UNKNOWN, end_of_word_suffix=END
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [(START, vocabulary[START]), (STOP, vocabulary[STOP])]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A {STOP}", special_tokens=ends)
    return tokenizer


def unknown_beyond(ids: list[list[int]], size: int, unknown: int) -> list[list[int]]:
    """Return token ids with those beyond a vocabulary's size as the unknown one."""
    return [[number if number < size else unknown for number in row] for row in ids]


def _renamed(piece: str) -> str:
    """Return a piece as the fast form calls it: `lo@@` is lo, `love` is love</w>; special tokens stay."""
    if piece.startswith("<") and piece.endswith(">"):
        return piece
    return piece.removesuffix(INSIDE) if piece.endswith(INSIDE) and piece != INSIDE else f"{piece}{END}"
