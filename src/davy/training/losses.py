"""What the network is punished for: soft or hard answers to each head, unanswered heads left out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from davy.detectors.network import Head, columns_of


def masked_loss(logits: Tensor, values: Tensor, weights: Tensor, heads: tuple[Head, ...]) -> Tensor:
    """Return the mean over posts of the weighted sum of each head's cross-entropy.

    The sum is divided by the number of posts, not of answers: a head with few answers
    in a batch does not get louder for it.
    """
    total = logits.new_zeros((), dtype=torch.float32)
    for place, (head, columns) in enumerate(zip(heads, columns_of(heads).values(), strict=True)):
        block, wanted = logits[:, columns].float(), values[:, columns].float()
        if head.multilabel:
            each = F.binary_cross_entropy_with_logits(block, wanted, reduction="none").sum(1)
        else:
            each = -(wanted * F.log_softmax(block, dim=1)).sum(1)
        total = total + (each * weights[:, place].float()).sum()
    return total / len(logits)


def agreement_loss(one: Tensor, other: Tensor, heads: tuple[Head, ...], weights: Tensor) -> Tensor:
    """Return how far two passes of one batch through dropout disagree (R-Drop): symmetric KL over answered heads."""
    total = one.new_zeros((), dtype=torch.float32)
    for place, (head, columns) in enumerate(zip(heads, columns_of(heads).values(), strict=True)):
        a, b = one[:, columns].float(), other[:, columns].float()
        if head.multilabel:
            each = ((a.sigmoid() - b.sigmoid()) * (a - b)).sum(1) / 2
        else:
            p, q = F.log_softmax(a, 1), F.log_softmax(b, 1)
            each = ((p.exp() - q.exp()) * (p - q)).sum(1) / 2
        total = total + (each * weights[:, place].float()).sum()
    return total / len(one)
