"""The ranges of an encoder's activations, so that a rounded graph need not look for them in each batch.

A network and posts in; every linear layer of the encoder then knows the range of its
inputs. A graph with known ranges gives a post the same score in any company; with
ranges that are found as they come, the other posts of a batch move it a little.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from davy.models.network import Network

RANGE = "davy_range"
REACH = 0.999
"""The share of posts whose activations lie within the range; what lies outside is cut."""


def measure(network: Network, posts: Iterable[tuple[Tensor, Tensor]], *, reach: float = REACH) -> None:
    """Let every linear layer of the encoder know its inputs' range, from posts one at a time: ids and mask of each."""
    seen: dict[nn.Linear, list[Tensor]] = {it: [] for it in network.encoder.modules() if isinstance(it, nn.Linear)}

    def note(layer: nn.Linear, _module: nn.Module, given: tuple[Any, ...]) -> None:
        states = given[0].detach()
        seen[layer].append(torch.stack([states.amin(), states.amax()]))

    hooks = [layer.register_forward_pre_hook(partial(note, layer)) for layer in seen]
    try:
        network.eval()
        with torch.inference_mode():
            for ids, mask in posts:
                network(ids, mask)
    finally:
        for hook in hooks:
            hook.remove()
    for layer, found in seen.items():
        ends = torch.stack(found).float()
        low = float(torch.quantile(ends[:, 0], 1 - reach))
        high = float(torch.quantile(ends[:, 1], reach))
        setattr(layer, RANGE, (low, high))
