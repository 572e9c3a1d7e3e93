"""Several processes that train one model together: who we are among them, and the mean of what all found.

`accelerate launch -m davy train …` starts the processes, one for each GPU; without it
a run is a team of one and nothing here costs anything. Each takes its share of every
batch, gradients are averaged before a step, and so all hold the same weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """One process of a run: its number, how many there are, and where its tensors live."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and speaks for all."""
        return self.rank == 0

    def share(self, batch: np.ndarray) -> np.ndarray:
        """Return our part of a batch; a batch with fewer rows than processes is read whole by all."""
        return batch if len(batch) < self.size else batch[self.rank :: self.size]

    def average(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace each gradient by its mean over the processes, in one exchange."""
        if self.size == 1:
            return
        given = list(parameters)
        for parameter in given:  # a head without answers in our share has no gradient, but others may have one
            if parameter.grad is None and parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in given if parameter.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        torch.distributed.all_reduce(flat)
        flat /= self.size
        at = 0
        for gradient in gradients:
            gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
            at += gradient.numel()

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean of a number over the processes."""
        if self.size > 1:
            torch.distributed.all_reduce(value)
            value /= self.size
        return value

    def same(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the leader's record, so that all choose and stop alike even where rounding differs."""
        if self.size == 1:
            return record
        held = [record]
        torch.distributed.broadcast_object_list(held)
        return held[0]

    def wait(self) -> None:
        """Go on when all are here."""
        if self.size > 1:
            torch.distributed.barrier()


def process_group() -> ProcessGroup:
    """Return this process's place: as a launcher set it, else alone on the first GPU or the processor."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return ProcessGroup(device="cuda" if torch.cuda.is_available() else "cpu")
    from accelerate import PartialState

    state = PartialState()
    return ProcessGroup(state.process_index, state.num_processes, str(state.device))
