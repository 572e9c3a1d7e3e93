"""The graphs of a meme model that loads without torch: one of the text and the answer, one of the picture.

A trained Text, Concat or MMBT network in; a graph out that takes token ids, their mask and what the network sees (for
Concat one vector a picture, for MMBT one a cell or a region, with boxes), and gives one logit a meme. An image encoder
in; a graph out that takes RGB bytes and gives one vector a cell.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnx import TensorProto
from torch import Tensor, nn

from davy.core.errors import UserError
from davy.detectors.image_encoder import ImageEncoder
from davy.detectors.meme_networks import MemeNetwork
from davy.training.onnx.embedding_tables import add_lookup, round_table
from davy.training.onnx.encoders import parts_of
from davy.training.onnx.fused_graph import EncoderBody
from davy.training.onnx.graph import Graph, float32, int64
from davy.training.onnx.matrices import to_array

LOGIT, VECTORS, PIXELS, PICTURE, BOXES = "logit", "vectors", "pixels", "picture", "boxes"
"""What the graphs call the answer, a picture's cells, its bytes, what a network sees of it, and where that lies."""
EXPORTED = ("text", "concat", "mmbt-grid", "mmbt-region")
SEEN: dict[str, dict[str, tuple[int | str, ...]]] = {
    "concat": {PICTURE: ("batch", "width")},
    "mmbt-grid": {PICTURE: ("batch", "cells", "width")},
    "mmbt-region": {PICTURE: ("batch", "regions", "width"), BOXES: ("batch", "regions", 4)},
}
"""The inputs by which a row's graph sees a picture, with their shapes."""
_HALVED = 1024
"""Arrays of more numbers than this are stored in 16 bits; they are widened once, at load."""


def write_answer_graph(network: MemeNetwork, path: Path, *, bits: int = 8) -> None:
    """Write a network of the rows that can be exported, its text encoder's matrices in 32 or 8 bits."""
    parts, row = parts_of(network.text), network.settings.row
    if parts is None or network.settings.pooling != "mean" or row not in EXPORTED:
        raise UserError(
            f"The row {row} over this text encoder can't be exported: {', '.join(EXPORTED)} of the small presets can."
        )
    graph = Graph()
    body = EncoderBody(graph, parts, bits)
    words = parts.words if bits == 32 else round_table(parts.words, bits)
    states = _with_picture(body, words, network) if row.startswith("mmbt") else body.embedded(words)
    for layer in parts.layers:
        states = body.layer(states, layer)
    pooled = body.mean(states)
    if row == "concat":
        pooled = graph.add("Concat", pooled, _picture(graph, network.picture), axis=1)
    logits = _layers(graph, pooled, network.classifier.layers)
    no, yes = graph.split("Split", logits, int64(1, 1), outputs=2, axis=1)
    arrays = {name: (TensorProto.FLOAT, shape) for name, shape in SEEN.get(row, {}).items()}
    graph.save(path, ["input_ids", "attention_mask"], [(LOGIT, graph.add("Sub", yes, no), 1)], arrays=arrays)


def _with_picture(body: EncoderBody, words: nn.Module, network: Any) -> str:
    """Return the states before the first layer of an MMBT: first token, picture, last token; then all tokens.

    Places are counted anew after the picture, whose tokens have the first kind and the caption's the second.
    """
    graph, width, kinds = body.graph, body.width, to_array(network.text.embeddings.token_type_embeddings.weight)
    count = graph.add("ReduceSum", graph.add("Transpose", "attention_mask", perm=[1, 0]), int64(0), keepdims=1)
    end = graph.add("GatherElements", body.ids, graph.add("Sub", count, int64(1)), axis=0)
    start = graph.add("Slice", body.ids, int64(0), int64(1), int64(0))
    vectors = add_lookup(graph, words, graph.add("Concat", start, end, body.ids, axis=0))
    start, end, text = (
        graph.add("Slice", vectors, int64(first), int64(last), int64(0))
        for first, last in ((0, 1), (1, 2), (2, np.iinfo(np.int64).max))
    )
    text = graph.add("Add", graph.add("Add", text, body.positions()), kinds[1] - kinds[0])
    tokens = graph.add("Transpose", _picture_tokens(graph, network), perm=[1, 0, 2])
    picture = graph.add("Concat", start, tokens, end, axis=0)
    length, batch = graph.split("Split", graph.add("Slice", graph.add("Shape", picture), int64(0), int64(2)),
                                int64(1, 1), outputs=2)  # fmt: skip
    places = graph.add("Slice", body.halved(to_array(body.parts.positions)), int64(0), length, int64(0))
    picture = graph.add("Add", picture, graph.add("Unsqueeze", places, int64(1)))
    there = graph.add("Expand", float32(1), graph.add("Concat", length, batch, axis=0))
    body.take_mask(graph.add("Concat", there, body.mask, axis=0))
    states = graph.add("Reshape", graph.add("Concat", picture, text, axis=0), int64(-1, width))
    return body.norm(states, body.parts.embedded)


def _picture_tokens(graph: Graph, network: Any) -> str:
    """Return a picture's vectors as an MMBT's tokens (batch × regions × width), told where they lie if it asks."""
    states = _picture(graph, network.picture, wide=True)
    tokens = _wide_linear(graph, states, network.tokens.project)
    if network.settings.features == "region" and network.tokens.box is not None:
        left, top, right, bottom = graph.split("Split", BOXES, int64(1, 1, 1, 1), outputs=4, axis=2)
        area = graph.add("Mul", graph.add("Sub", right, left), graph.add("Sub", bottom, top))
        box = _wide_linear(graph, graph.add("Concat", BOXES, area, axis=2), network.tokens.box)
        tokens = graph.add("Add", tokens, box)
    return tokens if network.tokens.norm is None else _norm(graph, tokens, network.tokens.norm)


def _picture(graph: Graph, picture: Any, *, wide: bool = False) -> str:
    """Return what a network makes of a picture's one vector, or of several: normalised, then through fc7."""
    states = PICTURE if picture.norm is None else _norm(graph, PICTURE, picture.norm)
    linear = _wide_linear if wide else _linear
    return states if picture.fc7 is None else graph.add("Relu", linear(graph, states, picture.fc7))


def _layers(graph: Graph, states: str, layers: nn.Sequential) -> str:
    """Return a classifier's output."""
    for layer in layers:
        if isinstance(layer, nn.Linear):
            states = _linear(graph, states, layer)
        elif isinstance(layer, nn.LayerNorm):
            states = _norm(graph, states, layer)
        elif isinstance(layer, nn.GELU):
            states = graph.own("Gelu", states)
        elif not isinstance(layer, nn.Dropout):
            raise TypeError(f"a classifier has no {type(layer).__name__}")
    return states


def _linear(graph: Graph, states: str, layer: nn.Linear) -> str:
    return graph.add("Gemm", states, to_array(layer.weight.T), to_array(layer.bias))


def _wide_linear(graph: Graph, states: str, layer: nn.Linear) -> str:
    """Return a layer's output for states of rank 3."""
    return graph.add("Add", graph.add("MatMul", states, to_array(layer.weight.T)), to_array(layer.bias))


def _norm(graph: Graph, states: str, layer: nn.LayerNorm) -> str:
    weight, bias = to_array(layer.weight), to_array(layer.bias)
    return graph.add("LayerNormalization", states, weight, bias, axis=-1, epsilon=layer.eps)


class PictureCells(nn.Module):
    """An image encoder that takes pictures as bytes (n, side, side, 3)."""

    def __init__(self, encoder: ImageEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, pixels: Tensor) -> Tensor:
        cells: Tensor = self.encoder(pixels.permute(0, 3, 1, 2).float())
        return cells


def write_picture_graph(encoder: ImageEncoder, path: Path, *, half: bool = True) -> None:
    """Write an image encoder, its weights stored in 16 bits where `half`; any number of pictures of any side."""
    import onnx

    pixels = torch.zeros(2, encoder.side, encoder.side, 3, dtype=torch.uint8)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # the tracer warns that it is the old one
        exact = Path(scratch) / "exact.onnx"
        torch.onnx.export(
            PictureCells(encoder).eval(),
            (pixels,),
            str(exact),
            input_names=[PIXELS],
            output_names=[VECTORS],
            dynamic_axes={PIXELS: {0: "batch", 1: "height", 2: "width"}, VECTORS: {0: "batch", 1: "cells"}},
            opset_version=17,
            dynamo=False,
        )
        model = onnx.load(str(exact))
    if half:
        _halve(model)
    onnx.save(model, str(path))


def _halve(model: Any) -> None:
    """Store a graph's large arrays in 16 bits."""
    from onnx import TensorProto, helper, numpy_helper

    casts = []
    for constant in model.graph.initializer:
        value = numpy_helper.to_array(constant)
        if value.dtype != np.float32 or value.size <= _HALVED:
            continue
        name = constant.name
        constant.CopyFrom(numpy_helper.from_array(value.astype(np.float16), f"{name}_half"))
        casts.append(helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
