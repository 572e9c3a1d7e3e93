"""The head of an exit as a network that learns: states of a post's tokens and a mask in, a logit a question out."""

from __future__ import annotations

import torch
from network_split import LARGEST, ExitHead
from screen_nets import QUESTIONS

FILTERS, MIDDLE = 128, 64


class Net(torch.nn.Module):
    """The head: filters over each token, their loudest and mean answer over a post, and two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filters = torch.nn.Linear(width, FILTERS)
        self.middle = torch.nn.Linear(2 * FILTERS, MIDDLE)
        self.last = torch.nn.Linear(MIDDLE, len(QUESTIONS))
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        heard = torch.relu(self.filters(states)) * mask[:, :, None]
        seen = torch.cat([heard.amax(1), heard.sum(1) / mask.sum(1, keepdim=True)], dim=1)
        found: torch.Tensor = self.last(self.drop(torch.relu(self.middle(self.drop(seen)))))
        return found

    def rounded(self) -> Net:
        """Round the weights as the written graph will, so that marks are set on what it says; return the net."""
        with torch.no_grad():
            size = self.filters.weight.abs().amax(1, keepdim=True).clamp(min=1e-8) / LARGEST
            self.filters.weight.copy_((self.filters.weight / size).round() * size)
            self.middle.weight.copy_(self.middle.weight.half().float())
        return self

    def head(self) -> ExitHead:
        """Return the weights as the graph takes them."""
        layers = (self.filters, self.middle, self.last)
        arrays = [it.detach().numpy().copy() for layer in layers for it in (layer.weight.T, layer.bias)]
        return ExitHead(*arrays)
