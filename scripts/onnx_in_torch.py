"""The written graph of `embedded-en` as a torch function, so that it has gradients: for measuring explanations alone.

A model folder in; embeddings and an attention mask to logits out. Matrices are the shipped codes times their scales,
activations are not rounded, so that probabilities differ from the shipped ones by 0.01 on average.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional

VECTORS = "Mul_10"
"""The node that gives the word pieces' vectors: piece codes times their scales."""


class TorchGraph:
    """Runs an ONNX graph of Davy's writer in torch, from the word vectors on."""

    def __init__(self, path: Path) -> None:
        self.graph = onnx.load(str(path)).graph
        self.known = {it.name: torch.from_numpy(numpy_helper.to_array(it).copy()) for it in self.graph.initializer}

    def run(self, ids: np.ndarray, mask: np.ndarray, question: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of a question (texts × labels) and the vectors (pieces × texts × width) they came from."""
        values: dict[str, Any] = {**self.known, "": None}
        values |= {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        vectors = torch.empty(0)
        for node in self.graph.node:
            given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            found = _OPS[node.op_type]([values[name] for name in node.input], given)
            outputs = found if isinstance(found, tuple) else (found,)
            for name, value in zip(node.output, outputs, strict=True):
                if name == VECTORS:
                    vectors = value = value.detach().requires_grad_(True)
                values[name] = value
        return values[question], vectors


def _batch_first(x: torch.Tensor) -> torch.Tensor:
    return x.permute(1, 2, 0, 3)


def _fused_product(x: list[Any], given: dict[str, Any]) -> torch.Tensor:
    first = _batch_first(x[0]) if given.get("transBatchA") else x[0]
    second = _batch_first(x[1]) if given.get("transBatchB") else x[1]
    return first @ (second.transpose(-1, -2) if given.get("transB") else second) * given.get("alpha", 1.0)


def _product_of_codes(x: list[Any], _: dict[str, Any]) -> torch.Tensor:
    codes = x[1].float() if x[5] is None else x[1].float() - x[5].float()
    return x[0] @ (codes * x[3]) + x[6]


def _slice(x: list[Any], _: dict[str, Any]) -> torch.Tensor:
    starts, ends = x[1].tolist(), x[2].tolist()
    axes = x[3].tolist() if len(x) > 3 else range(len(starts))
    index: list[Any] = [slice(None)] * x[0].dim()
    for start, end, axis in zip(starts, ends, axes, strict=True):
        index[axis] = slice(start, end)
    return x[0][tuple(index)]


def _reshape(x: list[Any], _: dict[str, Any]) -> torch.Tensor:
    return x[0].reshape([x[0].shape[i] if size == 0 else size for i, size in enumerate(x[1].tolist())])


def _unsqueeze(x: list[Any], _: dict[str, Any]) -> torch.Tensor:
    found = x[0]
    for axis in sorted(x[1].tolist()):
        found = found.unsqueeze(axis)
    return found


_TYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64}
_OPS: dict[str, Any] = {
    "Transpose": lambda x, a: x[0].permute(*a["perm"]),
    "Cast": lambda x, a: x[0].to(_TYPES[a["to"]]),
    "Shape": lambda x, _: torch.tensor(x[0].shape),
    "Concat": lambda x, a: torch.cat(x, dim=a["axis"]),
    "Unsqueeze": _unsqueeze,
    "Gather": lambda x, _: x[0][x[1]],
    "Mul": lambda x, _: x[0] * x[1],
    "Add": lambda x, _: x[0] + x[1],
    "Sub": lambda x, _: x[0] - x[1],
    "Div": lambda x, _: x[0] / x[1],
    "Max": lambda x, _: torch.maximum(x[0], x[1]),
    "MatMul": lambda x, _: x[0] @ x[1],
    "Erf": lambda x, _: x[0].erf(),
    "Exp": lambda x, _: x[0].exp(),
    "Log": lambda x, _: x[0].log(),
    "Sigmoid": lambda x, _: x[0].sigmoid(),
    "Softmax": lambda x, a: x[0].softmax(a["axis"]),
    "Gelu": lambda x, _: functional.gelu(x[0]),
    "Clip": lambda x, _: x[0].clamp(float(x[1]), float(x[2])),
    "Identity": lambda x, _: x[0],
    "Slice": _slice,
    "Reshape": _reshape,
    "ReduceSum": lambda x, a: x[0].sum(dim=x[1].tolist(), keepdim=bool(a.get("keepdims", 1))),
    "LayerNormalization": lambda x, a: functional.layer_norm(x[0], x[0].shape[-1:], x[1], x[2], a["epsilon"]),
    "QuantizeLinear": lambda x, _: x[0],
    "MatMulIntegerToFloat": _product_of_codes,
    "FusedMatMul": _fused_product,
    "Split": lambda x, a: torch.split(x[0], x[1].tolist(), dim=a["axis"]),
    "Gemm": lambda x, a: (x[0] @ (x[1].T if a.get("transB") else x[1])) + x[2],
}
