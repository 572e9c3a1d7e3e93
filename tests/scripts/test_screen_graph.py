"""The screen's graph says what the trained network says, but for rounding."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from davy.train.onnx.embedding_tables import PackedEmbedding

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
import screen_graph
from screen_nets import Windows


def test_the_graph_of_a_screen_equals_its_network(tmp_path):
    torch.manual_seed(3)
    net = Windows(words=50, width=64, filters=32, hidden=24).eval()
    torch.nn.init.normal_(net.lone.weight)
    weights = {name: it.detach().numpy() for name, it in net.state_dict().items() if name != "vectors.weight"}
    packed = PackedEmbedding(net.vectors)
    weights |= {f"vectors.{name}": it.numpy() for name, it in packed.state_dict().items()}
    screen_graph.write(weights, tmp_path / "screen.onnx")

    lengths = torch.tensor([9, 1, 4, 7])
    mask = (torch.arange(9) < lengths[:, None]).float()
    ids = torch.randint(0, 50, (4, 9))
    net.vectors = packed
    with torch.no_grad():
        expected = net(ids, mask).numpy()
    session = onnxruntime.InferenceSession(str(tmp_path / "screen.onnx"), providers=["CPUExecutionProvider"])
    feed = {"ids": np.where(mask.numpy() > 0, ids.numpy(), 0), "mask": mask.numpy()}
    found = session.run(["logits"], feed)[0]
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())
    assert np.abs(expected).max() > 0.5
