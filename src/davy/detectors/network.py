"""One encoder with a head for each question, in torch.

Token ids and a mask in, logits for every question out, in one matrix whose
columns belong to the questions in order. It needs only torch and transformers, so
that the job that builds the shipped detectors runs the same code as `davy train`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from davy.core.question_kind import HasKind

POOLINGS: tuple[str, ...] = ("mean", "first")


@dataclass(frozen=True, slots=True)
class Head(HasKind):
    """A question as the network sees it: its name, its kind and how many labels it has."""

    name: str
    kind: str
    labels: int


class Network(nn.Module):
    """A transformers encoder, a pooling over its last layer, and one linear layer that serves all heads."""

    def __init__(
        self, encoder: nn.Module, heads: tuple[Head, ...], *, pooling: str = "mean", dropout: float = 0.1
    ) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"pooling {pooling!r} is not one of {', '.join(POOLINGS)}")
        self.encoder = encoder
        self.heads = heads
        self.pooling = pooling
        self.dropout = nn.Dropout(dropout)
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr,arg-type]
        self.out = nn.Linear(width, sum(head.labels for head in heads))
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the logits of all heads side by side: batch × total labels."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        logits: Tensor = self.out(self.dropout(self.pooled(states, attention_mask)))
        return logits

    def pooled(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return one vector a post: the mean over its tokens, or the first token's."""
        if self.pooling == "first":
            return states[:, 0]
        weight = mask.unsqueeze(-1).to(states.dtype)
        return (states * weight).sum(1) / weight.sum(1).clamp(min=1)

    def columns(self) -> dict[str, slice]:
        """Return which columns of the logits belong to which head."""
        return columns_of(self.heads)


def columns_of(heads: tuple[Head, ...]) -> dict[str, slice]:
    """Return head → its slice of a matrix that holds all heads side by side."""
    columns, start = {}, 0
    for head in heads:
        columns[head.name] = slice(start, start + head.labels)
        start += head.labels
    return columns


def probabilities(logits: Tensor, heads: tuple[Head, ...], temperatures: Mapping[str, float] | None = None) -> Tensor:
    """Return probabilities for logits of all heads: softmax for one label, sigmoid for many."""
    parts = []
    for head, columns in zip(heads, columns_of(heads).values(), strict=True):
        block = logits[:, columns].float() / (temperatures or {}).get(head.name, 1.0)
        parts.append(block.sigmoid() if head.multilabel else block.softmax(dim=1))
    return torch.cat(parts, dim=1)
