"""Fit a network to answers, and read its answers off: the loop with posts instead of batches.

Tokens and targets in, a trained network and its history out. The loss takes soft
or hard answers to each head and leaves unanswered heads out. The order of an
epoch is given from outside, so that over- and undersampling and copies of posts
stay out of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from davy.detectors.network import Head, Network, columns_of
from davy.training.data import Targets, Tokens, batches_by_length, batches_longest_first
from davy.training.loop import Loop, Schedule
from davy.training.processes import ProcessGroup
from davy.training.run_record import History, StepProgress


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


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How to fit: the schedule, the batch, and how much two passes through dropout must agree (R-Drop)."""

    schedule: Schedule
    batch: int = 32
    agreement: float = 0.0
    seed: int = 0


def fit(
    network: Network,
    tokens: Tokens,
    targets: Targets,
    recipe: FitSettings,
    *,
    order: Callable[[np.random.Generator], np.ndarray],
    evaluate: Callable[[], dict[str, Any]] | None = None,
    folder: Path | None = None,
    save_every: int = 0,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
    on_step: Callable[[StepProgress], None] = lambda _: None,
    team: ProcessGroup | None = None,
    identity: Mapping[str, Any] | None = None,
    on_epoch: Callable[[int], None] | None = None,
) -> History:
    """Train the network in place and return the history; `order(rng)` gives the rows of one epoch."""
    lengths = tokens.lengths.cpu().numpy()
    device = tokens.flat.device

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((recipe.seed, epoch))
        return batches_by_length(order(rng), lengths, recipe.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        rows = torch.from_numpy(batch).to(device)
        ids, mask = tokens.batch(rows, int(lengths[batch].max()))
        values, weights = targets.values[rows], targets.weights[rows]
        if not recipe.agreement:
            return masked_loss(network(ids, mask), values, weights, targets.heads)
        one, other = network(torch.cat([ids, ids]), torch.cat([mask, mask])).chunk(2)  # dropout differs between them
        value = masked_loss(one, values, weights, targets.heads) + masked_loss(other, values, weights, targets.heads)
        return value / 2 + recipe.agreement * agreement_loss(one, other, targets.heads, weights)

    return Loop(
        network,
        recipe.schedule,
        batches,
        loss,
        evaluate,
        recipe.seed,
        folder,
        save_every,
        tell,
        on_step,
        team or ProcessGroup(),
        identity or {},
        on_epoch,
    ).run()


@torch.inference_mode()
def predict(network: nn.Module, tokens: Tokens, *, batch: int = 64, precision: str = "fp32") -> Tensor:
    """Return the logits for all posts in their order, on the tokens' device."""
    network.eval()
    lengths = tokens.lengths.cpu().numpy()
    device = tokens.flat.device
    out: Tensor | None = None
    for rows in batches_longest_first(lengths, batch):
        index = torch.from_numpy(rows.copy()).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits = network(*tokens.batch(index, int(lengths[rows].max()))).float()
        if out is None:
            out = logits.new_empty(len(tokens), logits.shape[1])
        out[index] = logits
    assert out is not None, "no posts to score"
    return out
