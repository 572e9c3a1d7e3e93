"""Training dynamics: what the network thought of each post's gold label after every epoch.

A network in training and its targets in; one file an epoch out, so that a run that was killed and resumed has them
all. The pass is made without dropout and changes nothing about the training.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from davy.core.errors import UserError
from davy.detectors.network import Network, columns_of
from davy.files.atomic import atomic_path
from davy.training.data import Targets, Tokens
from davy.training.fit import predict

FOLDER = "dynamics"


@dataclass(frozen=True, slots=True)
class DynamicsRecorder:
    """Called after each epoch: writes for each post and head the gold label's probability and whether it is right."""

    network: Network
    tokens: Tokens
    wanted: Targets
    folder: Path
    batch: int
    precision: str

    def __call__(self, epoch: int) -> None:
        """Write the record of an epoch, counted from 1."""
        logits = predict(self.network, self.tokens, batch=max(32, self.batch), precision=self.precision)
        chances, right = gold_chances(logits, self.wanted)
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.folder / f"epoch-{epoch:03}.npz") as draft, draft.open("wb") as file:
            np.savez_compressed(file, chances=chances, right=right)


def gold_chances(logits: torch.Tensor, wanted: Targets) -> tuple[np.ndarray, np.ndarray]:
    """Return posts × heads: the probability of the gold label (nan without an answer), and whether it was chosen.

    For a question with several labels a post it is the mean probability of the right yes or no to each label.
    """
    chances = np.full(wanted.weights.shape, np.nan, dtype=np.float32)
    right = np.zeros(wanted.weights.shape, dtype=bool)
    for place, (head, columns) in enumerate(zip(wanted.heads, columns_of(wanted.heads).values(), strict=True)):
        rows = wanted.weights[:, place] > 0
        gold, block = wanted.values[rows][:, columns], logits[rows][:, columns].float()
        if head.multilabel:
            yes = block.sigmoid()
            chance = (yes * gold + (1 - yes) * (1 - gold)).mean(dim=1)
            hit = ((block > 0) == (gold > 0.5)).all(dim=1)
        else:
            chance = (block.softmax(dim=1) * gold).sum(dim=1)
            hit = block.argmax(dim=1) == gold.argmax(dim=1)
        kept = rows.cpu().numpy()
        chances[kept, place], right[kept, place] = chance.cpu().numpy(), hit.cpu().numpy()
    return chances, right


def read_dynamics(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return what a recorder wrote, epochs × posts × heads: probabilities of the gold label, and whether right."""
    files = sorted(folder.glob("epoch-*.npz"))
    if len(files) < 2:
        raise UserError(f"A data map needs two epochs or more; {folder} has {len(files)}. Train with --set epochs=3")
    chances, right = [], []
    for file in files:
        with np.load(file, allow_pickle=False) as record:
            chances.append(record["chances"])
            right.append(record["right"])
    return np.stack(chances), np.stack(right)
