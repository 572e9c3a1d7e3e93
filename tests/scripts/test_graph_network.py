"""A shipped graph as a torch network: it says what ONNX Runtime says, and what it learns comes back into the graph."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

from davy.detectors.embedded import weights_folder

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))

from graph_delta import cut, join
from graph_network import EXTRA, GraphNetwork

SHIPPED = weights_folder("embedded-en") / "model.onnx"
IDS = np.array([[0, 120, 340, 77, 2], [0, 45, 2, 1, 1]])
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def from_graph(path: Path) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(str(path))
    names = [it.name for it in session.get_outputs()]
    return dict(zip(names, session.run(None, {"input_ids": IDS, "attention_mask": MASK}), strict=True))


def from_torch(network: GraphNetwork) -> dict[str, np.ndarray]:
    network.eval()
    with torch.no_grad():
        return {name: it.numpy() for name, it in network(torch.from_numpy(IDS), torch.from_numpy(MASK)).items()}


def test_the_network_says_what_the_graph_says():
    network, graph = from_torch(GraphNetwork(SHIPPED)), from_graph(SHIPPED)
    assert set(network) == set(graph)
    for name, block in graph.items():
        np.testing.assert_allclose(network[name], block, atol=0.05)


def test_what_was_learnt_comes_back_into_the_graph(tmp_path):
    network = GraphNetwork(SHIPPED, extra=2)
    before = from_torch(network)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05)
    loss = network(torch.from_numpy(IDS), torch.from_numpy(MASK))["hate"][:, 1].sum()
    loss.backward()
    optimiser.step()
    learnt = from_torch(network)
    assert np.abs(learnt["hate"] - before["hate"]).max() > 0.2
    network.write(tmp_path / "new.onnx")
    written = from_graph(tmp_path / "new.onnx")
    assert written[EXTRA].shape == (2, 2)
    for name in set(learnt) - {EXTRA}:  # in the graph it is led by `offensive`
        np.testing.assert_allclose(written[name], learnt[name], atol=0.05)


def test_a_delta_and_its_start_make_the_graph_again(tmp_path):
    GraphNetwork(SHIPPED, extra=2).write(tmp_path / "new.onnx")
    new, start = (tmp_path / "new.onnx").read_bytes(), onnx.load(str(SHIPPED))
    delta = cut(start, onnx.load_from_string(new))
    assert delta.ByteSize() < 0.7 * len(new)
    (tmp_path / "again.onnx").write_bytes(join(start, delta).SerializeToString())
    for name, block in from_graph(tmp_path / "new.onnx").items():
        np.testing.assert_array_equal(from_graph(tmp_path / "again.onnx")[name], block)
