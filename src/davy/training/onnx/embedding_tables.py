"""Word vectors in 8 bits or 4: as modules for a tracer, and as nodes of a graph that Davy writes.

A table of embeddings in, a smaller one out. In 8 bits each row has a scale of its own,
so that a rare token is not rounded away by a large one; in 4 bits each group of 32 has.
"""

from __future__ import annotations

import torch
from onnx import TensorProto
from torch import Tensor, nn

from davy.training.onnx.graph import Array, Graph, float32, int64

GROUP = 32


class RoundedEmbedding(nn.Module):
    """An embedding table in int8, with a scale for each row."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        weight = table.weight.detach().float()
        scale = weight.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("table", (weight / scale).round().to(torch.int8))

    def forward(self, ids: Tensor) -> Tensor:
        return self.table[ids].float() * self.scale[ids]  # type: ignore[index]


class PackedEmbedding(nn.Module):
    """An embedding table in 4 bits, two values a byte, with a half-precision scale for each group of 32."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        weight = table.weight.detach().float()
        rows, width = weight.shape
        self.width = width
        groups = weight.reshape(rows, width // GROUP, GROUP)
        scale = _best_scale(groups)
        codes = ((groups / scale).round().clamp(-8, 7) + 8).reshape(rows, width).to(torch.uint8)
        self.register_buffer("scale", scale.squeeze(2).half())
        self.register_buffer("table", codes[:, : width // 2] + codes[:, width // 2 :] * 16)

    def forward(self, ids: Tensor) -> Tensor:
        pairs = self.table[ids].to(torch.int32)  # type: ignore[index]
        codes = torch.cat([pairs % 16, pairs // 16], dim=-1).float() - 8
        scale = self.scale[ids].float().unsqueeze(-1)  # type: ignore[index]
        return (codes.reshape(*ids.shape, self.width // GROUP, GROUP) * scale).reshape(*ids.shape, self.width)


class MixedEmbedding(nn.Module):
    """An embedding table whose `frequent` rows have 8 bits a value and all others 4."""

    def __init__(self, table: nn.Embedding, frequent: Tensor) -> None:
        super().__init__()
        weight = table.weight.detach()
        self.frequent = RoundedEmbedding(nn.Embedding.from_pretrained(weight[frequent]))  # type: ignore[no-untyped-call]
        self.rare = PackedEmbedding(nn.Embedding.from_pretrained(weight[~frequent]))  # type: ignore[no-untyped-call]
        place = torch.where(frequent, frequent.long().cumsum(0), (~frequent).long().cumsum(0)) - 1
        self.register_buffer("is_frequent", frequent)
        self.register_buffer("place", place.to(torch.int32))

    def forward(self, ids: Tensor) -> Tensor:
        is_frequent, place = self.is_frequent[ids], self.place[ids].long()  # type: ignore[index]
        nothing = torch.zeros_like(place)
        frequent = self.frequent(torch.where(is_frequent, place, nothing))
        rare = self.rare(torch.where(is_frequent, nothing, place))
        return torch.where(is_frequent.unsqueeze(-1), frequent, rare)


def round_table(table: nn.Embedding, bits: int, frequent: Tensor | None = None) -> nn.Module:
    """Return the table in 8 bits a value, in 4, or in both."""
    if bits == 8:
        return RoundedEmbedding(table)
    return PackedEmbedding(table) if frequent is None else MixedEmbedding(table, frequent)


def add_lookup(graph: Graph, table: nn.Module, ids: str) -> str:
    """Return the vectors of tokens: the output of the same table in a graph, ids … in, ids … × width out."""
    if isinstance(table, RoundedEmbedding):
        codes = graph.add("Cast", graph.add("Gather", _of(table, "table"), ids), to=TensorProto.FLOAT)
        return graph.add("Mul", codes, graph.add("Gather", _of(table, "scale"), ids))
    if isinstance(table, PackedEmbedding):
        return _packed(graph, table, ids)
    if isinstance(table, MixedEmbedding):
        frequent = graph.add("Gather", _of(table, "is_frequent"), ids)
        place = graph.add("Gather", _of(table, "place"), ids)
        nothing = _of(table, "place")[:1] * 0
        eight = add_lookup(graph, table.frequent, graph.add("Where", frequent, place, nothing))
        four = add_lookup(graph, table.rare, graph.add("Where", frequent, nothing, place))
        return graph.add("Where", graph.add("Unsqueeze", frequent, int64(-1)), eight, four)
    assert isinstance(table, nn.Embedding)
    return graph.add("Gather", table.weight.detach().float().numpy(), ids)


def _packed(graph: Graph, table: PackedEmbedding, ids: str) -> str:
    pairs = graph.add("Gather", _of(table, "table"), ids)
    four = _of(table, "table")[:1, :1] * 0 + 4
    high = graph.add("BitShift", pairs, four, direction="RIGHT")
    low = graph.add("BitwiseAnd", pairs, four * 0 + 15)
    codes = graph.add("Cast", graph.add("Concat", low, high, axis=-1), to=TensorProto.FLOAT)
    shape = graph.add("Shape", ids)
    groups = graph.add("Concat", shape, int64(table.width // GROUP, GROUP), axis=0)
    scale = graph.add("Cast", graph.add("Gather", _of(table, "scale"), ids), to=TensorProto.FLOAT)
    centred = graph.add("Sub", graph.add("Reshape", codes, groups), float32(8))
    values = graph.add("Mul", centred, graph.add("Unsqueeze", scale, int64(-1)))
    return graph.add("Reshape", values, graph.add("Concat", shape, int64(table.width), axis=0))


def _of(table: nn.Module, name: str) -> Array:
    """Return a buffer of a table as an array."""
    return getattr(table, name).cpu().numpy()  # type: ignore[no-any-return]


def _best_scale(groups: Tensor) -> Tensor:
    """Return for each group the scale, out of some near its largest value, that rounds it with the least error."""
    largest = groups.abs().amax(dim=2, keepdim=True).clamp(min=1e-6)
    best, least = largest / 7, torch.full_like(largest, torch.inf)
    for share in (0.75, 0.8, 0.85, 0.9, 0.95, 1.0):
        scale = (largest * share / 7).half().float().clamp(min=1e-6)
        error = ((groups / scale).round().clamp(-8, 7) * scale - groups).square().sum(2, keepdim=True)
        best, least = torch.where(error < least, scale, best), torch.minimum(error, least)
    return best
