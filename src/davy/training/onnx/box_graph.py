"""The graph of the object detector, SSD-MobileNet-v2, so that it runs without OpenCV.

The folder of its TensorFlow files in; a graph out that takes RGB bytes of 300 × 300 and gives its 1,917 boxes with a
score for each kind of object. The layout file names each operator, its inputs and its strides; OpenCV reads the weights
and computes the boxes that the network starts from. Which boxes are the best is `davy.detectors.object_boxes`'s.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto

from davy.detectors.object_boxes import BOXES, PIXELS, SCORES, SIDE, ObjectDetector
from davy.training.onnx.graph import Array, Graph, float32, int64

KINDS = 91
"""COCO's numbers for kinds of object, and 0 for none."""
EPSILON = 1e-3
"""Of the layout's normalisations."""


def write_box_graph(path: Path, *, exact: bool = False) -> None:
    """Write the detector, its weights stored in 8 and 16 bits, or as they are."""
    detector = ObjectDetector()
    writer = _Writer(Graph(), detector.network, exact)
    for node in re.split(r"^node \{", detector.layout.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        writer.add(node)
    boxes, scores = writer.answers()
    writer.graph.save(
        path, [], [(BOXES, boxes, ("boxes", 4)), (SCORES, scores, ("boxes", KINDS - 1))],
        arrays={PIXELS: (TensorProto.UINT8, ("batch", SIDE, SIDE, 3))},
    )  # fmt: skip


class _Writer:
    """Nodes of the layout, written one after another."""

    def __init__(self, graph: Graph, network: Any, exact: bool) -> None:
        self.graph, self.network, self.exact = graph, network, exact
        self.made = {"image_tensor": PIXELS}
        self.encodings: list[str] = []
        self.scores: list[str] = []

    def add(self, node: str) -> None:
        """Write one node; a normalisation is part of the convolution before it, and was written with it."""
        name, kind = (re.search(rf'^  {field}: "(.+)"', node, re.MULTILINE) for field in ("name", "op"))
        inputs = re.findall(r'^  input: "(.+)"', node, re.MULTILINE)
        if name is None or kind is None:
            raise ValueError(f"a node of the layout has no name: {node[:60]}")
        own, operator = name[1], kind[1]
        if operator in ("Conv2D", "DepthwiseConv2dNative"):
            strides = re.search(r'"strides".*?i: 1\s+i: (\d)', node, re.DOTALL)
            self.made[own] = self.convolution(own, self.made[inputs[0]], int(strides[1]) if strides else 1)
        elif operator == "Relu6":
            self.made[own] = self.graph.add("Clip", self.made[inputs[0]], float32(0), float32(6))
        elif operator == "Add":
            self.made[own] = self.graph.add("Add", *(self.made[each] for each in inputs))
        elif operator == "Sub":  # the end of the preparation, which takes bytes to −1 … 1
            bytes_first = self.graph.add("Transpose", PIXELS, perm=[0, 3, 1, 2])
            scaled = self.graph.add("Mul", self.graph.add("Cast", bytes_first, to=TensorProto.FLOAT), float32(2 / 255))
            self.made[own] = self.graph.add("Sub", scaled, float32(1))
        elif operator == "Flatten":
            width = 4 if "BoxEncoding" in own else KINDS
            across = self.graph.add("Transpose", self.made[inputs[0]], perm=[0, 2, 3, 1])
            flat = self.graph.add("Reshape", across, int64(0, -1, width))
            (self.encodings if width == 4 else self.scores).append(flat)
        elif operator in ("FusedBatchNorm", "BiasAdd", "Identity"):
            self.made[own] = self.made[inputs[0]]

    def convolution(self, name: str, states: str, stride: int) -> str:
        """Return a convolution's output, with the normalisation after it in its weights."""
        found = [np.asarray(blob) for blob in self.network.getLayer(self.network.getLayerId(name)).blobs]
        weight, bias = found[0], found[1].ravel() if len(found) > 1 else np.zeros(len(found[0]), np.float32)
        norm = self.network.getLayerId(f"{name.rsplit('/', 1)[0]}/BatchNorm/batchnorm/add_1")
        if norm > 0:
            mean, variance, scale, shift = (np.asarray(it).ravel() for it in self.network.getLayer(norm).blobs)
            factor = scale / np.sqrt(variance + EPSILON)
            weight, bias = weight * factor[:, None, None, None], shift + (bias - mean) * factor
        group = weight.shape[0] if weight.shape[1] == 1 else 1
        return self.graph.add(
            "Conv", states, self.stored(weight, name), bias.astype(np.float32), group=group, auto_pad="SAME_UPPER",
            kernel_shape=list(weight.shape[2:]), strides=[stride, stride],
        )  # fmt: skip

    def stored(self, weight: Array, name: str) -> str | Array:
        """Return a weight as it is kept, widened once, at load.

        Those that name objects, four of five, in 8 bits with a scale for each output; the others in 16.
        """
        if self.exact:
            return weight.astype(np.float32)
        if "ClassPredictor" not in name:
            return self.graph.add("Cast", weight.astype(np.float16), to=TensorProto.FLOAT)
        scale = np.maximum(np.abs(weight).max((1, 2, 3), keepdims=True) / 127, 1e-12).astype(np.float32)
        codes = np.round(weight / scale).astype(np.int8)
        return self.graph.add("Mul", self.graph.add("Cast", codes, to=TensorProto.FLOAT), scale)

    def answers(self) -> tuple[str, str]:
        """Return the boxes as left, top, right and bottom, and the scores of the kinds of object."""
        graph = self.graph
        self.network.setInput(np.zeros((1, 3, SIDE, SIDE), np.float32))
        starts = self.network.forward("PriorBox/concat").reshape(2, -1, 4)[0]
        centre, size = (starts[:, :2] + starts[:, 2:]) / 2, starts[:, 2:] - starts[:, :2]
        moved, grown = graph.split(
            "Split", graph.add("Concat", *self.encodings, axis=1), int64(2, 2), outputs=2, axis=2
        )
        middle = graph.add("Add", graph.add("Mul", moved, 0.1 * size), centre)
        half = graph.add("Mul", graph.add("Exp", graph.add("Mul", grown, float32(0.2))), size / 2)
        boxes = graph.add("Concat", graph.add("Sub", middle, half), graph.add("Add", middle, half), axis=2)
        scores = graph.add("Sigmoid", graph.add("Concat", *self.scores, axis=1))
        return boxes, graph.split("Split", scores, int64(1, KINDS - 1), outputs=2, axis=2)[1]
