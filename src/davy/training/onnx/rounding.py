"""Weight matrices in four bits.

A weight is a code of -7 to 7, a whole scale of 1 to 15 for each group of 32 inputs, and a scale for each output. Code
times group scale is an int8, so that a graph which holds four bits a weight multiplies in int8 like any other.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 32
LARGEST_CODE, LARGEST_SCALE = 7, 15
KEPT = 0.92
"""The share of a group's largest weight that its codes reach: what lies above is cut, and all others gain."""


def to_four_bits(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return a weight matrix (outputs × inputs) as codes, group scales (outputs × groups) and scale (outputs × 1).

    The weight is about code × the scale of its group × scale; codes and group scales are int8.
    """
    outputs, inputs = weight.shape
    groups = weight.detach().float().reshape(outputs, inputs // GROUP, GROUP)
    largest = groups.abs().amax(dim=2) * KEPT
    scale = (largest.amax(dim=1, keepdim=True) / (LARGEST_CODE * LARGEST_SCALE)).clamp(min=1e-10)
    group_scale = (largest / (LARGEST_CODE * scale)).round().clamp(1, LARGEST_SCALE)
    codes = (groups / (group_scale * scale).unsqueeze(2)).round().clamp(-LARGEST_CODE, LARGEST_CODE)
    return codes.reshape(outputs, inputs).to(torch.int8), group_scale.to(torch.int8), scale
