"""A written network cut in two behind one of its layers, with a head where the first part ends.

A model folder whose `model.onnx` Davy wrote in; `exit.onnx` and `rest.onnx` beside it
out. Matrices are not written again: both files say at which byte of `model.onnx`
each lies, so they are small and compute what it computes, to the last bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from davy.core.errors import UserError
from davy.detectors.early_exit import FIRST, OF, REST, WHOLE
from davy.training.onnx.graph import Array, Graph, float32, int64

SMALL = 256
"""Constants of fewer bytes are written again: to point at them takes as much room."""
LARGEST = 63
"""The largest code of a head's filter: beyond it, sums of two products saturate on processors without VNNI."""


@dataclass(frozen=True)
class ExitHead:
    """What looks at the states: filters whose loudest and mean answer over a post go through two layers.

    `filters` is inputs × filters, `middle` 2 filters × width, `last` width × questions.
    """

    filters: Array
    filters_bias: Array
    middle: Array
    middle_bias: Array
    last: Array
    last_bias: Array


class SplitNetwork:
    """The graph of a folder's network, to be cut behind layer `layer` (counted from 1)."""

    def __init__(self, folder: Path, layer: int) -> None:
        self.folder = folder
        self._bytes = (folder / WHOLE).read_bytes()
        self._model = onnx.load_from_string(self._bytes)
        self._makers = {name: node for node in self._model.graph.node for name in node.output}
        self._constants = {it.name: it for it in self._model.graph.initializer}
        norms = [node.output[0] for node in self._model.graph.node if node.op_type == "LayerNormalization"]
        if not 0 < 2 * layer < len(norms) - 1:
            raise UserError(f"{folder / WHOLE} has no layer {layer} that another one follows.")
        # One norm follows the embedding, two are in each layer.
        self.states = norms[2 * layer]
        codes = [node for node in self._model.graph.node if node.op_type == "QuantizeLinear"]
        self._codes = next((node for node in codes if node.input[0] == self.states), None)
        if self._codes is None:
            raise UserError(f"{folder / WHOLE} has no measured ranges. Export it again with --dev.")

    @property
    def codes(self) -> str:
        """The name of the states in uint8, as the next layer takes them and as the head does."""
        assert self._codes is not None
        return str(self._codes.output[0])

    @property
    def scale(self) -> tuple[float, int]:
        """The step between two codes, and the code of zero."""
        assert self._codes is not None
        step, zero = (numpy_helper.to_array(self._constants[name]) for name in self._codes.input[1:])
        return float(step.item()), int(zero.item())

    @property
    def width(self) -> int:
        """How many numbers a token's state has."""
        return int(self._constants[self._makers[self.states].input[1]].dims[0])

    def write(self, head: ExitHead) -> None:
        """Write both parts into the folder."""
        seen = self._head(head)
        out = helper.make_node("Identity", [self.states], ["states"])
        nodes = [*self._needed([self.states, self.codes]), *seen.nodes, out]
        outputs = [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(head.last_bias)]),
            helper.make_tensor_value_info("states", TensorProto.FLOAT, ["tokens", self.width]),
        ]
        self._save(FIRST, nodes, [_ids("input_ids"), _ids("attention_mask")], outputs, seen.constants)

        given = Graph("rest ")
        turned = given.add("Transpose", "states", perm=[1, 0, 2])
        flat = given.add("Reshape", turned, int64(-1, self.width))
        names = [it.name for it in self._model.graph.output]
        # Behind the first layers nothing but the shape of the ids is asked for, which the mask has too.
        rest = [_renamed(it, {self.states: flat, "input_ids": "attention_mask"}) for it in self._needed(names)]
        vectors = helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "length", self.width])
        nodes = [*given.nodes, *rest]
        self._save(REST, nodes, [vectors, _ids("attention_mask")], list(self._model.graph.output), given.constants)

    def _needed(self, names: Sequence[str]) -> list[Any]:
        """Return the nodes that these tensors need, in order; states that are not asked for count as given."""
        wanted, given = set(names), set() if self.states in names else {self.states}
        found = []
        for node in reversed(self._model.graph.node):
            if wanted.intersection(node.output) and not given.intersection(node.output):
                found.append(node)
                wanted.update(node.input)
        return found[::-1]

    def _head(self, head: ExitHead) -> Graph:
        graph = Graph("exit ")
        step, zero = self.scale
        size = np.maximum(np.abs(head.filters).max(0), 1e-8) / LARGEST
        rounded = np.round(head.filters / size).astype(np.int8)
        codes = np.array(step, np.float32), size.astype(np.float32), np.array(zero, np.uint8)
        heard = graph.own("MatMulIntegerToFloat", self.codes, rounded, *codes, "", head.filters_bias)
        mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
        shape = graph.add("Shape", graph.add("Transpose", "attention_mask", perm=[1, 0]))
        shape = graph.add("Concat", shape, int64(len(head.filters_bias)), axis=0)
        # Post by post, for the largest along the first axis takes eight times as long as along the second.
        apart = graph.add("Transpose", graph.add("Reshape", graph.add("Relu", heard), shape), perm=[1, 0, 2])
        kept = graph.add("Mul", apart, graph.add("Unsqueeze", mask, int64(2)))
        number = graph.add("Max", graph.add("ReduceSum", mask, int64(1), keepdims=1), float32(1))
        mean = graph.add("Div", graph.add("ReduceSum", kept, int64(1), keepdims=0), number)
        seen = graph.add("Concat", graph.add("ReduceMax", kept, int64(1), keepdims=0), mean, axis=1)
        middle = graph.add("Relu", graph.add("Gemm", seen, _halved(graph, head.middle), head.middle_bias))
        logits = graph.add("Gemm", middle, head.last, head.last_bias)
        graph.nodes.append(helper.make_node("Identity", [logits], ["logits"]))
        return graph

    def _save(
        self, name: str, nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], own: Sequence[Any]
    ) -> None:
        used = {it for node in nodes for it in node.input}
        constants = [*own, *(self._pointed(it) for key, it in self._constants.items() if key in used)]
        graph = helper.make_graph(nodes, "davy", inputs, outputs, constants)
        opsets = list(self._model.opset_import)
        model = helper.make_model(graph, producer_name="davy", opset_imports=opsets, ir_version=self._model.ir_version)
        model.metadata_props.add(key=OF, value=hashlib.sha256(self._bytes).hexdigest())
        onnx.save(model, str(self.folder / name))
        onnx.checker.check_model(str(self.folder / name))

    def _pointed(self, constant: Any) -> Any:
        """Return a constant that names its bytes in the whole network's file instead of holding them."""
        if len(constant.raw_data) < SMALL:
            return constant
        at = self._bytes.index(constant.raw_data)
        found = TensorProto(name=constant.name, data_type=constant.data_type, dims=constant.dims)
        found.data_location = TensorProto.EXTERNAL
        for key, value in {"location": WHOLE, "offset": at, "length": len(constant.raw_data)}.items():
            found.external_data.add(key=key, value=str(value))
        return found


def _halved(graph: Graph, matrix: Array) -> str:
    """Return a matrix that takes half the room; it is widened once, at load."""
    return graph.add("Cast", matrix.astype(np.float16), to=TensorProto.FLOAT)


def _ids(name: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    copy = type(node)()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(it, it) for it in node.input]
    return copy
