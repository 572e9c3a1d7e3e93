"""Blocks that don't learn stay as they came, and what they make of a text is what the whole encoder makes of it."""

import pytest

from davy.core.errors import UserError
from tiny_encoder import make_tiny_encoder

torch = pytest.importorskip("torch")

from davy.detectors.meme_model import new_meme_model  # noqa: E402
from davy.detectors.meme_presets import load_preset  # noqa: E402
from davy.training.frozen_blocks import freeze_blocks, thaw_blocks  # noqa: E402

IDS = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])


@pytest.fixture
def network(tmp_path):
    preset = load_preset("text", "small", {"text_encoder": str(make_tiny_encoder(tmp_path)), "max_length": "16"})
    torch.manual_seed(2)
    return new_meme_model(preset).network


def test_states_are_the_encoder_s_own_the_first_time_and_from_memory(network):
    with torch.no_grad():
        whole = network.eval()(IDS, MASK)
        freeze_blocks(network, 1)
        first, again = (network.eval()(IDS, MASK) for _ in range(2))
        alone = network(IDS[1:, :3], MASK[1:, :3])
    torch.testing.assert_close(first, whole)
    torch.testing.assert_close(again, whole)
    torch.testing.assert_close(alone, whole[1:])


def test_a_step_moves_the_blocks_above_and_none_below(network):
    before = {name: value.clone() for name, value in network.text.state_dict().items()}
    freeze_blocks(network, 1)
    learning = [parameter for parameter in network.parameters() if parameter.requires_grad]
    network.train()(IDS, MASK).sum().backward()
    with torch.no_grad():
        for parameter in learning:
            parameter -= 0.1 * parameter.grad
    thaw_blocks(network)
    moved = {name for name, value in network.text.state_dict().items() if not torch.equal(value, before[name])}
    assert any(name.startswith("encoder.layer.1.") for name in moved)
    assert not any(name.startswith(("embeddings.", "encoder.layer.0.")) for name in moved)


def test_all_blocks_and_rows_that_mix_from_below_are_refused(network, tmp_path):
    with pytest.raises(UserError, match="this text encoder has 2"):
        freeze_blocks(network, 2)
    preset = load_preset("mmbt-grid", "small", {"text_encoder": str(tmp_path), "max_length": "16"})
    with pytest.raises(UserError, match="mixes both"):
        freeze_blocks(new_meme_model(preset).network, 1)
