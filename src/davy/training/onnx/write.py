"""A trained network as an ONNX graph: exact, in int8, or with matrices in four bits.

A network in; a file out with one output a question. Encoders that
`davy.training.onnx.encoders` knows get a graph written for speed (`davy.training.onnx.fused_graph`), all
others the one that torch's tracer finds. In int8 the matrices have a scale for each
output channel and activations are rounded as they come. It needs only torch,
onnx and onnxruntime.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from davy.core.errors import UserError
from davy.detectors.network import Network
from davy.training.onnx.embedding_tables import round_table
from davy.training.onnx.encoders import parts_of
from davy.training.onnx.fused_graph import write_fused


class QuestionOutputs(nn.Module):
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


def write_onnx(
    network: Network,
    questions: Sequence[str],
    columns: Sequence[Sequence[int]],
    path: Path,
    *,
    int8: bool = True,
    table_bits: int = 8,
    matrix_bits: int = 8,
    within: Mapping[int, tuple[int, int]] | None = None,
    frequent: Tensor | None = None,
) -> None:
    """Write the network to `path`; output i is called `questions[i]` and has the logits in `columns[i]`.

    In int8 the word embeddings take `table_bits` (8 or 4) a value, and the encoder's matrices `matrix_bits`. With 4,
    the table's rows that `frequent` marks keep 8. `within` is as in `QuestionOutputs`, by position.
    """
    network.eval()
    plain = isinstance(network, Network) and type(network).forward is Network.forward
    parts = parts_of(network.encoder) if plain else None
    if parts is not None:
        words = round_table(parts.words, table_bits, frequent) if int8 else parts.words
        bits = matrix_bits if int8 else 32
        write_fused(network, parts, words, questions, columns, path, bits=bits, within=within or {})
    elif matrix_bits != 8 and int8:
        raise UserError(f"Matrices of {matrix_bits} bits are for BERT, RoBERTa and MPNet encoders; leave them at 8.")
    else:
        _write_traced(QuestionOutputs(network, columns, within or {}), questions, path, int8, table_bits, frequent)


def _write_traced(
    answers: QuestionOutputs, questions: Sequence[str], path: Path, int8: bool, table_bits: int, frequent: Tensor | None
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        exact = Path(scratch) / "exact.onnx"
        table = _word_table(answers.network)
        if int8 and table is not None:
            owner, name, embedding = table
            setattr(owner, name, round_table(embedding, table_bits, frequent))
        try:
            # In eval mode: the exporter puts the mode back that it found.
            _trace(answers.eval(), questions, exact if int8 else path)
        finally:
            if int8 and table is not None:
                setattr(table[0], table[1], table[2])
        if int8:
            _round(exact, path)


def _word_table(network: Network) -> tuple[nn.Module, str, nn.Embedding] | None:
    """Return the module that owns the word embeddings, its name there, and the table.

    An encoder that can't say which they are has them in its largest table.
    """
    words = getattr(network.encoder, "get_input_embeddings", lambda: None)()
    tables = [
        (owner, name, child)
        for owner in network.encoder.modules()
        for name, child in owner.named_children()
        if isinstance(child, nn.Embedding) and (words is None or child is words)
    ]
    return max(tables, key=lambda it: it[2].weight.numel(), default=None)


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
    """Write the graph with every matrix product of a weight in 8 bits, one scale an output channel.

    Weights are uint8: with int8, processors without VNNI add pairs of products in 16 bits, which overflow.
    """
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
            weight_type=QuantType.QUInt8,
            extra_options={"MatMulConstBOnly": True},
        )
    finally:
        quiet.setLevel(level)
