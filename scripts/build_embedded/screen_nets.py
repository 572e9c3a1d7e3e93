"""The small networks that a screen may be: token ids and a mask in, a logit of yes for each question out.

Each begins with narrow word vectors. The nets of windows take the strongest of
windows of one and three words; the tiny transformer reads the whole post. They need
only torch.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

QUESTIONS = ("hate", "offensive", "sexist")


class Windows(nn.Module):
    """Word vectors, windows of one and three words, the strongest of each, their mean; `deep` adds more layers."""

    def __init__(self, words: int, width: int, filters: int, hidden: int, deep: int = 0) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, width)
        self.lone = nn.Embedding(words, len(QUESTIONS))
        nn.init.zeros_(self.lone.weight)
        self.three = nn.Conv1d(width, filters, 3, padding=1)
        self.one = nn.Conv1d(width, filters // 2, 1)
        self.deep = nn.ModuleList(nn.Conv1d(filters, filters, 3, padding=1) for _ in range(deep))
        self.middle = nn.Linear(filters + filters // 2 + width, hidden)
        self.last = nn.Linear(hidden, len(QUESTIONS))
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        wide = mask.unsqueeze(1)
        words = self.vectors(ids).transpose(1, 2) * wide
        three = F.relu(self.three(words)) * wide
        for layer in self.deep:
            three = (three + F.relu(layer(three))) * wide
        one = (F.relu(self.one(words)) * wide).amax(2)
        count = wide.sum(2).clamp(min=1)
        lone = (self.lone(ids) * mask.unsqueeze(2)).sum(1) / count.sqrt()
        seen = self.drop(torch.cat([three.amax(2), one, words.sum(2) / count], 1))
        return self.last(self.drop(F.relu(self.middle(seen)))) + lone


class Tiny(nn.Module):
    """A transformer of a few narrow layers."""

    def __init__(self, words: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, width)
        self.lone = nn.Embedding(words, len(QUESTIONS))
        nn.init.zeros_(self.lone.weight)
        self.places = nn.Embedding(160, width)
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.asked = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.told = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.last = nn.Linear(2 * width, len(QUESTIONS))
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        posts, length = ids.shape
        states = self.before(self.vectors(ids) + self.places(torch.arange(length, device=ids.device)))
        bias = ((1 - mask) * -1e4)[:, None, None, :]
        width = states.shape[2]
        for i, asked in enumerate(self.asked):
            query, key, value = (
                part.reshape(posts, length, self.heads, width // self.heads).transpose(1, 2)
                for part in asked(states).split(width, dim=2)
            )
            share = torch.softmax(query @ key.transpose(2, 3) * (width // self.heads) ** -0.5 + bias, dim=-1)
            heard = (share @ value).transpose(1, 2).reshape(posts, length, width)
            states = self.norms[2 * i](states + self.drop(self.told[i](heard)))
            states = self.norms[2 * i + 1](states + self.drop(self.down[i](F.relu(self.up[i](states)))))
        tall = mask.unsqueeze(2)
        count = tall.sum(1).clamp(min=1)
        seen = torch.cat([(states * tall).sum(1) / count, (states * tall - (1 - tall) * 1e3).amax(1)], 1)
        return self.last(self.drop(seen)) + (self.lone(ids) * tall).sum(1) / count.sqrt()


CANDIDATES = {
    "narrow": (Windows, {"width": 64, "filters": 128, "hidden": 96}),
    "wide": (Windows, {"width": 128, "filters": 256, "hidden": 128}),
    "deep": (Windows, {"width": 96, "filters": 192, "hidden": 128, "deep": 1}),
    "tiny": (Tiny, {"width": 128, "layers": 2, "heads": 4}),
}
"""Name → network and its shape, from the cheapest to the dearest."""


def made(name: str, words: int) -> nn.Module:
    """Return an untrained candidate for a vocabulary of so many tokens."""
    kind, shape = CANDIDATES[name]
    return kind(words, **shape)


def start_from(net: nn.Module, table: Tensor) -> None:
    """Start a net's word vectors from the main directions of a detector's own."""
    table = table.float() - table.float().mean(0)
    directions = torch.linalg.svd(table.T @ table)[0][:, : net.vectors.weight.shape[1]]
    found = table @ directions
    net.vectors.weight.data.copy_(0.5 * found / found.std())
