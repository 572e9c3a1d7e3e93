"""A trained network as an ONNX graph, exact or in int8.

A network in; a file out with one output a question. In int8 the matrices have a
scale for each output channel and activations are rounded as they come, and each
token's vector has a scale of its own, so that a rare token is not rounded away by a
loud one. It needs only torch and onnx.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from davy.models.network import Network


class Answers(nn.Module):
    """A network whose outputs are the chosen questions, each with its columns in the order asked for.

    `within` maps a `many` question to (its parent, the parent's label that leads to it): its probabilities
    are multiplied by that label's, so that a post which is not hateful has no targets either.
    """

    def __init__(
        self, network: Network, columns: Sequence[Sequence[int]], within: Mapping[int, tuple[int, int]]
    ) -> None:
        super().__init__()
        self.network = network
        self.columns = [torch.tensor(list(it)) for it in columns]
        self.within = dict(within)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        logits = self.network(input_ids, attention_mask)
        blocks = [logits.index_select(1, columns) for columns in self.columns]
        for child, (parent, label) in self.within.items():
            chance = blocks[child].sigmoid() * blocks[parent].softmax(1)[:, label : label + 1]
            chance = chance.clamp(1e-6, 1 - 1e-6)
            blocks[child] = chance.log() - (1 - chance).log()
        return tuple(blocks)


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

    GROUP = 32

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        weight = table.weight.detach().float()
        rows, width = weight.shape
        self.width = width
        groups = weight.reshape(rows, width // self.GROUP, self.GROUP)
        scale = _best_scale(groups)
        codes = ((groups / scale).round().clamp(-8, 7) + 8).reshape(rows, width).to(torch.uint8)
        self.register_buffer("scale", scale.squeeze(2).half())
        self.register_buffer("table", codes[:, : width // 2] + codes[:, width // 2 :] * 16)

    def forward(self, ids: Tensor) -> Tensor:
        pairs = self.table[ids].to(torch.int32)  # type: ignore[index]
        codes = torch.cat([pairs % 16, pairs // 16], dim=-1).float() - 8
        scale = self.scale[ids].float().unsqueeze(-1)  # type: ignore[index]
        return (codes.reshape(*ids.shape, self.width // self.GROUP, self.GROUP) * scale).reshape(*ids.shape, self.width)


class MixedEmbedding(nn.Module):
    """An embedding table whose `loud` rows, the frequent ones, have 8 bits a value and all others 4."""

    def __init__(self, table: nn.Embedding, loud: Tensor) -> None:
        super().__init__()
        weight = table.weight.detach()
        self.loud = RoundedEmbedding(nn.Embedding.from_pretrained(weight[loud]))  # type: ignore[no-untyped-call]
        self.quiet = PackedEmbedding(nn.Embedding.from_pretrained(weight[~loud]))  # type: ignore[no-untyped-call]
        place = torch.where(loud, loud.long().cumsum(0), (~loud).long().cumsum(0)) - 1
        self.register_buffer("is_loud", loud)
        self.register_buffer("place", place.to(torch.int32))

    def forward(self, ids: Tensor) -> Tensor:
        is_loud, place = self.is_loud[ids], self.place[ids].long()  # type: ignore[index]
        nothing = torch.zeros_like(place)
        loud = self.loud(torch.where(is_loud, place, nothing))
        quiet = self.quiet(torch.where(is_loud, nothing, place))
        return torch.where(is_loud.unsqueeze(-1), loud, quiet)


def _best_scale(groups: Tensor) -> Tensor:
    """Return for each group the scale, out of some near its largest value, that rounds it with the least error."""
    largest = groups.abs().amax(dim=2, keepdim=True).clamp(min=1e-6)
    best, least = largest / 7, torch.full_like(largest, torch.inf)
    for share in (0.75, 0.8, 0.85, 0.9, 0.95, 1.0):
        scale = (largest * share / 7).half().float().clamp(min=1e-6)
        error = ((groups / scale).round().clamp(-8, 7) * scale - groups).square().sum(2, keepdim=True)
        best, least = torch.where(error < least, scale, best), torch.minimum(error, least)
    return best


def write_onnx(
    network: Network,
    questions: Sequence[str],
    columns: Sequence[Sequence[int]],
    path: Path,
    *,
    int8: bool = True,
    table_bits: int = 8,
    within: Mapping[int, tuple[int, int]] | None = None,
    loud: Tensor | None = None,
) -> None:
    """Write the network to `path`; output i is called `questions[i]` and has the logits in `columns[i]`.

    In int8 the word embeddings take `table_bits` (8 or 4) each. With 4, the rows that
    `loud` marks keep 8. `within` is as in `Answers`, by position.
    """
    network.eval()
    with tempfile.TemporaryDirectory() as scratch:
        exact = Path(scratch) / "exact.onnx"
        table = _word_table(network)
        if int8 and table is not None:
            owner, name, embedding = table
            setattr(owner, name, _rounded(embedding, table_bits, loud))
        try:
            # In eval mode: the exporter puts the mode back that it found.
            _trace(Answers(network, columns, within or {}).eval(), questions, exact if int8 else path)
        finally:
            if int8 and table is not None:
                setattr(table[0], table[1], table[2])
        if int8:
            _round(exact, path)


def _rounded(table: nn.Embedding, bits: int, loud: Tensor | None) -> nn.Module:
    """Return the table in 8 bits a value, in 4, or in both."""
    if bits == 8:
        return RoundedEmbedding(table)
    return PackedEmbedding(table) if loud is None else MixedEmbedding(table, loud)


def _word_table(network: Network) -> tuple[nn.Module, str, nn.Embedding] | None:
    """Return the module that owns the largest embedding table, its name there, and the table."""
    found = [
        (owner, name, child)
        for owner in network.encoder.modules()
        for name, child in owner.named_children()
        if isinstance(child, nn.Embedding)
    ]
    return max(found, key=lambda it: it[2].weight.numel(), default=None)


def _trace(module: nn.Module, questions: Sequence[str], path: Path) -> None:
    ids = torch.tensor([[0, 7, 8, 9, 2], [0, 7, 2, 1, 1]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    axes = {name: {0: "batch", 1: "length"} for name in ("input_ids", "attention_mask")}
    axes |= {question: {0: "batch"} for question in questions}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # the tracer warns of shapes that it fixes; the caller compares scores
        torch.onnx.export(
            module,
            (ids, mask),
            str(path),
            input_names=["input_ids", "attention_mask"],
            output_names=list(questions),
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )


def _round(exact: Path, path: Path) -> None:
    """Write the graph with every matrix product of a weight in int8, one scale an output channel."""
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    ready = exact.with_name("ready.onnx")
    quiet = logging.getLogger()
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        quant_pre_process(str(exact), str(ready), skip_symbolic_shape=True)
        quantize_dynamic(
            str(ready),
            str(path),
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
    finally:
        quiet.setLevel(level)
