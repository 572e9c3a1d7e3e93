"""The networks of the Hateful Memes table: shapes, sizes as the paper published them, and a folder that comes back."""

from dataclasses import replace

import numpy as np
import pytest

from davy.core.errors import UserError

torch = pytest.importorskip("torch")

from davy.detectors import folder as folders  # noqa: E402
from davy.detectors.meme_model import MemeModel, PictureFeatures, fuse_late, new_meme_model, pad_tokens  # noqa: E402
from davy.detectors.meme_networks import NETWORKS, ROWS, build_network  # noqa: E402
from davy.detectors.meme_presets import SIZES, load_preset  # noqa: E402
from tiny_encoder import make_tiny_encoder  # noqa: E402

# Table 2 of the paper's appendix A: trainable weights of each row.
PUBLISHED = {
    "image-grid": 60_312_642,
    "image-region": 6_365_186,
    "text": 110_668_034,
    "concat": 170_384_706,
    "mmbt-grid": 169_793_346,
    "mmbt-region": 115_845_890,
    "vilbert": 247_780_354,
    "visualbert": 112_044_290,
    "vilbert-cc": 247_780_354,
    "visualbert-coco": 112_044_290,
}
UNUSED = {"vilbert": 11_020_800, "vilbert-cc": 11_020_800}
"""The published ViLBERT carries query layers in its six connections that nothing reads; ours has none."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_encoder(tmp_path_factory.mktemp("tiny"))


def tiny_preset(row, tiny):
    preset = load_preset(row, "small", {"text_encoder": str(tiny), "max_length": "16"})
    layers = {"visual_layers": 1, "visual_width": 16, "visual_heads": 2, "feature_width": 24, "classifier_width": 8}
    fc7 = 8 if preset.network.fc7 else 0
    return replace(preset, network=replace(preset.network, **layers, fc7=fc7))


def tiny_model(row, tiny):
    if row == "late-fusion":
        return fuse_late(*(new_meme_model(tiny_preset(part, tiny)) for part in ("image-grid", "text")))
    return new_meme_model(tiny_preset(row, tiny))


def pictures(count, kind="grid", seed=0):
    rng = np.random.default_rng(seed)
    if kind != "region":
        return PictureFeatures(rng.normal(size=(count, 49, 24)).astype(np.float16))
    corners = np.sort(rng.random((count, 10, 2, 2)).astype(np.float32), axis=2).reshape(count, 10, 4)
    return PictureFeatures(rng.normal(size=(count, 10, 24)).astype(np.float16), corners)


TEXTS = ["the garden people are nice", "bad", "they are all lovely"]


@pytest.mark.parametrize("row", list(PUBLISHED))
def test_a_full_network_has_as_many_weights_as_the_paper_says(row):
    from transformers import BertConfig, BertModel, ResNetConfig, ResNetModel

    preset = load_preset(row, "full")
    with torch.device("meta"):
        image = ResNetModel(ResNetConfig(depths=[3, 8, 36, 3])) if preset.takes_pixels else None
        network = build_network(preset.network, BertModel(BertConfig()), image)
    weights = sum(parameter.numel() for parameter in network.parameters())
    assert weights == PUBLISHED[row] - UNUSED.get(row, 0)


def open_saved(folder):
    return MemeModel.open(folder, folders.read(folder))


def test_each_of_the_eleven_rows_has_a_network_but_late_fusion_which_has_two():
    assert set(NETWORKS) | {"late-fusion"} == set(ROWS)


@pytest.mark.parametrize("row", list(ROWS))
def test_each_row_scores_memes_and_a_saved_one_scores_them_alike(row, tiny, tmp_path):
    model = tiny_model(row, tiny)
    seen = pictures(3, model.preset.network.features) if model.looks else None
    before = model.probabilities(TEXTS, seen)
    assert before.shape == (3,)
    assert ((before > 0) & (before < 1)).all()
    model.save(tmp_path / "model")
    loaded = open_saved(tmp_path / "model")
    assert loaded.preset == model.preset
    np.testing.assert_allclose(loaded.probabilities(TEXTS, seen), before, atol=1e-5)
    model.save(tmp_path / "half", half=True)
    np.testing.assert_allclose(open_saved(tmp_path / "half").probabilities(TEXTS, seen), before, atol=5e-3)


def test_a_model_whose_encoder_was_stored_in_16_bits_is_loaded_in_32(tiny, tmp_path):
    model = tiny_model("mmbt-region", tiny)
    model.network.text.config.dtype = torch.float16
    seen = pictures(3, "region")
    model.save(tmp_path / "model")
    np.testing.assert_allclose(open_saved(tmp_path / "model").logits(TEXTS, seen), model.logits(TEXTS, seen), atol=1e-5)


def test_vilbert_can_put_its_two_vectors_beside_each_other(tiny):
    preset = tiny_preset("vilbert", tiny)
    joined = new_meme_model(replace(preset, network=replace(preset.network, joined="concat")))
    assert joined.network.pooled_width == 2 * new_meme_model(preset).network.pooled_width
    assert joined.logits(TEXTS, pictures(3, "region")).shape == (3,)


@pytest.mark.parametrize("layers", [1, 2], ids=["some of the encoder's layers read alone", "none reads alone"])
def test_vilberts_new_blocks_start_by_adding_nothing_to_words_or_regions(layers, tiny):
    preset = tiny_preset("vilbert", tiny)
    assert preset.network.quiet_start
    network = new_meme_model(replace(preset, network=replace(preset.network, visual_layers=layers))).network.eval()
    norms = [network.text.embeddings.LayerNorm, *(layer.output.LayerNorm for layer in network.text.encoder.layer)]
    ids, mask = pad_tokens([[2, 5, 6, 3]], 0)
    one, other = (torch.from_numpy(pictures(1, "region", seed).vectors).float() for seed in (1, 2))
    words, joined = network.encode(ids, mask, one)
    again, elsewhere = network.encode(ids, mask, other)
    torch.testing.assert_close(words, again)
    assert not torch.allclose(joined, elsewhere), "the picture counts from the start, beside the words"
    for norm in (network.words_look[0].norm, network.words_look[0].last_norm):
        assert norm.weight.detach().numpy() == pytest.approx(float(norms[2 - layers].weight.detach().mean()))


def test_vilbert_as_published_lets_the_picture_into_the_words_at_once(tiny):
    preset = tiny_preset("vilbert", tiny)
    network = new_meme_model(replace(preset, network=replace(preset.network, quiet_start=False))).network.eval()
    ids, mask = pad_tokens([[2, 5, 6, 3]], 0)
    one, other = (torch.from_numpy(pictures(1, "region", seed).vectors).float() for seed in (1, 2))
    assert not torch.allclose(network.encode(ids, mask, one)[0], network.encode(ids, mask, other)[0])
    assert not load_preset("vilbert", "full").network.quiet_start


def test_a_rows_own_rates_come_before_those_of_its_size():
    small = load_preset("vilbert", "small").training
    assert (small.rate, small.new_rate, small.updates) == (5e-5, 1e-4, 400)
    others = load_preset("concat", "small").training
    assert (others.rate, others.updates) == (1e-4, 800)


@pytest.mark.parametrize("row", [row for row in NETWORKS if row != "text" and not row.startswith("image")])
def test_a_fusion_depends_on_the_picture_and_on_the_caption(row, tiny):
    torch.manual_seed(0)
    model = tiny_model(row, tiny)
    kind = model.preset.network.features
    one, other = pictures(1, kind, seed=1), pictures(1, kind, seed=2)
    first = model.logits(TEXTS[:1], one)
    assert model.logits(TEXTS[:1], other) != pytest.approx(first, abs=1e-6)
    assert model.logits(TEXTS[1:2], one) != pytest.approx(first, abs=1e-6)


@pytest.mark.parametrize("row", list(NETWORKS))
def test_padding_and_masked_regions_change_nothing(row, tiny):
    network = tiny_model(row, tiny).network.eval()
    kind = network.settings.features
    seen = pictures(1, kind)
    vectors = torch.from_numpy(seen.vectors).float()
    boxes = None if seen.boxes is None else torch.from_numpy(seen.boxes)
    short, mask = pad_tokens([[2, 5, 6, 3]], 0)
    padded, wide = pad_tokens([[2, 5, 6, 3], [2, 5, 6, 7, 8, 9, 3]], 0)
    with torch.inference_mode():
        alone = network(short, mask, vectors, None, boxes)
        beside = network(padded, wide, vectors.repeat(2, 1, 1), None, None if boxes is None else boxes.repeat(2, 1, 1))
        assert torch.allclose(alone, beside[:1], atol=1e-5)
        if kind == "region":
            more, places = torch.cat([vectors, vectors[:, :3] + 9], 1), torch.cat([boxes, boxes[:, :3]], 1)
            there = torch.arange(13)[None] < 10
            assert torch.allclose(network(short, mask, more, there, places), alone, atol=1e-5)


def test_late_fusion_is_the_mean_of_both_scores(tiny):
    image, text = (new_meme_model(tiny_preset(part, tiny)) for part in ("image-grid", "text"))
    seen = pictures(3)
    mean = (image.probabilities(TEXTS, seen) + text.probabilities(TEXTS, None)) / 2
    np.testing.assert_allclose(fuse_late(image, text).probabilities(TEXTS, seen), mean, atol=1e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("row", list(ROWS))
def test_every_row_has_a_preset_in_both_sizes(row, size):
    preset = load_preset(row, size)
    assert (preset.pretraining is not None) == (row in ("vilbert-cc", "visualbert-coco"))
    if size == "full":
        assert (preset.training.updates, preset.training.warmup, preset.training.every) == (22_000, 2_000, 500)
        assert preset.takes_pixels == (preset.network.features == "grid")


def test_the_image_encoder_learns_where_it_is_part_of_the_network():
    from davy.detectors.image_encoder import load_image_encoder

    preset = load_preset("image-grid", "full")
    encoder = load_image_encoder()
    network = build_network(replace(preset.network, feature_width=encoder.width), None, encoder).train()
    ids, mask = pad_tokens([[2, 3]] * 2, 0)
    pixels = torch.randint(0, 256, (2, 3, 64, 64)).float()
    network(ids, mask, pixels).sum().backward()
    assert encoder.network.conv_stem.weight.grad.abs().sum() > 0
    assert not encoder.network.bn0.training, "batch statistics of a few memes would spoil the encoder"


def test_what_is_wrong_with_a_name_a_field_or_an_encoder_is_said(tiny):
    with pytest.raises(UserError, match=r"no meme model 'concta'.*concat"):
        load_preset("concta")
    with pytest.raises(UserError, match="small or full"):
        load_preset("concat", "huge")
    with pytest.raises(UserError, match="no field 'ratee'"):
        load_preset("concat", "small", {"ratee": "1"})
    with pytest.raises(UserError, match="fewer"):
        load_preset("concat", "small", {"updates": "10"})
    with pytest.raises(UserError, match="looks at pictures"):
        tiny_model("concat", tiny).probabilities(TEXTS, None)
