"""Training that feels the export: linear layers round as the exported graph will.

A module in; its linear layers then round weights to int8 per output channel, or to
four bits, and activations to uint8 over the whole tensor, as onnxruntime's dynamic
quantisation does, and gradients pass as if they had not. Weights learnt so lose
little at export.
"""

from __future__ import annotations

from types import MethodType

import torch.nn.functional as F
from torch import Tensor, nn

from davy.training.onnx.matrices import GROUP, to_four_bits


def round_weight(weight: Tensor) -> Tensor:
    """Return a weight matrix rounded to int8 with one scale a row."""
    scale = weight.detach().abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
    return weight + ((weight / scale).round() * scale - weight).detach()


def round_weight_to_four_bits(weight: Tensor) -> Tensor:
    """Return a weight matrix rounded to four bits."""
    codes, group_scale, scale = to_four_bits(weight)
    rounded = codes.reshape(*group_scale.shape, GROUP) * (group_scale * scale).unsqueeze(2)
    return weight + (rounded.reshape(weight.shape) - weight).detach()


def round_activation(states: Tensor) -> Tensor:
    """Return activations rounded to uint8 with one scale for the tensor; zero stays zero."""
    still = states.detach().float()
    low, high = still.amin().clamp(max=0), still.amax().clamp(min=0)
    scale = ((high - low) / 255).clamp(min=1e-8)
    zero = (-low / scale).round()
    rounded = (((still / scale).round() + zero).clamp(0, 255) - zero) * scale
    return states + (rounded - still).to(states.dtype)


def simulate_int8(module: nn.Module, *, bits: int = 8) -> None:
    """Make every linear layer of an encoder round from now on, its weights to 8 bits or 4."""
    rounded = {8: round_weight, 4: round_weight_to_four_bits}[bits]

    def forward(self: nn.Linear, states: Tensor) -> Tensor:
        return F.linear(round_activation(states), rounded(self.weight), self.bias)

    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.forward = MethodType(forward, layer)  # type: ignore[method-assign]


def stop_simulating(module: nn.Module) -> None:
    """Make the linear layers exact again."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.__dict__.pop("forward", None)
