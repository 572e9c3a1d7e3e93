"""The graph of a screen of windows (`screen_nets.Windows` without deeper layers), written for speed.

Its weights in, with the word vectors packed; a file out. Both convolutions are one int8
product and the word vectors are unpacked when it is loaded. Its logits differ from the
trained network's by rounding, so marks are set on what this writes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto

from davy.training.onnx.graph import Graph, float32, int64
from davy.training.onnx.matrices import MIDDLE

GROUP = 32


def write(held: dict[str, np.ndarray], out: Path) -> None:
    """Write the screen: its weights by their names, and `vectors.table` and `vectors.scale` as `PackedEmbedding`."""
    width = held["one.weight"].shape[1]
    graph = Graph()
    rows = len(held["lone.weight"])
    # Padding reads a last row of zeros, so that no vector needs a mask.
    ids = graph.add("Where", graph.add("Cast", "mask", to=TensorProto.BOOL), "ids", int64(rows))
    vectors = graph.add("Gather", _table(graph, held, width), ids)
    alone = np.concatenate(
        [held["lone.weight"].astype(np.float16), np.zeros((1, held["lone.weight"].shape[1]), np.float16)]
    )
    lone = graph.add("Gather", graph.add("Cast", alone, to=TensorProto.FLOAT), ids)
    number = graph.add("Max", graph.add("ReduceSum", "mask", int64(1), keepdims=1), float32(1))
    loudest = _loudest(graph, held, vectors, width)
    mean = graph.add("Div", graph.add("ReduceSum", vectors, int64(1), keepdims=0), number)
    seen = graph.add("Concat", loudest, mean, axis=1)
    middle = graph.add("Relu", _dense(graph, held, "middle", seen))
    words = graph.add("Div", graph.add("ReduceSum", lone, int64(1), keepdims=0), graph.add("Sqrt", number))
    logits = graph.add("Add", _dense(graph, held, "last", middle), words)
    graph.save(
        out,
        ["ids"],
        [("logits", logits, len(held["last.bias"]))],
        arrays={"mask": (TensorProto.FLOAT, ("batch", "length"))},
    )


def _table(graph: Graph, held: dict[str, np.ndarray], width: int) -> str:
    """Return the word vectors with a row of zeros at the end; the packed ones are constants, unpacked once."""
    packed = np.concatenate([held["vectors.table"], np.full((1, width // 2), 0x88, np.uint8)])
    pairs = graph.constant(packed)
    scale = np.concatenate([held["vectors.scale"], np.ones((1, width // GROUP), np.float16)])
    low = graph.add("BitwiseAnd", pairs, np.array([15], np.uint8))
    high = graph.add("BitShift", pairs, np.array([4], np.uint8), direction="RIGHT")
    codes = graph.add("Cast", graph.add("Concat", low, high, axis=1), to=TensorProto.FLOAT)
    groups = graph.add("Reshape", graph.add("Sub", codes, float32(8)), int64(len(packed), width // GROUP, GROUP))
    wide = graph.add("Unsqueeze", graph.add("Cast", scale, to=TensorProto.FLOAT), int64(2))
    return graph.add("Reshape", graph.add("Mul", groups, wide), int64(len(packed), width))


def _loudest(graph: Graph, held: dict[str, np.ndarray], vectors: str, width: int) -> str:
    """Return the largest answer of each filter over a post: both convolutions over a word and its neighbours."""
    three, one = held["three.weight"].astype(np.float32), held["one.weight"].astype(np.float32)
    filters = np.zeros((3, width, len(three) + len(one)), np.float32)
    filters[:, :, : len(three)] = three.transpose(2, 1, 0)
    filters[1, :, len(three) :] = one[:, :, 0].T
    filters = filters.reshape(3 * width, -1)
    scale = np.maximum(np.abs(filters).max(0), 1e-8) / 127
    codes, step, zero = graph.split("DynamicQuantizeLinear", vectors, outputs=3)
    blank = graph.add("Expand", zero, graph.add("Shape", graph.add("Slice", codes, int64(0), int64(1), int64(1))))
    padded = graph.add("Concat", blank, codes, blank, axis=1)
    far = np.iinfo(np.int64).max
    shifted = [
        graph.add("Slice", padded, int64(0), int64(-2), int64(1)),
        codes,
        graph.add("Slice", padded, int64(2), int64(far), int64(1)),
    ]
    around = graph.add("Concat", *shifted, axis=2)
    bias = np.concatenate([held["three.bias"], held["one.bias"]]).astype(np.float32)
    rounded = (np.round(filters / scale) + MIDDLE).astype(np.uint8)
    middle = np.array(MIDDLE, np.uint8)
    found = graph.own("MatMulIntegerToFloat", around, rounded, step, scale.astype(np.float32), zero, middle, bias)
    heard = graph.add("Mul", found, graph.add("Unsqueeze", "mask", int64(2)))
    return graph.add("Relu", graph.add("ReduceMax", heard, int64(1), keepdims=0))


def _dense(graph: Graph, held: dict[str, np.ndarray], name: str, states: str) -> str:
    weight = graph.add("Cast", held[f"{name}.weight"].astype(np.float16), to=TensorProto.FLOAT)
    return graph.add("Gemm", states, weight, held[f"{name}.bias"].astype(np.float32), transB=1)
