"""Train a fusion over a frozen CLIP-like model with retrieval: vectors and labels in, what ranks dev best out.

Each update asks for the right label and moves a meme: towards the nearest one of its own label, away from the nearest
one of the other and from those of the other in its batch (retrieval-guided contrastive training, Mei and others 2024).
Neighbours are looked up among all memes of train, whose places are computed anew at every evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from davy.detectors.clip_vectors import ClipVectors
from davy.detectors.meme_presets import MemePreset
from davy.detectors.neighbour_model import SHARPNESS, FusionHead, NeighbourModel, new_head
from davy.measure.ranking import auroc
from davy.training.meme_trainer import update_batches


@dataclass(frozen=True)
class MemeVectors:
    """Memes as vectors of their texts and pictures (n, width), with their labels (1 is yes)."""

    texts: np.ndarray
    pictures: np.ndarray
    labels: np.ndarray


def train_neighbours(
    preset: MemePreset,
    memes: MemeVectors,
    dev: MemeVectors,
    vectors: ClipVectors,
    *,
    seed: int,
    tell: Callable[[], None] = lambda: None,
) -> NeighbourModel:
    """Return the fusion with its memes as they were at the evaluation with the best AUROC on dev."""
    torch.manual_seed(seed)
    settings = preset.training
    texts, pictures = torch.from_numpy(memes.texts), torch.from_numpy(memes.pictures)
    labels = torch.from_numpy(memes.labels.astype(np.float32))
    head = new_head(preset, texts.shape[1])
    head.standardise(texts, pictures)
    optimiser = torch.optim.AdamW(head.parameters(), lr=settings.rate, weight_decay=settings.weight_decay)
    known = places_of(head, texts, pictures)
    best: tuple[float, FusionHead, Tensor] | None = None
    lengths = np.ones(len(labels), np.int64)
    for update, batch in enumerate(update_batches(lengths, settings.batch, seed, 0, settings.updates), start=1):
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * min(1.0, update / max(1, settings.warmup))
        rows = torch.from_numpy(batch)
        places, logits = head.train()(texts[rows], pictures[rows])
        right = functional.binary_cross_entropy_with_logits(logits, labels[rows])
        loss = right + retrieval_loss(places, labels[rows], rows, known, labels)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if update % settings.every == 0 or update == settings.updates:
            known = places_of(head, texts, pictures)
            model = NeighbourModel(head, known, labels, preset, vectors)
            score = auroc(dev.labels == 1, model.logits_of(dev.texts, dev.pictures))
            if best is None or score > best[0]:
                best = score, deepcopy(head), known
            tell()
    assert best is not None, "the last update is always evaluated"
    return NeighbourModel(best[1].eval(), best[2], labels, preset, vectors)


@torch.no_grad()
def places_of(head: FusionHead, texts: Tensor, pictures: Tensor) -> Tensor:
    """Return where memes lie now."""
    found: Tensor = head.eval()(texts, pictures)[0]
    return found.clone()


def retrieval_loss(places: Tensor, labels: Tensor, rows: Tensor, known: Tensor, all_labels: Tensor) -> Tensor:
    """Return how far memes are from the nearest of their label, held against the nearest of the other and the batch's.

    `rows` are the memes' own numbers among the known ones, so that none is its own neighbour.
    """
    likeness = places @ known.T / SHARPNESS
    same = labels[:, None] == all_labels[None, :]
    own = torch.zeros_like(same)
    own[torch.arange(len(rows)), rows] = True
    lowest = torch.finfo(likeness.dtype).min
    nearest = likeness.masked_fill(~same | own, lowest).max(1).values
    hardest = likeness.masked_fill(same, lowest).max(1).values
    batch = (places @ places.T / SHARPNESS).masked_fill(labels[:, None] == labels[None, :], lowest)
    against = torch.cat([nearest[:, None], hardest[:, None], batch], dim=1).logsumexp(1)
    has_both = (nearest > lowest) & (hardest > lowest)
    losses: Tensor = torch.where(has_both, against - nearest, torch.zeros_like(nearest))
    return losses.mean()
