"""The screen's graph says what the trained network says, but for rounding, and can be read back to learn again."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from davy.detectors.token_batches import TokenRows
from davy.training.onnx.embedding_tables import PackedEmbedding

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
import screen_again
import screen_graph
from screen_nets import Windows


def written(path: Path) -> tuple[Windows, PackedEmbedding]:
    torch.manual_seed(3)
    net = Windows(words=50, width=64, filters=32, hidden=24).eval()
    torch.nn.init.normal_(net.lone.weight)
    weights = {name: it.detach().numpy() for name, it in net.state_dict().items() if name != "vectors.weight"}
    packed = PackedEmbedding(net.vectors)
    weights |= {f"vectors.{name}": it.numpy() for name, it in packed.state_dict().items()}
    screen_graph.write(weights, path)
    return net, packed


def test_the_graph_of_a_screen_equals_its_network(tmp_path):
    net, packed = written(tmp_path / "screen.onnx")
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


def test_a_written_screen_is_read_back_and_learns_what_the_network_says_now(tmp_path, monkeypatch):
    monkeypatch.setattr(screen_again, "BATCH", 32)
    net, packed = written(tmp_path / "screen.onnx")
    weights = screen_again.weights_of(tmp_path / "screen.onnx")
    again = screen_again.network(weights)
    net.vectors = packed
    rng = np.random.default_rng(0)
    rows = TokenRows.of([rng.integers(1, 50, rng.integers(2, 12)).tolist() for _ in range(600)])
    ids, mask = (torch.from_numpy(it) for it in rows.padded(np.arange(600), 0))
    with torch.no_grad():
        expected = net(ids, mask.float()).numpy()
        np.testing.assert_allclose(
            again.eval()(ids, mask.float()).numpy(), expected, atol=0.02 * np.abs(expected).max()
        )
    seven = (ids == 7).any(dim=1).numpy()
    chances = np.repeat(np.where(seven, 0.95, 0.05).astype(np.float32)[:, None], 3, axis=1)
    learnt = screen_again.learn(again, rows, chances, chances >= 0.5, epochs=40)
    with torch.no_grad():
        said = learnt(ids, mask.float()).numpy()
    assert ((said >= 0) == (chances >= 0.5)).mean() > 0.95
    np.testing.assert_array_equal(learnt.vectors.weight.detach().numpy(), weights["vectors.weight"])


def test_a_run_of_a_post_stays_between_its_ends():
    rng = np.random.default_rng(1)
    for length in (2, 3, 5, 40, 300):
        ids = [1, *range(10, 8 + length), 2]
        for _ in range(20):
            run = screen_again.run_of(ids, rng)
            assert (run[0], run[-1]) == (1, 2)
            assert run[1:-1] == list(range(run[1], run[-2] + 1)) if len(run) > 2 else length == 2
