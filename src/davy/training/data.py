"""Posts as tensors: token ids, what each head should say, and how much each answer counts.

Token lists and label matrices in, padded batches out. All of it lives on one
device from the start, so that no loader stands between the data and the loop. An
answer that a corpus does not give has weight 0 and is left out of the loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from davy.detectors.network import Head, columns_of


@dataclass(slots=True)
class Tokens:
    """Texts of different lengths in one flat tensor: text i is `flat[starts[i] : starts[i] + lengths[i]]`."""

    flat: Tensor
    starts: Tensor
    lengths: Tensor
    pad: int

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], pad: int, device: torch.device | str = "cpu") -> Tokens:
        """Return token lists packed onto a device."""
        lengths = np.array([len(it) for it in ids], dtype=np.int64)
        flat = np.concatenate([np.asarray(it, dtype=np.int32) for it in ids]) if len(ids) else np.zeros(0, np.int32)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(ids) else lengths
        places = starts.astype(np.int64)
        flats, begins, sizes = (torch.from_numpy(a).to(device) for a in (flat, places, lengths))
        return cls(flats, begins, sizes, pad)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: Tensor, longest: int | None = None) -> tuple[Tensor, Tensor]:
        """Return ids and mask of some texts, padded to the longest of them.

        A caller that knows that length saves a GPU the wait for it.
        """
        lengths = self.lengths[rows]
        place = torch.arange(int(lengths.max()) if longest is None else longest, device=self.flat.device)
        mask = place < lengths[:, None]
        index = (self.starts[rows][:, None] + place).clamp(max=len(self.flat) - 1)
        return torch.where(mask, self.flat[index].long(), self.pad), mask.long()


@dataclass(slots=True)
class Targets:
    """For each post and head: a row of label probabilities (hard ones are 0 and 1) and a weight."""

    heads: tuple[Head, ...]
    values: Tensor
    """Posts × total labels."""
    weights: Tensor
    """Posts × heads; 0 where there is no answer."""

    @classmethod
    def empty(cls, heads: tuple[Head, ...], posts: int) -> Targets:
        """Return targets with no answers yet."""
        return cls(heads, torch.zeros(posts, sum(h.labels for h in heads)), torch.zeros(posts, len(heads)))

    def answer(self, head: str, rows: Tensor, labels: Tensor, weight: float | Tensor = 1.0) -> None:
        """Set what `head` should say about some posts: a label index each, or a matrix of label probabilities."""
        columns = columns_of(self.heads)[head]
        place = [it.name for it in self.heads].index(head)
        if labels.ndim == 1:
            labels = torch.nn.functional.one_hot(labels.long(), columns.stop - columns.start)
        self.values[rows, columns] = labels.to(self.values.dtype)
        self.weights[rows, place] = torch.as_tensor(weight, dtype=self.weights.dtype, device=self.weights.device)

    def to(self, device: torch.device | str) -> Targets:
        """Return the same targets on another device."""
        return Targets(self.heads, self.values.to(device), self.weights.to(device))


def batches_by_length(order: np.ndarray, lengths: np.ndarray, batch: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the order cut into batches of similar length, shuffled: sorted only within chunks, so epochs differ."""
    chunk = batch * 64
    batches: list[np.ndarray] = []
    for start in range(0, len(order), chunk):
        part = order[start : start + chunk]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + batch] for i in range(0, len(part), batch)]
    return [batches[i] for i in rng.permutation(len(batches))]


def batches_longest_first(lengths: np.ndarray, batch: int) -> Iterator[np.ndarray]:
    """Yield batches of all posts from long to short, for scoring."""
    order = np.argsort(-lengths, kind="stable")
    for start in range(0, len(order), batch):
        yield order[start : start + batch]
