"""A written detector as a torch network that learns on, and the way back into its graph.

A model folder's `model.onnx` in; a network whose weights are the shipped codes times their scales out. While it learns
it rounds as the graph does: activations in the ranges that the graph has, weights to int8 or four bits. `write` puts
what was learnt into a copy of the graph: same nodes, new codes. Tables of word pieces and n-grams stay as they are.
It needs torch, onnx and numpy alone, and reads any of the three text detectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from davy.training.onnx.matrices import LARGEST_CODE

PRODUCTS = ("MatMulIntegerToFloat", "MatMulInteger")
FOUR, SIGNED, UNSIGNED = "four bits", "int8", "uint8"
MIDDLE = 128
_TYPES = {1: torch.float32, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
          10: torch.float32, 2: torch.uint8}  # fmt: skip
EXTRA = "attribute"
"""The question that a network gets beside its own: several answers, each with a probability of its own."""


@dataclass(frozen=True)
class Product:
    """Where a rounded matrix stands in the graph: its codes (and group scales, for four bits), its scale and zero."""

    kind: str
    codes: str
    groups: str
    scale: str
    zero: str


class GraphNetwork(nn.Module):
    """The network of a graph. `dropout` is applied to what a layer adds to its states, while training.

    `extra` answers of a further question are read from the vector that the last layer reads.
    """

    def __init__(self, path: Path, *, extra: int = 0, dropout: float = 0.1) -> None:
        super().__init__()
        self.model = onnx.load(str(path))
        self.dropout, self.rounded = dropout, True
        self.makers = {name: node for node in self.model.graph.node for name in node.output}
        constants = {it.name: it for it in self.model.graph.initializer}
        self._known: dict[str, Tensor] = {name: _tensor(it) for name, it in constants.items()}
        self.outputs = [it.name for it in self.model.graph.output]
        self._places: dict[str, str] = {}
        self.learnt = nn.ParameterDict()
        self.products: dict[str, Product] = {}
        self.steps: dict[str, Tensor] = {}
        self.still: dict[str, Tensor] = {}
        self._nodes = [node for node in _in_order(self.model.graph) if not self._folded(node)]
        for node in self._nodes:
            self._take(node)
        for name in self.learnt:
            self._known.pop(self._places.get(name, ""), None)
        # Shapes and single numbers stay on the processor: asking a GPU for them would stop it each time.
        self._numbers = {name: it.reshape(()) if it.is_floating_point() or it.dtype == torch.uint8 else it
                         for name, it in self._known.items() if it.numel() == 1}  # fmt: skip
        self._numbers |= {name: it for name, it in self._known.items() if it.dtype == torch.int64 and it.numel() < 64}
        large = sorted(set(self._known) - set(self._numbers))
        self._buffers_of = {name: f"constant_{index}" for index, name in enumerate(large)}
        for name, place in self._buffers_of.items():
            self.register_buffer(place, self._known[name], persistent=False)
        self.vector = self._vector()
        width = self._vector_width()
        self.further = nn.Linear(width, extra) if extra else None
        if self.further is not None:
            nn.init.normal_(self.further.weight, std=0.02)
            nn.init.constant_(self.further.bias, -2.0)
        last = {name: at for at, node in enumerate(self._nodes) for name in node.input}
        self._ends: dict[int, list[str]] = {}
        for name, at in last.items():
            if name and name not in self.outputs and name != self.vector:
                self._ends.setdefault(at, []).append(name)
        norms = {node.output[0] for node in self._nodes if node.op_type == "LayerNormalization"}
        self._dropped = {
            node.output[0]: int(node.input[0] in norms)
            for node in self._nodes
            if node.op_type == "Add" and sum(name in norms for name in node.input) == 1
        }

    # -- reading the graph -----------------------------------------------------------------------------------------

    def _folded(self, node: Any) -> bool:
        """Compute a node of constants alone, once; return whether it was one."""
        names = [name for name in node.input if name]
        if not names or not all(name in self._known for name in names) or node.op_type in PRODUCTS:
            return False
        values = [self._known[name] if name else None for name in node.input]
        found = _run(node, values)
        for name, value in zip(node.output, found if isinstance(found, tuple) else (found,), strict=True):
            self._known[name] = value
        return True

    def _take(self, node: Any) -> None:
        """Make what a node multiplies with or adds into something that learns."""
        if node.op_type in PRODUCTS:
            self._take_product(node)
            bias = node.input[6] if node.op_type == PRODUCTS[0] else ""
            self._take_float(bias)
        elif node.op_type == "LayerNormalization" or node.op_type == "Gemm":
            self._take_float(node.input[1])
            self._take_float(node.input[2])
        elif node.op_type == "MatMul":
            self._take_float(node.input[1])
        elif node.op_type == "Add":
            for name in node.input:
                self._take_float(name)

    def _take_float(self, name: str) -> None:
        value = self._known.get(name)
        if value is None or value.dtype != torch.float32 or value.numel() < 2 or value.dim() > 2:
            return
        if name not in self._places.values() and name in {it.name for it in self.model.graph.initializer}:
            key = f"f{len(self.learnt)}"
            self._places[key] = name
            self.learnt[key] = nn.Parameter(value.clone())

    def _take_product(self, node: Any) -> None:
        codes = node.input[1]
        if node.op_type == PRODUCTS[0]:
            scale, zero = node.input[3], node.input[5]
        else:
            scale, zero = self._scale_behind(node), node.input[3]
        middle = self._known[zero].float() if zero else torch.zeros(())
        matrix = (self._known[codes].float() - middle) * self._known[scale]
        if codes in self.makers:
            small, large = self._packed(codes)
            product = Product(FOUR, small, large, scale, "")
            self.steps[f"w{len(self.learnt)}"] = self._known[large].float() * self._known[scale]
        else:
            product = Product(UNSIGNED if zero else SIGNED, codes, "", scale, zero)
        key = f"w{len(self.learnt)}"
        self.learnt[key] = nn.Parameter(matrix.clone())
        self.products[key] = product
        self._places[key] = node.output[0]
        columns = (matrix != 0).any(0).float()
        if not bool(columns.all()):  # the values' columns of ones
            self.still[key] = columns

    def _packed(self, name: str) -> tuple[str, str]:
        """Return the constants of four bits that a matrix is unpacked from: its codes and its groups' scales."""
        kinds = {it.name: it.data_type for it in self.model.graph.initializer}
        found: dict[int, str] = {}
        todo = [name]
        while todo:
            node = self.makers.get(todo.pop())
            for given in node.input if node else ():
                if kinds.get(given) in (TensorProto.INT4, TensorProto.UINT4):
                    found[kinds[given]] = given
                elif given in self.makers:
                    todo.append(given)
        return found[TensorProto.INT4], found[TensorProto.UINT4]

    def _scale_behind(self, node: Any) -> str:
        """Return the matrix's scale of a product of integers, which is multiplied in two nodes further on.

        What multiplies it becomes one: the product here has the scales in it.
        """
        cast = next(it for it in self.model.graph.node if node.output[0] in it.input)
        times = next(it for it in self.model.graph.node if cast.output[0] in it.input)
        both = next(name for name in times.input if name != cast.output[0])
        scales = self.makers[both].input
        step = next(it for it in self.model.graph.node if node.input[0] in it.output).input[1]
        self._known[both] = torch.ones(())
        return next(name for name in scales if name != step)

    def _vector(self) -> str:
        """Return the name of what the last layer reads."""
        wide = [node for node in self._nodes if node.op_type in ("Gemm", "MatMul")]
        gemm = [node for node in wide if node.op_type == "Gemm"]
        return (gemm or [node for node in wide if node.input[1].endswith("first")])[-1].input[0]

    def _vector_width(self) -> int:
        for key, name in self._places.items():
            readers = [it for it in self._nodes if it.input and it.input[0] == self.vector and name in it.input]
            if readers and key.startswith("f"):
                return int(self.learnt[key].shape[0])
        raise ValueError("no layer reads the vector")

    # -- running ---------------------------------------------------------------------------------------------------

    def forward(self, ids: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Return what the graph says, a tensor for each output, and the logits of the further question."""
        values: dict[str, Any] = {name: getattr(self, place) for name, place in self._buffers_of.items()}
        values |= self._numbers
        values |= {name: self.learnt[key] for key, name in self._places.items() if key.startswith("f")}
        values |= {"": None, "input_ids": ids, "attention_mask": mask}
        matrices = {self._places[key]: key for key in self.products}
        kept = getattr(self, "kept", ())
        for at, node in enumerate(self._nodes):
            given = [values[name] for name in node.input]
            if node.op_type in PRODUCTS:
                found = given[0] @ self._matrix(matrices[node.output[0]])
                if node.op_type == PRODUCTS[0]:
                    found = found + given[6]
            elif node.op_type == "QuantizeLinear":
                found = self._rounded_states(*given) if self.rounded else given[0]
            else:
                if self.training and self.dropout and (place := self._dropped.get(node.output[0])) is not None:
                    given[place] = F.dropout(given[place], self.dropout)
                found = _run(node, given)
            for name, value in zip(node.output, found if isinstance(found, tuple) else (found,), strict=True):
                values[name] = value
            for name in self._ends.get(at, ()):
                if name not in kept:
                    del values[name]
        answers = {name: values[name] for name in self.outputs}
        self.states = {name: values[name] for name in kept}
        if self.further is not None:
            vector = values[self.vector]
            answers[EXTRA] = self.further(F.dropout(vector, self.dropout) if self.training else vector)
        return answers

    def _matrix(self, key: str) -> Tensor:
        matrix = self.learnt[key]
        if key in self.still:
            self.still[key] = self.still[key].to(matrix.device)
            matrix = matrix * self.still[key]
        if not self.rounded:
            return matrix
        with torch.no_grad():
            if key in self.steps:
                step = self.steps[key] = self.steps[key].to(matrix.device)
                groups = matrix.reshape(step.shape[0], -1, step.shape[2])
                near = ((groups / step).round().clamp(-LARGEST_CODE, LARGEST_CODE) * step).reshape(matrix.shape)
            else:
                scale = matrix.abs().amax(0).clamp(min=1e-8) / 127
                near = (matrix / scale).round() * scale
        return matrix + (near - matrix).detach()

    @staticmethod
    def _rounded_states(states: Tensor, step: Tensor, zero: Tensor) -> Tensor:
        inside = states.clamp(min=float(-zero.float() * step), max=float((255 - zero.float()) * step))
        return inside + ((inside / step).round() * step - inside).detach()

    # -- starting anew, and writing --------------------------------------------------------------------------------

    def start_from(self, tensors: dict[str, Tensor]) -> None:
        """Take the weights of a BERT encoder in place of the shipped ones, and forget what the last layers learnt."""
        names = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                 "intermediate.dense", "output.dense"]  # fmt: skip
        norms = ["embeddings.LayerNorm"]
        for at in range(len(self.products) // 6):
            norms += [f"encoder.layer.{at}.attention.output.LayerNorm", f"encoder.layer.{at}.output.LayerNorm"]
        nodes = [node for node in self._nodes if node.op_type in (*PRODUCTS, "LayerNormalization")]
        keys = {name: key for key, name in self._places.items()}
        products = [node for node in nodes if node.op_type in PRODUCTS]
        with torch.no_grad():
            for index, node in enumerate(products):
                name = f"encoder.layer.{index // 6}.{names[index % 6]}"
                weight, bias = tensors[f"{name}.weight"].T, tensors[f"{name}.bias"]
                key, its_bias = keys[node.output[0]], self.learnt[keys[node.input[6]]]
                there = self.still[key].cpu() > 0 if key in self.still else torch.ones(weight.shape[1]) > 0
                self.learnt[key][:, there] = weight
                its_bias[there] = bias
            for name, node in zip(norms, [it for it in nodes if it.op_type == "LayerNormalization"], strict=True):
                self.learnt[keys[node.input[1]]].copy_(tensors[f"{name}.weight"])
                self.learnt[keys[node.input[2]]].copy_(tensors[f"{name}.bias"])
            for key, name in self._places.items():
                if name.startswith("c.") and ("last" in name or "bias" in name):
                    self.learnt[key].zero_()
                elif name.startswith("c.first"):
                    self.learnt[key].normal_(std=0.02)
            gemm = next(node for node in self._nodes if node.op_type == "Gemm")
            self.learnt[keys[gemm.input[1]]].normal_(std=0.02)
            self.learnt[keys[gemm.input[2]]].zero_()
            tables = [node for node in self._nodes if node.op_type == "Gather" and node.input[0] in self._buffers_of]
            table, scale = (getattr(self, self._buffers_of[node.input[0]]) for node in tables[:2])
            table.data = tensors["embeddings.word_embeddings.weight"].float()
            scale.data = torch.ones_like(scale)
            places = (
                tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
            )
            where = next(node for node in self._nodes if node.op_type == "Slice" and node.input[0] in self._buffers_of)
            getattr(self, self._buffers_of[where.input[0]]).data = places.float()

    def write(self, path: Path, *, gate: tuple[str, int] = ("offensive", 1)) -> None:
        """Write the graph with what was learnt; the further question is multiplied by `gate`, an answer to another."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        ordered = _in_order(self.model.graph)
        del model.graph.node[:]
        model.graph.node.extend(ordered)
        places = {it.name: it for it in model.graph.initializer}
        state = {key: value.detach().float().cpu() for key, value in self.learnt.items()}
        for key, name in self._places.items():
            if key.startswith("f"):
                places[name].CopyFrom(numpy_helper.from_array(state[key].numpy(), name))
        for key, product in self.products.items():
            matrix = state[key] * self.still[key].cpu() if key in self.still else state[key]
            _put(places, product, matrix, self.steps.get(key))
        if self.further is not None:
            self._write_extra(model.graph, gate)
        onnx.checker.check_model(model)
        onnx.save(model, str(path))

    def _write_extra(self, graph: Any, gate: tuple[str, int]) -> None:
        assert self.further is not None
        weight, bias = self.further.weight.detach().cpu().numpy().T, self.further.bias.detach().cpu().numpy()
        for name, value in {"weight": weight, "bias": bias, "least": np.float32(1e-6), "most": np.float32(1 - 1e-6),
                            "one": np.float32(1), "start": np.array([gate[1]]), "end": np.array([gate[1] + 1]),
                            "axis": np.array([1])}.items():  # fmt: skip
            graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), f"{EXTRA}.{name}"))
        add = lambda *given, **more: graph.node.append(helper.make_node(*given, **more))  # noqa: E731
        of = lambda *names: [f"{EXTRA}.{name}" for name in names]  # noqa: E731
        add("Gemm", [self.vector, *of("weight", "bias")], of("logits"))
        add("Sigmoid", of("logits"), of("alone"))
        add("Softmax", [gate[0]], of("parent"), axis=1)
        add("Slice", of("parent", "start", "end", "axis"), of("leads"))
        add("Mul", of("alone", "leads"), of("both"))
        add("Clip", of("both", "least", "most"), of("chance"))
        add("Sub", of("one", "chance"), of("not"))
        add("Log", of("not"), of("against"))
        add("Log", of("chance"), of("for"))
        add("Sub", of("for", "against"), [EXTRA])
        shape = ["batch", self.further.out_features]
        graph.output.append(helper.make_tensor_value_info(EXTRA, TensorProto.FLOAT, shape))


def _put(places: dict[str, Any], product: Product, matrix: Tensor, step: Tensor | None) -> None:
    """Put a matrix (inputs × outputs) where its product has it, rounded; of four bits the codes alone change."""

    def put(name: str, value: np.ndarray) -> None:
        places[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value), name))

    if step is not None:
        codes = (matrix.reshape(step.shape[0], -1, step.shape[2]) / step.cpu()).round()
        flat = (codes.clamp(-LARGEST_CODE, LARGEST_CODE).to(torch.int8).numpy().ravel() & 15).astype(np.uint8)
        pairs = np.pad(flat, (0, flat.size % 2)).reshape(-1, 2)
        packed = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8).tobytes()
        kept = places[product.codes]
        kept.CopyFrom(helper.make_tensor(product.codes, kept.data_type, tuple(kept.dims), packed, raw=True))
        return
    scale = matrix.abs().amax(0).clamp(min=1e-8) / 127
    codes = (matrix / scale).round().clamp(-127, 127)
    put(product.scale, scale.numpy().reshape(tuple(places[product.scale].dims)))
    if product.kind == UNSIGNED:
        put(product.codes, (codes + MIDDLE).to(torch.uint8).numpy())
        put(product.zero, np.full(tuple(places[product.zero].dims), MIDDLE, np.uint8))
    else:
        put(product.codes, codes.to(torch.int8).numpy())


def _in_order(graph: Any) -> list[Any]:
    """Return the nodes, each behind those whose outputs it takes."""
    known = {it.name for it in graph.initializer} | {it.name for it in graph.input} | {""}
    left, found = list(graph.node), []
    while left:
        ready = [node for node in left if known.issuperset(node.input)]
        done = {id(node) for node in ready}
        left = [node for node in left if id(node) not in done]
        known |= {name for node in ready for name in node.output}
        found += ready
    return found


def _tensor(constant: Any) -> Tensor:
    value = numpy_helper.to_array(constant)
    if constant.data_type in (TensorProto.INT4, TensorProto.UINT4):
        value = value.astype(np.int8)
    elif value.dtype == np.float16:
        value = value.astype(np.float32)
    return torch.from_numpy(value.copy())


def _whole(value: Any) -> list[int]:
    return [int(it) for it in value.tolist()] if isinstance(value, Tensor) else list(value)


def _slice(x: list[Any], _: dict[str, Any]) -> Tensor:
    starts, ends = _whole(x[1]), _whole(x[2])
    axes = _whole(x[3]) if len(x) > 3 and x[3] is not None else list(range(len(starts)))
    steps = _whole(x[4]) if len(x) > 4 else [1] * len(starts)
    found = x[0]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index: list[Any] = [slice(None)] * found.dim()
        index[axis] = slice(start, end, step)
        found = found[tuple(index)]
    return found


def _reshape(x: list[Any], _: dict[str, Any]) -> Tensor:
    return x[0].reshape([x[0].shape[i] if size == 0 else size for i, size in enumerate(_whole(x[1]))])


def _unsqueeze(x: list[Any], _: dict[str, Any]) -> Tensor:
    found = x[0]
    for axis in sorted(_whole(x[1])):
        found = found.unsqueeze(axis)
    return found


def _concat(x: list[Any], a: dict[str, Any]) -> Tensor:
    if x[0].dim() == 1 and x[0].dtype == torch.int64:  # shapes stay on the processor
        return torch.cat([it.cpu() for it in x], dim=a["axis"])
    return torch.cat(x, dim=a["axis"])


def _gather(x: list[Any], a: dict[str, Any]) -> Tensor:
    axis, places = a.get("axis", 0), x[1]
    places = places.to(x[0].device)
    if places.dim() == 0:
        return x[0].select(axis, int(places))
    if axis == 0:
        return x[0][places]
    return (
        x[0].index_select(axis, places.reshape(-1)).reshape(*x[0].shape[:axis], *places.shape, *x[0].shape[axis + 1 :])
    )


def _fused_product(x: list[Any], a: dict[str, Any]) -> Tensor:
    first = x[0].permute(1, 2, 0, 3) if a.get("transBatchA") else x[0]
    second = x[1].permute(1, 2, 0, 3) if a.get("transBatchB") else x[1]
    return first @ (second.transpose(-1, -2) if a.get("transB") else second) * a.get("alpha", 1.0)


def _pad(x: list[Any], _: dict[str, Any]) -> Tensor:
    sizes = _whole(x[1])
    half = len(sizes) // 2
    pairs = [size for i in reversed(range(half)) for size in (sizes[i], sizes[half + i])]
    return F.pad(x[0], pairs)


def _filled(x: list[Any], a: dict[str, Any]) -> Tensor:
    value = _tensor(a["value"]) if "value" in a else torch.zeros(1)
    return torch.full(_whole(x[0]), value.item(), dtype=value.dtype)


def _where(x: list[Any], _: dict[str, Any]) -> Tensor:
    device = next((it.device for it in x if it.dim()), x[0].device)
    return torch.where(*(it.to(device) for it in x))


def _mod(x: list[Any], _: dict[str, Any]) -> Tensor:
    return torch.remainder(x[0], x[1].to(x[0].device))


def _together(operator: Any) -> Any:
    """Return an operator of two tensors, whichever of them is a number on the processor."""

    def run(x: list[Any], _: dict[str, Any]) -> Tensor:
        one, other = x
        if one.device != other.device and one.dim() and other.dim():
            one, other = (
                one.to(other.device if other.is_cuda else one.device),
                other.to(one.device if one.is_cuda else other.device),
            )
        return operator(one, other)

    return run


def _divided(one: Tensor, other: Tensor) -> Tensor:
    if one.is_floating_point():
        return one / other
    return torch.div(one, other, rounding_mode="trunc")


def _expanded(x: list[Any], _: dict[str, Any]) -> Tensor:
    return x[0].expand([have if want == 1 else want for have, want in zip(x[0].shape, _whole(x[1]), strict=True)])


_OPS: dict[str, Any] = {
    "Transpose": lambda x, a: x[0].permute(*a["perm"]),
    "Cast": lambda x, a: x[0].to(_TYPES[a["to"]]),
    "Shape": lambda x, _: torch.tensor(x[0].shape),
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": lambda x, _: x[0].squeeze(_whole(x[1])[0]),
    "Gather": _gather,
    "Mul": _together(torch.mul),
    "Add": _together(torch.add),
    "Sub": _together(torch.sub),
    "Div": _together(_divided),
    "Mod": _mod,
    "Pow": _together(torch.pow),
    "Max": lambda x, _: x[0].clamp(min=float(x[1])),
    "MatMul": lambda x, _: x[0] @ x[1],
    "Erf": lambda x, _: x[0].erf(),
    "Exp": lambda x, _: x[0].exp(),
    "Log": lambda x, _: x[0].log(),
    "Sqrt": lambda x, _: x[0].sqrt(),
    "Tanh": lambda x, _: x[0].tanh(),
    "Relu": lambda x, _: x[0].relu(),
    "Sigmoid": lambda x, _: x[0].sigmoid(),
    "Softmax": lambda x, a: x[0].softmax(a["axis"]),
    "Gelu": lambda x, _: F.gelu(x[0]),
    "Clip": lambda x, _: x[0].clamp(float(x[1]), float(x[2]) if len(x) > 2 and x[2] is not None else None),
    "Identity": lambda x, _: x[0],
    "Not": lambda x, _: ~x[0],
    "Equal": lambda x, _: x[0] == x[1].to(x[0].device),
    "Greater": lambda x, _: x[0] > x[1].to(x[0].device),
    "Range": lambda x, _: torch.arange(int(x[0]), int(x[1]), int(x[2])),
    "CumSum": lambda x, _: x[0].cumsum(int(x[1])),
    "Slice": _slice,
    "Reshape": _reshape,
    "Flatten": lambda x, a: x[0].flatten(a["axis"]),
    "Pad": _pad,
    "Where": _where,
    "ConstantOfShape": _filled,
    "ScatterElements": lambda x, a: x[0].to(x[2].device).scatter(a["axis"], x[1].to(x[2].device), x[2]),
    "Expand": _expanded,
    "ReduceSum": lambda x, a: x[0].sum(dim=_whole(x[1]), keepdim=bool(a.get("keepdims", 1))),
    "LayerNormalization": lambda x, a: F.layer_norm(x[0], x[0].shape[-1:], x[1], x[2], a["epsilon"]),
    "FusedMatMul": _fused_product,
    "Split": lambda x, a: torch.split(x[0], _whole(x[1]), dim=a["axis"]),
    "Gemm": lambda x, a: (x[0] @ (x[1].T if a.get("transB") else x[1])) + x[2],
}


def _run(node: Any, values: list[Any]) -> Any:
    given = {it.name: helper.get_attribute_value(it) for it in node.attribute}
    return _OPS[node.op_type](values, given)
