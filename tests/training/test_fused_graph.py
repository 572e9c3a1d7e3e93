"""Graphs that Davy writes itself say what torch says."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from davy.core.errors import UserError
from davy.detectors.network import Head, Network
from davy.training.onnx.embedding_tables import round_table
from davy.training.onnx.encoders import parts_of
from davy.training.onnx.fused_graph import LIMIT
from davy.training.onnx.write import write_onnx

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
from rounded_training import simulate_int8

HEADS = (Head("hate", "one", 2), Head("target", "many", 3), Head("type", "one", 4))
COLUMNS = [[1, 0], [2, 3, 4], [8, 5, 7, 6]]
SHAPE = {
    "vocab_size": 90, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
    "max_position_embeddings": 40, "initializer_range": 0.2,
}  # fmt: skip


def encoder(family: str) -> nn.Module:
    import transformers

    torch.manual_seed(4)
    config = getattr(transformers, f"{family}Config")(**SHAPE)
    made = getattr(transformers, f"{family}Model")(config).eval()
    for name, weight in made.named_parameters():
        if name.endswith(("bias", "LayerNorm.weight", "relative_attention_bias.weight")):
            nn.init.normal_(weight, mean=float("Norm.weight" in name), std=0.3)
    return made


def network(family: str, pooling: str = "mean") -> Network:
    return Network(encoder(family), HEADS, pooling=pooling).eval()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Five posts of 3 to 21 tokens, padded; 1 is the padding of all three families here."""
    torch.manual_seed(5)
    lengths = torch.tensor([21, 3, 8, 20, 13])
    mask = (torch.arange(21) < lengths[:, None]).long()
    return torch.where(mask > 0, torch.randint(2, 90, (5, 21)), 1), mask


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path) + ".optimised"
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ran(path, ids, mask) -> list[np.ndarray]:
    return session(path).run(["hate", "target", "type"], {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})


@pytest.mark.parametrize("family", ["Bert", "Roberta", "MPNet"])
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_an_exact_graph_equals_torch_on_padded_batches(family, pooling, tmp_path):
    net = network(family, pooling)
    assert parts_of(net.encoder) is not None
    write_onnx(net, ["hate", "target", "type"], COLUMNS, tmp_path / "m.onnx", int8=False)
    ids, mask = batch()
    with torch.no_grad():
        logits = net(ids, mask)
    for mine, columns in zip(ran(tmp_path / "m.onnx", ids, mask), COLUMNS, strict=True):
        np.testing.assert_allclose(mine, logits[:, columns].numpy(), atol=1e-4)


def test_a_child_question_is_no_likelier_than_what_leads_to_it(tmp_path):
    net = network("Bert")
    write_onnx(net, ["hate", "target", "type"], COLUMNS, tmp_path / "m.onnx", int8=False, within={1: (0, 0)})
    ids, mask = batch()
    with torch.no_grad():
        logits = net(ids, mask)
    expected = logits[:, 2:5].sigmoid() * logits[:, [1, 0]].softmax(1)[:, :1]
    found = torch.from_numpy(ran(tmp_path / "m.onnx", ids, mask)[1]).sigmoid()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-4)


@pytest.mark.parametrize("family", ["Bert", "MPNet"])
@pytest.mark.parametrize("bits", [8, 4])
def test_a_rounded_graph_equals_the_rounded_network(family, bits, tmp_path):
    net = network(family)
    loud = torch.arange(90) < 20
    kept = {"table_bits": 4, "frequent": loud}
    write_onnx(net, ["hate", "target", "type"], COLUMNS, tmp_path / "m.onnx", matrix_bits=bits, **kept)
    ids, mask = batch()
    ids, mask = ids[[0]], mask[[0]]  # without padding: its vectors take part in the range that activations have
    net.encoder.embeddings.word_embeddings = round_table(net.encoder.embeddings.word_embeddings, 4, loud)
    embeddings = net.encoder.embeddings
    with torch.no_grad():  # positions as a rounded graph keeps them: in half precision, the token type among them
        places = embeddings.position_embeddings.weight
        if hasattr(embeddings, "token_type_embeddings"):
            places += embeddings.token_type_embeddings.weight[0]
            embeddings.token_type_embeddings.weight.zero_()
        places.copy_(places.half().float())
        exact = net(ids, mask)
        simulate_int8(net.encoder, bits=bits)
        logits = net(ids, mask)
    gap = max(
        np.abs(mine - logits[:, columns].numpy()).max()
        for mine, columns in zip(ran(tmp_path / "m.onnx", ids, mask), COLUMNS, strict=True)
    )
    # Sums in another order move an activation over the edge of a step now and then.
    assert gap < 0.3 * float((exact - logits).abs().max())
    assert gap < 0.01


def test_four_bits_take_half_the_room_and_are_unpacked_before_the_first_run(tmp_path):
    import onnx

    net = network("MPNet")
    for bits in (8, 4):
        write_onnx(net, ["hate", "target", "type"], COLUMNS, tmp_path / f"{bits}.onnx", matrix_bits=bits)
    weights = sum(layer.weight.numel() for layer in net.encoder.encoder.modules() if isinstance(layer, nn.Linear))
    saved = (tmp_path / "8.onnx").stat().st_size - (tmp_path / "4.onnx").stat().st_size
    assert 0.4 * weights < saved < 0.5 * weights
    kinds = []
    for bits in (8, 4):
        session(tmp_path / f"{bits}.onnx")
        kinds.append([node.op_type for node in onnx.load(tmp_path / f"{bits}.onnx.optimised").graph.node])
    assert kinds[0] == kinds[1]
    assert "SkipLayerNormalization" not in kinds[0]


def test_scores_beyond_the_limit_stay_numbers(tmp_path):
    net = network("Bert")
    with torch.no_grad():
        for layer in net.encoder.encoder.layer:
            layer.attention.self.query.weight *= 200
    ids, mask = batch()
    states = net.encoder.embeddings(ids)
    scores = net.encoder.encoder.layer[0].attention.self.query(states).abs().max()
    assert scores > LIMIT
    write_onnx(net, ["hate", "target", "type"], COLUMNS, tmp_path / "m.onnx", int8=False)
    assert all(np.isfinite(block).all() for block in ran(tmp_path / "m.onnx", ids, mask))


def test_other_encoders_are_traced_and_have_no_four_bit_matrices(tmp_path):
    import transformers

    config = transformers.DistilBertConfig(vocab_size=90, dim=32, n_layers=1, n_heads=2, hidden_dim=48)
    net = Network(transformers.DistilBertModel(config), HEADS).eval()
    assert parts_of(net.encoder) is None
    write_onnx(net, ["hate", "target", "type"], COLUMNS, tmp_path / "m.onnx", int8=False)
    ids, mask = batch()
    with torch.no_grad():
        np.testing.assert_allclose(ran(tmp_path / "m.onnx", ids, mask)[0], net(ids, mask)[:, [1, 0]], atol=1e-4)
    with pytest.raises(UserError, match="leave them at 8"):
        write_onnx(net, ["hate", "target", "type"], COLUMNS, tmp_path / "n.onnx", matrix_bits=4)
    write_onnx(network("Bert"), ["hate", "target", "type"], COLUMNS, tmp_path / "o.onnx", matrix_bits=4)
