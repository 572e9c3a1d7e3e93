"""The small German network: the multilingual sentence encoder, hashed letters beside it, and one layer for all heads.

Word pieces in, logits for every head out.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from use import Use

from davy.models.network import Head

GERMAN = (
    Head("hate.de", "one", 2),
    Head("misogynistic.de", "one", 2),
    Head("aux.offence", "one", 2),
    Head("aux.kind", "one", 4),
)
KINDS = ("OTHER", "PROFANITY", "INSULT", "ABUSE")


class Grams(nn.Module):
    """Letters of the pieces as hashed n-grams, each with a small vector; their scaled sum is a post's."""

    LONGEST = 12

    def __init__(
        self, vocab: list[str], buckets: int = 2**16, width: int = 16, orders: tuple[int, ...] = (3, 4, 5)
    ) -> None:
        super().__init__()
        letters = torch.zeros(len(vocab), self.LONGEST, dtype=torch.long)
        for row, piece in enumerate(vocab):
            if row > 2:
                codes = [ord(c) % 251 + 1 for c in piece.lower()[: self.LONGEST]]
                letters[row, : len(codes)] = torch.tensor(codes)
        self.register_buffer("letters", letters.to(torch.uint8), persistent=False)
        self.buckets, self.orders, self.width = buckets, orders, width
        self.table = nn.Embedding(buckets, width)
        nn.init.normal_(self.table.weight, std=0.05)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the sum of the n-grams' vectors over the square root of their number."""
        codes = (self.letters[ids].long() * mask.unsqueeze(-1)).flatten(1)  # type: ignore[index]
        there = (codes > 0).long()
        # Letters move up against each other, so that n-grams run over the ends of pieces.
        place = torch.where(there > 0, there.cumsum(1) - 1, codes.shape[1])
        line = torch.zeros(codes.shape[0], codes.shape[1] + 1, dtype=torch.long, device=ids.device)
        line = line.scatter(1, place, codes)[:, :-1]
        total = torch.zeros(ids.shape[0], self.width, device=ids.device)
        count = torch.ones(ids.shape[0], 1, device=ids.device)
        for n in self.orders:
            size = line.shape[1] - n + 1
            key = torch.zeros_like(line[:, :size])
            for i in range(n):
                key = key * 257 + line[:, i : i + size]
            bucket = (key * 40503 + n * 7919) % 1000003 % self.buckets
            real = (line[:, n - 1 :] > 0).float().unsqueeze(-1)
            total = total + (self.table(bucket) * real).sum(1)
            count = count + real.sum(1)
        return total / count.sqrt()


class Answer(nn.Module):
    """The encoder's vector and the n-grams' side by side, and one linear layer for all heads."""

    def __init__(self, width: int, heads: tuple[Head, ...], grams: Grams | None, dropout: float) -> None:
        super().__init__()
        self.grams, self.dropout = grams, nn.Dropout(dropout)
        self.linear = nn.Linear(width + (grams.width if grams else 0), sum(it.labels for it in heads))
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, vector: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        features = [vector.float()]
        if self.grams is not None:
            features.append(self.grams(ids, mask))
        return self.linear(self.dropout(torch.cat(features, dim=1)))


class Reader(nn.Module):
    """An encoder of word pieces and what answers from it; what learns fast is under `out`, as the loop expects."""

    def __init__(self, encoder: nn.Module, width: int, heads: tuple[Head, ...], grams: Grams | None, dropout: float):
        super().__init__()
        self.encoder, self.heads = encoder, heads
        self.out = Answer(width, heads, grams, dropout)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.read(ids, mask)[0]

    def read(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits, and the encoder's own vector of each post."""
        vector = self.encoder(ids, mask)
        return self.out(vector, ids, mask), vector


def small(weights: dict, table: Tensor, heads: tuple[Head, ...], grams: Grams | None, dropout: float = 0.3) -> Reader:
    """Return the sentence encoder over the piece vectors in `table`."""
    return Reader(Use(weights, table), 1024, heads, grams, dropout)
