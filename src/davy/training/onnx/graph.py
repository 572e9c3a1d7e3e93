"""An ONNX graph written node by node.

Operators, names and arrays in; a model file out. Davy writes the graphs of the
encoders that it knows by hand, because what a tracer finds is slower to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

Array = np.ndarray[Any, np.dtype[Any]]
Value = str | Array
"""The name of a tensor, or an array that becomes a constant."""

OPSET = 21
IR_VERSION = 10
"""What onnxruntime 1.20 reads; `nibbles` asks for 1.23, the first that casts four bits."""
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators."""
_SHARED = 64
"""Constants up to this many numbers are written once, however often they are used."""


class Graph:
    """A graph under construction. Each operator's outputs get names of their own, which begin with `prefix`."""

    def __init__(self, prefix: str = "") -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix = prefix
        self._known: dict[tuple[bytes, str, tuple[int, ...]], str] = {}

    def add(self, operator: str, *inputs: Value, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output and return its name."""
        return self.split(operator, *inputs, outputs=1, domain=domain, **attributes)[0]

    def own(self, operator: str, *inputs: Value, **attributes: Any) -> str:
        """Add one of onnxruntime's own operators and return its output's name."""
        return self.add(operator, *inputs, domain=CONTRIB, **attributes)

    def split(self, operator: str, *inputs: Value, outputs: int, domain: str = "", **attributes: Any) -> list[str]:
        """Add an operator with several outputs and return their names."""
        place = len(self.nodes)
        names = [it if isinstance(it, str) else self.constant(it) for it in inputs]
        found = [f"{self._prefix}{operator}_{place}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, names, found, found[0], domain=domain, **attributes))
        return found

    def constant(self, value: Array) -> str:
        """Add a constant and return its name."""
        value = np.ascontiguousarray(value)
        key = (value.tobytes() if value.size <= _SHARED else b"", value.dtype.str, value.shape)
        if value.size <= _SHARED and key in self._known:
            return self._known[key]
        name = f"{self._prefix}constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        if value.size <= _SHARED:
            self._known[key] = name
        return name

    def nibbles(self, value: Array, *, signed: bool) -> str:
        """Add a constant of four bits a number, two numbers a byte, and return the name of the same numbers in int8."""
        name = f"{self._prefix}constant_{len(self.constants)}"
        kind = TensorProto.INT4 if signed else TensorProto.UINT4
        flat = (value.ravel() & 15).astype(np.uint8)
        pairs = np.pad(flat, (0, flat.size % 2)).reshape(-1, 2)
        packed = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8).tobytes()
        self.constants.append(helper.make_tensor(name, kind, value.shape, packed, raw=True))
        return self.add("Cast", name, to=TensorProto.INT8)

    def save(
        self,
        path: Path,
        inputs: Sequence[str],
        outputs: Sequence[tuple[str, str, int | Sequence[int | str]]],
        *,
        arrays: Mapping[str, tuple[int, Sequence[int | str]]] | None = None,
    ) -> None:
        """Write the graph: inputs of int64 (batch × length), `arrays` by their kind and shape, and outputs.

        An output is its name outside, its name inside, and its width, or its shape after the batch.
        """
        for outside, inside, _ in outputs:
            self.nodes.append(helper.make_node("Identity", [inside], [outside], f"output {outside}"))
        graph = helper.make_graph(
            self.nodes,
            "davy",
            [
                *(helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs),
                *(helper.make_tensor_value_info(name, *given) for name, given in (arrays or {}).items()),
            ],
            [
                helper.make_tensor_value_info(
                    name, TensorProto.FLOAT, ["batch", *([shape] if isinstance(shape, int) else shape)]
                )
                for name, _, shape in outputs
            ],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, producer_name="davy", opset_imports=opsets, ir_version=IR_VERSION)
        checker.check_model(model)
        save(model, str(path))


def int64(*numbers: int) -> Array:
    """Return int64 numbers, as shapes and axes are given."""
    return np.array(numbers, dtype=np.int64)


def float32(number: float) -> Array:
    """Return one float32 number."""
    return np.array(number, dtype=np.float32)
