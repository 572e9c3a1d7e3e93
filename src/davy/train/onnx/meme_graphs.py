"""The graphs of a meme model that loads without torch: one of the text and the answer, one of the picture.

A trained Text or Concat network in; a graph out that takes token ids, their mask and, for Concat, one vector a picture,
and gives one logit a meme. An image encoder in; a graph out that takes RGB bytes and gives one vector a cell.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from davy.core.errors import UserError
from davy.models.image_encoder import ImageEncoder
from davy.models.meme_networks import MemeNetwork
from davy.train.onnx.embedding_tables import round_table
from davy.train.onnx.encoders import parts_of
from davy.train.onnx.fused_graph import EncoderBody
from davy.train.onnx.graph import Graph, int64
from davy.train.onnx.matrices import to_array

LOGIT, VECTORS, PIXELS, PICTURE = "logit", "vectors", "pixels", "picture"
"""What the graphs call the answer, a picture's cells, its bytes, and the vector of the whole picture."""
_HALVED = 1024
"""Arrays of more numbers than this are stored in 16 bits; they are widened once, at load."""


def write_answer_graph(network: MemeNetwork, path: Path, *, bits: int = 8) -> None:
    """Write a Text or Concat network, its text encoder's matrices in 32 or 8 bits."""
    parts = parts_of(network.text)
    if parts is None or network.settings.pooling != "mean" or network.settings.row not in ("text", "concat"):
        raise UserError(
            f"The row {network.settings.row} over this text encoder can't be exported: text and concat of the small "
            "presets can."
        )
    graph = Graph()
    body = EncoderBody(graph, parts, bits)
    states = body.embedded(parts.words if bits == 32 else round_table(parts.words, bits))
    for layer in parts.layers:
        states = body.layer(states, layer)
    pooled = body.mean(states)
    if network.picture is not None:
        pooled = graph.add("Concat", pooled, _picture(graph, network.picture), axis=1)
    logits = _layers(graph, pooled, network.classifier.layers)
    no, yes = graph.split("Split", logits, int64(1, 1), outputs=2, axis=1)
    real = () if network.picture is None else (PICTURE,)
    graph.save(path, ["input_ids", "attention_mask"], [(LOGIT, graph.add("Sub", yes, no), 1)], real_inputs=real)


def _picture(graph: Graph, picture: Any) -> str:
    """Return what Concat makes of a picture's one vector: normalised, then through fc7."""
    states = PICTURE if picture.norm is None else _norm(graph, PICTURE, picture.norm)
    return states if picture.fc7 is None else graph.add("Relu", _linear(graph, states, picture.fc7))


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
