"""Products with trained matrices in a graph: exact, in int8, or stored in four bits and multiplied in int8.

A linear layer and the name of its input in; the name of its output out. In int8 a
matrix has a scale for each output and the input is rounded as it comes, over the whole
tensor. Four bits are unpacked from constants, which onnxruntime does once, at load: a
run multiplies the same matrices as any other. Codes are kept as uint8 around a middle:
with int8, processors without VNNI add pairs of products in 16 bits, which overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from onnx import TensorProto
from torch import Tensor

from davy.training.onnx.graph import Array, Graph, Value, int64

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


MIDDLE = 128
"""The uint8 that stands for 0."""


@dataclass(frozen=True)
class LinearLayer:
    """A linear layer: weight (outputs × inputs), bias, and the range of its inputs where that was measured."""

    weight: Tensor
    bias: Tensor
    range: tuple[float, float] | None = None


def add_product(graph: Graph, states: str, layer: LinearLayer, bits: int) -> str:
    """Return the layer's output for states (tokens × inputs), its matrix in 32, 8 or 4 bits."""
    if bits == 32:
        return graph.add("Gemm", states, to_array(layer.weight.T), to_array(layer.bias))
    if layer.range is not None:
        return add_products(graph, states, [layer], bits)[0]
    matrix, scale = _rounded(graph, layer.weight, bits)
    return graph.own("DynamicQuantizeMatMul", states, matrix, scale, np.array(MIDDLE, np.uint8), to_array(layer.bias))


def add_products(graph: Graph, states: str, layers: Sequence[LinearLayer], bits: int) -> list[str]:
    """Return several layers' outputs for the same states, which are rounded once."""
    if bits == 32:
        return [add_product(graph, states, layer, bits) for layer in layers]
    codes, step, zero = _codes(graph, states, layers[0].range)
    names = []
    for layer in layers:
        matrix, scale = _rounded(graph, layer.weight, bits)
        middle = np.array(MIDDLE, np.uint8)
        names.append(graph.own("MatMulIntegerToFloat", codes, matrix, step, scale, zero, middle, to_array(layer.bias)))
    return names


def _codes(graph: Graph, states: str, known: tuple[float, float] | None) -> tuple[Value, Value, Value]:
    """Return states in uint8 with their step and zero: of a range that is known, or of what comes."""
    if known is None:
        found, its_step, its_zero = graph.split("DynamicQuantizeLinear", states, outputs=3)
        return found, its_step, its_zero
    low, high = min(known[0], 0.0), max(known[1], 0.0)
    step = np.array((high - low) / 255, dtype=np.float32)
    zero = np.array(round(-low / float(step)), dtype=np.uint8)
    return graph.add("QuantizeLinear", states, step, zero), step, zero


def to_array(tensor: Tensor) -> Array:
    """Return a tensor as a float32 array."""
    return tensor.detach().float().cpu().numpy()


def _rounded(graph: Graph, weight: Tensor, bits: int) -> tuple[Value, Array]:
    """Return a matrix (inputs × outputs) in uint8 around its middle, and the scale of each output."""
    weight = weight.detach().float()
    if bits == 4 and weight.shape[1] % 32 == 0:
        return _unpacked(graph, weight)
    scale = weight.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
    codes = ((weight / scale).round() + MIDDLE).to(torch.uint8)
    return codes.T.contiguous().numpy(), scale.squeeze(1).numpy()


def _unpacked(graph: Graph, weight: Tensor) -> tuple[str, Array]:
    codes, group_scale, scale = to_four_bits(weight)
    outputs, groups = group_scale.shape
    inputs = weight.shape[1]
    small = graph.nibbles(codes.T.contiguous().numpy().reshape(groups, inputs // groups, outputs), signed=True)
    large = graph.nibbles(group_scale.T.contiguous().numpy().reshape(groups, 1, outputs), signed=False)
    matrix = graph.add("Reshape", graph.add("Mul", small, large), int64(inputs, outputs))
    wide = graph.add("Add", graph.add("Cast", matrix, to=TensorProto.INT16), np.array(MIDDLE, np.int16))
    matrix = graph.add("Cast", wide, to=TensorProto.UINT8)
    return matrix, np.ascontiguousarray(scale.squeeze(1).numpy())
