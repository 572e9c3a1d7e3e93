"""The ranges of an encoder's activations, so that a rounded graph need not look for them in each batch.

A network and posts in; every linear layer of the encoder then knows the range of its
inputs, and a graph is written with them. Or a graph that was traced and posts in; the
same graph with ranges out. A graph with known ranges gives a post the same score in any
company; with ranges that are found as they come, the other posts of a batch move it a
little.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from davy.detectors.network import Network

RANGE = "davy_range"
REACH = 0.999
"""The share of posts whose activations lie within the range; what lies outside is cut."""


def measure_ranges(network: Network, posts: Iterable[tuple[Tensor, Tensor]], *, reach: float = REACH) -> None:
    """Let every linear layer of the encoder know its inputs' range, from posts one at a time: ids and mask of each."""
    seen: dict[nn.Linear, list[Tensor]] = {it: [] for it in network.encoder.modules() if isinstance(it, nn.Linear)}

    def note(layer: nn.Linear, _module: nn.Module, given: tuple[Any, ...]) -> None:
        states = given[0].detach()
        seen[layer].append(torch.stack([states.amin(), states.amax()]))

    hooks = [layer.register_forward_pre_hook(partial(note, layer)) for layer in seen]
    try:
        network.eval()
        with torch.inference_mode():
            for ids, mask in posts:
                network(ids, mask)
    finally:
        for hook in hooks:
            hook.remove()
    for layer, found in seen.items():
        ends = torch.stack(found).float()
        low = float(torch.quantile(ends[:, 0], 1 - reach))
        high = float(torch.quantile(ends[:, 1], reach))
        setattr(layer, RANGE, (low, high))


def fix_ranges(path: Path, posts: Iterable[tuple[Tensor, Tensor]], *, reach: float = REACH) -> None:
    """Give a rounded graph that looks for ranges in each batch those of these posts: ids and mask of each.

    A graph that knows its ranges stays as it is.
    """
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(str(path))
    seekers = [node for node in model.graph.node if node.op_type == "DynamicQuantizeLinear"]
    if not seekers:
        return
    names = list(dict.fromkeys(node.input[0] for node in seekers))
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    session = onnxruntime.InferenceSession(shown.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = [it.name for it in session.get_inputs()]
    ends = np.array(
        [
            [(it.min(), it.max()) for it in session.run(names, dict(zip(inputs, map(_numpy, post), strict=False)))]
            for post in posts
        ]
    )
    for place, name in enumerate(names):
        low = min(float(np.quantile(ends[:, place, 0], 1 - reach)), 0.0)
        high = max(float(np.quantile(ends[:, place, 1], reach)), 1e-6)
        step = np.float32((high - low) / 255)
        for node in (it for it in seekers if it.input[0] == name):
            _, scale, zero = node.output
            # What the node would have found in each batch are constants now, under the same names.
            model.graph.initializer.append(numpy_helper.from_array(np.array(step), scale))
            model.graph.initializer.append(numpy_helper.from_array(np.array(round(-low / step), np.uint8), zero))
            node.op_type = "QuantizeLinear"
            del node.output[1:]
            node.input.extend([scale, zero])
    onnx.save(model, str(path))


def _numpy(tensor: Tensor) -> np.ndarray[Any, np.dtype[Any]]:
    return tensor.numpy()
