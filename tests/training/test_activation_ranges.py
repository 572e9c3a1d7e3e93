"""A traced graph whose ranges were settled scores a post the same in any company."""

import numpy as np
import onnxruntime
import torch
import transformers

from davy.detectors.network import Head, Network
from davy.training.onnx.activation_ranges import fix_ranges
from davy.training.onnx.write import write_onnx

HEADS = (Head("hate", "one", 2), Head("type", "one", 3))


def network() -> Network:
    torch.manual_seed(4)
    config = transformers.DistilBertConfig(
        vocab_size=90, dim=64, n_layers=2, n_heads=4, hidden_dim=96, initializer_range=0.2
    )
    return Network(transformers.DistilBertModel(config), HEADS).eval()


def posts(n: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    chance = torch.Generator().manual_seed(n)
    found = []
    for _ in range(n):
        ids = torch.randint(2, 90, (1, int(torch.randint(3, 20, (1,), generator=chance))), generator=chance)
        found.append((ids, torch.ones_like(ids)))
    return found


def ran(path, ids, mask) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.concatenate(
        session.run(["hate", "type"], {"input_ids": ids.numpy(), "attention_mask": mask.numpy()}), axis=1
    )


def together(several: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(ids.shape[1] for ids, _ in several)
    pad = [torch.nn.functional.pad(ids, (0, width - ids.shape[1])) for ids, _ in several]
    masks = [torch.nn.functional.pad(mask, (0, width - mask.shape[1])) for _, mask in several]
    return torch.cat(pad), torch.cat(masks)


def test_a_post_scores_the_same_alone_as_in_company(tmp_path):
    net, some = network(), posts(40)
    write_onnx(net, ["hate", "type"], [[0, 1], [2, 3, 4]], tmp_path / "m.onnx")
    ids, mask = together(some[:12])
    alone = np.concatenate([ran(tmp_path / "m.onnx", *post) for post in some[:12]])
    assert np.abs(alone - ran(tmp_path / "m.onnx", ids, mask)).max() > 1e-4, "company should matter before"

    fix_ranges(tmp_path / "m.onnx", some)
    alone = np.concatenate([ran(tmp_path / "m.onnx", *post) for post in some[:12]])
    np.testing.assert_allclose(alone, ran(tmp_path / "m.onnx", ids, mask), atol=1e-5)
    with torch.no_grad():
        exact = net(ids, mask).numpy()
    assert np.abs(alone - exact).max() < 0.05 * np.abs(exact).max()


def test_a_graph_that_knows_its_ranges_stays_as_it_is(tmp_path):
    write_onnx(network(), ["hate", "type"], [[0, 1], [2, 3, 4]], tmp_path / "m.onnx")
    fix_ranges(tmp_path / "m.onnx", posts(5))
    before = (tmp_path / "m.onnx").read_bytes()
    fix_ranges(tmp_path / "m.onnx", posts(9))
    assert (tmp_path / "m.onnx").read_bytes() == before
