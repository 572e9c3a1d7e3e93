"""The graph of a whole network, written so that little but its matrix products costs time.

A network whose encoder `davy.training.onnx.encoders` knows in; a graph out. Tokens lie
position by position, not post by post (length × batch × width): attention then reads
its heads in place, where a post by post order needs four transposed copies a layer.
Attention sums exponentials with one product: each head's value has a last column
of ones, zero at padding, whose sum is what softmax divides by. So padding is left out
without a mask over all pairs of tokens. Norms take the sum of two tensors of rank 2: of
rank 3 onnxruntime would fuse them into an operator that is six times slower.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto
from torch import Tensor, nn

from davy.detectors.network import Network
from davy.training.onnx.embedding_tables import add_lookup
from davy.training.onnx.encoders import EncoderLayer, EncoderParts, LayerNorm
from davy.training.onnx.graph import Array, Graph, Value, float32, int64
from davy.training.onnx.matrices import LinearLayer, add_product, add_products, to_array

EXACT = 32
LIMIT = 60.0
"""Attention scores are cut to this size either way, so that no exponential overflows; trained ones stay below 40."""


def write_fused(
    network: Network,
    parts: EncoderParts,
    words: nn.Module,
    questions: Sequence[str],
    columns: Sequence[Sequence[int]],
    path: Path,
    *,
    bits: int,
    within: Mapping[int, tuple[int, int]],
) -> None:
    """Write the network with its matrices in 32, 8 or 4 bits and `words` as its table; the rest is as `write_onnx`."""
    graph = Graph()
    body = EncoderBody(graph, parts, bits)
    states = body.embedded(words)
    for layer in parts.layers:
        states = body.layer(states, layer)
    pooled = body.first(states) if network.pooling == "first" else body.mean(states)
    outputs = _answers(graph, pooled, network.out, columns, within)
    widths = [len(it) for it in columns]
    graph.save(path, ["input_ids", "attention_mask"], list(zip(questions, outputs, widths, strict=True)))


class EncoderBody:
    """The encoder's part of a graph, and what all its layers share: the shapes and the mask of a batch."""

    def __init__(self, graph: Graph, parts: EncoderParts, bits: int) -> None:
        self.graph, self.parts, self.bits = graph, parts, bits
        self.width = parts.words.embedding_dim
        self.ids = graph.add("Transpose", "input_ids", perm=[1, 0])
        self.take_mask(graph.add("Cast", graph.add("Transpose", "attention_mask", perm=[1, 0]), to=TensorProto.FLOAT))
        self.bias = None if parts.distances is None else self._distances(parts.distances)

    def take_mask(self, mask: str) -> None:
        """Take the mask of the sequence that the layers read (length × batch), and its shapes."""
        graph, heads = self.graph, self.parts.heads
        size = self.width // heads
        self.mask = mask
        self.shape = graph.add("Shape", mask)
        self.split = graph.add("Concat", self.shape, int64(heads, size), axis=0)
        self.split_with_ones = graph.add("Concat", self.shape, int64(heads, size + 1), axis=0)
        self.per_head = graph.add("Unsqueeze", mask, int64(2, 3))

    def embedded(self, words: nn.Module) -> str:
        """Return the states before the first layer: tokens × width."""
        vectors = self.graph.add("Add", add_lookup(self.graph, words, self.ids), self.positions())
        return self.norm(self.graph.add("Reshape", vectors, int64(-1, self.width)), self.parts.embedded)

    def layer(self, states: str, layer: EncoderLayer) -> str:
        """Return the states after a layer."""
        graph = self.graph
        attended = add_product(graph, self.attention(states, layer), layer.out, self.bits)
        states = self.norm(graph.add("Add", attended, states), layer.attended)
        inner = graph.own("Gelu", add_product(graph, states, layer.up, self.bits))
        return self.norm(graph.add("Add", add_product(graph, inner, layer.down, self.bits), states), layer.norm)

    def attention(self, states: str, layer: EncoderLayer) -> str:
        """Return what each token takes from the others, heads side by side."""
        graph, size = self.graph, self.width // self.parts.heads
        value = _with_ones(layer.value, self.parts.heads)
        query, key, values = add_products(graph, states, (layer.query, layer.key, value), self.bits)
        query, key = (graph.add("Reshape", it, self.split) for it in (query, key))
        values = graph.add("Mul", graph.add("Reshape", values, self.split_with_ones), self.per_head)
        scores = graph.own("FusedMatMul", query, key, transBatchA=1, transBatchB=1, transB=1, alpha=1 / math.sqrt(size))
        if self.bias is not None:
            scores = graph.add("Add", scores, self.bias)
        powers = graph.add("Exp", graph.add("Clip", scores, float32(-LIMIT), float32(LIMIT)))
        sums, total = graph.split(
            "Split", graph.own("FusedMatMul", powers, values, transBatchB=1), int64(size, 1), outputs=2, axis=-1
        )
        taken = graph.add("Transpose", graph.add("Div", sums, total), perm=[2, 0, 1, 3])
        return graph.add("Reshape", taken, int64(-1, self.width))

    def norm(self, states: str, norm: LayerNorm) -> str:
        """Return the states, normalised."""
        weight, bias = to_array(norm.weight), to_array(norm.bias)
        return self.graph.add("LayerNormalization", states, weight, bias, axis=-1, epsilon=norm.epsilon)

    def mean(self, states: str) -> str:
        """Return the mean over each post's tokens: batch × width."""
        graph = self.graph
        apart = graph.add("Reshape", states, graph.add("Concat", self.shape, int64(self.width), axis=0))
        sums = graph.add("ReduceSum", graph.add("Mul", apart, graph.add("Unsqueeze", self.mask, int64(2))), int64(0))
        number = graph.add("Max", graph.add("ReduceSum", self.mask, int64(0)), float32(1))
        states = graph.add("Reshape", sums, int64(-1, self.width))
        return graph.add("Div", states, graph.add("Reshape", number, int64(-1, 1)))

    def first(self, states: str) -> str:
        """Return each post's first token: batch × width."""
        batch = self.graph.add("Slice", self.shape, int64(1), int64(2))
        return self.graph.add("Slice", states, int64(0), batch, int64(0))

    def positions(self) -> str:
        """Return what is added to word vectors for their places: length × batch or 1 × width."""
        graph, table = self.graph, self.halved(to_array(self.parts.positions))
        if self.parts.padding is None:
            length = graph.add("Slice", self.shape, int64(0), int64(1))
            return graph.add("Unsqueeze", graph.add("Slice", table, int64(0), length, int64(0)), int64(1))
        real_token = graph.add("Equal", self.ids, int64(self.parts.padding))
        counted = graph.add("Cast", graph.add("Not", real_token), to=TensorProto.INT64)
        places = graph.add("Mul", graph.add("CumSum", counted, int64(0)), counted)
        return graph.add("Gather", table, graph.add("Add", places, int64(self.parts.padding)))

    def halved(self, table: Array) -> Value:
        """Return a table that takes half the room in a rounded graph; it is widened once, at load."""
        if self.bits == EXACT:
            return table
        return self.graph.add("Cast", table.astype(np.float16), to=TensorProto.FLOAT)

    def _distances(self, distances: Tensor) -> str:
        """Return what is added to the scores of each pair of tokens: heads × length × length."""
        graph, table = self.graph, to_array(distances)
        length = graph.add("Squeeze", graph.add("Slice", self.shape, int64(0), int64(1)), int64(0))
        places = graph.add("Range", int64(0).reshape(()), length, int64(1).reshape(()))
        away = graph.add("Sub", graph.add("Unsqueeze", places, int64(0)), graph.add("Unsqueeze", places, int64(1)))
        return graph.add("Gather", table, graph.add("Add", away, int64(table.shape[1] // 2)), axis=1)


def _with_ones(value: LinearLayer, heads: int) -> LinearLayer:
    """Return the layer with one more output at the end of each head, which is always one."""
    weight, bias = value.weight.detach().float(), value.bias.detach().float()
    inputs = weight.shape[1]
    weight = torch.cat([weight.reshape(heads, -1, inputs), torch.zeros(heads, 1, inputs)], dim=1)
    bias = torch.cat([bias.reshape(heads, -1), torch.ones(heads, 1)], dim=1)
    return LinearLayer(weight.reshape(-1, inputs), bias.reshape(-1))


def _answers(
    graph: Graph, pooled: str, out: nn.Linear, columns: Sequence[Sequence[int]], within: Mapping[int, tuple[int, int]]
) -> list[str]:
    """Return the logits of each question; see `davy.training.onnx.write.QuestionOutputs` for `within`."""
    order = [column for block in columns for column in block]
    logits = graph.add("Gemm", pooled, to_array(out.weight[order].T), to_array(out.bias[order]))
    widths = int64(*(len(block) for block in columns))
    blocks = graph.split("Split", logits, widths, outputs=len(columns), axis=1)
    for child, (parent, label) in within.items():
        leads = graph.add(
            "Slice", graph.add("Softmax", blocks[parent], axis=1), int64(label), int64(label + 1), int64(1)
        )
        chance = graph.add("Mul", graph.add("Sigmoid", blocks[child]), leads)
        chance = graph.add("Clip", chance, float32(1e-6), float32(1 - 1e-6))
        against = graph.add("Log", graph.add("Sub", float32(1), chance))
        blocks[child] = graph.add("Sub", graph.add("Log", chance), against)
    return blocks
