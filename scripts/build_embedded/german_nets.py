"""The German network: the multilingual sentence encoder, a transformer that reads what it reads, and hashed letters.

Word pieces in, logits for every head out. The transformer starts as the body of the English detector; `English` is
that detector as it was, which the German network learns to follow on English posts before it reads German ones.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from use import Use

from davy.detectors.network import Head

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

    def forward(self, keys: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Return the sum of the n-grams' vectors over the square root of their number."""
        return summed(self.table, self.buckets, keys)

    def keys(self, ids: Tensor, mask: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return, for each length of n-gram, a number for each place of a post, and whether there is one."""
        codes = (self.letters[ids].long() * mask.unsqueeze(-1)).flatten(1)  # type: ignore[index]
        there = (codes > 0).long()
        # Letters move up against each other, so that n-grams run over the ends of pieces.
        place = torch.where(there > 0, there.cumsum(1) - 1, codes.shape[1])
        line = torch.zeros(codes.shape[0], codes.shape[1] + 1, dtype=torch.long, device=ids.device)
        line = line.scatter(1, place, codes)[:, :-1]
        found = []
        for n in self.orders:
            size = line.shape[1] - n + 1
            key = torch.zeros_like(line[:, :size])
            for i in range(n):
                key = key * 257 + line[:, i : i + size]
            found.append(((key * 40503 + n * 7919) % 1000003, (line[:, n - 1 :] > 0).float().unsqueeze(-1)))
        return found


def summed(table: nn.Module, buckets: int, keys: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Return the sum of what a table has for n-grams, over the square root of their number and one."""
    total, count = 0.0, 1.0
    for key, real in keys:
        total = total + (table(key % buckets) * real).sum(1)
        count = count + real.sum(1)
    return total / count**0.5


class Lines(nn.Module):
    """A linear model over the same n-grams for some columns of the logits, fitted apart (`german_lines.py`)."""

    def __init__(self, weights: Tensor, columns: list[int], labels: int) -> None:
        super().__init__()
        self.buckets = len(weights)
        self.table = nn.Embedding.from_pretrained(weights)
        self.register_buffer("spread", torch.eye(labels)[columns])

    def forward(self, keys: list[tuple[Tensor, Tensor]]) -> Tensor:
        return summed(self.table, self.buckets, keys) @ self.spread


class Answer(nn.Module):
    """The encoder's vector and the n-grams' side by side, and one linear layer for all heads."""

    def __init__(self, width: int, heads: tuple[Head, ...], grams: Grams | None, dropout: float) -> None:
        super().__init__()
        self.grams, self.dropout = grams, nn.Dropout(dropout)
        self.lines: Lines | None = None
        self.linear = nn.Linear(width + (grams.width if grams else 0), sum(it.labels for it in heads))
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, vector: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        if self.grams is None:
            return self.linear(self.dropout(vector.float()))
        keys = self.grams.keys(ids, mask)
        logits = self.linear(self.dropout(torch.cat([vector.float(), self.grams(keys)], dim=1)))
        return logits if self.lines is None else logits + self.lines(keys)


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


WIDTH, HEADS, INNER, LAYERS = 384, 12, 1536, 6


class Layer(nn.Module):
    """Attention, then two linear layers, each with a norm behind it, as in BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attended, self.norm = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))
        self.drop = nn.Dropout(0.1)

    def forward(self, states: Tensor, closed: Tensor) -> Tensor:
        batch, length = states.shape[:2]
        query, key, value = (
            layer(states).reshape(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) * (WIDTH // HEADS) ** -0.5 + closed
        taken = (scores.softmax(3) @ value).transpose(1, 2).reshape(batch, length, WIDTH)
        states = self.attended(states + self.drop(self.out(taken)))
        return self.norm(states + self.drop(self.down(F.gelu(self.up(states)))))


class Body(nn.Module):
    """Positions and layers over vectors of pieces; their mean is a post's."""

    def __init__(self, longest: int) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(longest, WIDTH))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.drop = nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        keep = mask.unsqueeze(-1).float()
        closed = (1 - keep).transpose(1, 2).unsqueeze(1) * -30000.0
        states = self.drop(self.norm(vectors + self.positions[: vectors.shape[1]]))
        for layer in self.layers:
            states = layer(states, closed)
        return (states * keep).sum(1) / keep.sum(1).clamp(min=1)


def body_of(given: dict[str, Tensor], longest: int) -> Body:
    """Return the English detector's body; places beyond those it had start as its last one."""
    body = Body(longest)
    positions = given["positions"]
    more = positions[-1:].expand(max(0, longest - len(positions)), -1)
    state = {k: v for k, v in given.items() if k.startswith(("layers.", "norm."))}
    body.load_state_dict(state | {"positions": torch.cat([positions, more])[:longest]})
    return body


class English(nn.Module):
    """The English detector as it was: the vector and the logits of a post in its own pieces."""

    def __init__(self, given: dict[str, Tensor]) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(given["words"])
        self.body = body_of(given, len(given["positions"]))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.body(self.words(ids), mask)


class Both(nn.Module):
    """The sentence encoder and the body that reads its pieces and convolutions; their vectors in a row."""

    def __init__(self, weights: dict, table: Tensor, body: Body) -> None:
        super().__init__()
        self.use, self.body = Use(weights, table), body
        self.into = nn.Linear(table.shape[1], WIDTH)
        self.convolved = nn.Linear(768, WIDTH, bias=False)
        nn.init.zeros_(self.convolved.weight)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        states, features = self.use.features(ids, mask)
        vectors = self.into(states) + self.convolved(features[:, :, states.shape[2] :])
        return torch.cat([self.use.pooled(features, mask).float(), self.body(vectors, mask).float()], dim=1)


def small(
    weights: dict, table: Tensor, body: Body, heads: tuple[Head, ...], grams: Grams | None, dropout: float = 0.2
) -> Reader:
    """Return the network over the piece vectors in `table`."""
    return Reader(Both(weights, table, body), 1024 + WIDTH, heads, grams, dropout)
