"""The networks of the German detector: teachers, and two candidates for what ships.

Word pieces of the multilingual sentence encoder in, logits for every head out. A
teacher is the large English detector's body, fed with the multilingual pieces
through a linear map: a German word lies near its English translation there, so what
was learnt in English carries over. The candidates are the small English detector's
body, read in the same way, and the sentence encoder itself. All also read letters.
"""

from __future__ import annotations

from types import MethodType

import torch
import torch.nn.functional as F
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


class Cross(nn.Module):
    """A transformers encoder over fixed multilingual piece vectors, mapped into the space of its own embeddings."""

    def __init__(self, body: nn.Module, table: Tensor, start: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("table", table, persistent=False)
        self.map = nn.Linear(table.shape[1], start[0].shape[1])
        self.words: nn.Embedding | None = None
        self.rounds = False
        with torch.no_grad():
            self.map.weight.copy_(start[0].T)
            self.map.bias.copy_(start[1])

    def unfold(self) -> None:
        """Give every piece a vector of its own, which learns from now on; the map is gone."""
        with torch.no_grad():
            table = self.map(self.table.float())  # type: ignore[operator]
        self.words = nn.Embedding.from_pretrained(table, freeze=False)
        del self.map, self.table

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the mean of the last layer over a post's pieces."""
        if self.words is None:
            states = self.map(self.table[ids])  # type: ignore[index]
        else:
            states = self.words(ids)
            states = felt(states, TABLE_GROUP) if self.rounds else states
        out = self.body(inputs_embeds=states, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(out.dtype)
        return (out * weight).sum(1) / weight.sum(1).clamp(min=1)


TABLE_GROUP, MATRIX_GROUP = 64, 64


def codes(values: Tensor, group: int) -> tuple[Tensor, Tensor]:
    """Return values as whole numbers from -7 to 7, and a half-precision scale for each group along the last axis."""
    groups = values.reshape(*values.shape[:-1], -1, group)
    scale = (groups.abs().amax(dim=-1, keepdim=True) / 7).clamp(min=1e-5).half().float()
    return (groups / scale).round().clamp(-7, 7), scale


def felt(values: Tensor, group: int) -> Tensor:
    """Return values rounded to 4 bits; gradients pass as if they were not."""
    still = values.detach().float()
    whole, scale = codes(still, group)
    return values + ((whole * scale).reshape(still.shape) - still).to(values.dtype)


def feel_4_bits(encoder: Cross) -> None:
    """Make the body's matrices and the piece vectors round to 4 bits from now on."""

    def forward(self: nn.Linear, states: Tensor) -> Tensor:
        return F.linear(states, felt(self.weight, MATRIX_GROUP), self.bias)

    encoder.rounds = True
    for layer in encoder.body.modules():
        if isinstance(layer, nn.Linear):
            layer.forward = MethodType(forward, layer)  # type: ignore[method-assign]


class Pair(nn.Module):
    """Both candidates side by side, so that they learn from the same teachers' answers at once."""

    def __init__(self, readers: dict[str, Reader]) -> None:
        super().__init__()
        # Registered first, so that these parameters are called `out.…`: the loop gives those a higher rate.
        self.out = nn.ModuleDict({name: reader.out for name, reader in readers.items()})
        self.readers = nn.ModuleDict(readers)


def small(weights: dict, table: Tensor, heads: tuple[Head, ...], grams: Grams | None, dropout: float = 0.3) -> Reader:
    """Return the sentence encoder over the piece vectors in `table`."""
    return Reader(Use(weights, table), 1024, heads, grams, dropout)
