"""A trained meme model and its folder: texts and picture features in, probabilities out.

The folder holds the preset, the text encoder's shape, the tokenizer, all weights as safetensors and the manifest
(engine `meme`). `PictureReader` makes the features that the model wants from pictures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from davy.core.errors import UserError
from davy.core.scheme import Label, Question
from davy.detectors import folder as folders
from davy.detectors.encoder import (
    WEIGHTS,
    TextTokenizer,
    encoder_error,
    encoder_from_config,
    load_encoder,
    load_tokenizer,
)
from davy.detectors.meme_networks import LateFusion, average_cells, build_network
from davy.detectors.meme_presets import MemePreset, text_encoder_source
from davy.files.atomic import write_json

if TYPE_CHECKING:
    from davy.image.picture import Picture

ENGINE = "meme"
PRESET = "preset.json"
BATCH = 64
HATEFUL = Question("hate", (Label("no"), Label("yes")), positive="yes")


@dataclass(frozen=True, slots=True)
class PictureFeatures:
    """Pictures as a network gets them: vectors (n, k, d) or pixels (n, 3, side, side), and boxes (n, k, 4)."""

    vectors: np.ndarray
    boxes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    def rows(self, places: Any) -> PictureFeatures:
        """Return some of the pictures."""
        return PictureFeatures(self.vectors[places], None if self.boxes is None else self.boxes[places])


class PictureReader:
    """What computes a preset's features from pictures; its networks are loaded once, when first needed."""

    def __init__(self, preset: MemePreset, device: str = "cpu") -> None:
        self.preset, self.device = preset, device
        self._encoder: Any = None
        self._detector: Any = None

    def read(self, pictures: Sequence[Picture]) -> PictureFeatures | None:
        """Return the features of pictures; None where the row does not look at them."""
        from davy.detectors.clip_vectors import ClipVectors
        from davy.detectors.image_encoder import load_image_encoder
        from davy.detectors.image_features import grid_features, pixel_array, region_features
        from davy.detectors.object_boxes import ObjectDetector

        if not self.preset.network.features:
            return None
        if self.preset.network.features == "vector":
            self._encoder = self._encoder or ClipVectors(self.preset.image_encoder, self.device)
            return PictureFeatures(self._encoder.pictures(pictures))
        self._encoder = self._encoder or load_image_encoder(self.preset.image_encoder)
        if self.preset.takes_pixels:
            pixels = [pixel_array(picture, self._encoder.side).transpose(2, 0, 1) for picture in pictures]
            return PictureFeatures(np.stack(pixels))
        if self.preset.network.features == "grid":
            grid = grid_features(self._encoder, pictures, device=self.device)
            return PictureFeatures(averaged_grid(grid, self.preset.network.cells))
        self._detector = self._detector or ObjectDetector()
        names = [str(place) for place in range(len(pictures))]
        regions = region_features(
            self._encoder, self._detector, names, pictures, k=self.preset.regions, device=self.device
        )
        return PictureFeatures(regions.features, regions.boxes)


def averaged_grid(grid: np.ndarray, cells: int) -> np.ndarray:
    """Return grids averaged to as many cells as a network wants, which makes them smaller; 0 leaves them."""
    if not cells or not len(grid) or grid.shape[1] == cells:
        return grid
    return np.asarray(average_cells(torch.from_numpy(grid).float(), cells).half())


@dataclass(frozen=True)
class MemeModel:
    """A network with its preset, its tokenizer and the question that it answers."""

    network: nn.Module
    preset: MemePreset
    reading: TextTokenizer
    question: Question = HATEFUL
    name: str = "meme"
    version: str = "unsaved"
    temperature: float = 1.0
    device: str = "cpu"

    @property
    def looks(self) -> bool:
        """Whether the model needs pictures."""
        return bool(self.preset.network.features)

    def logits(self, texts: Sequence[str], pictures: PictureFeatures | None) -> np.ndarray:
        """Return one logit a meme; `pictures` are in the order of the texts."""
        if self.looks and pictures is None:
            raise UserError(f"The model {self.name!r} looks at pictures: give each meme its picture.")
        ids = self.reading.ids(texts)
        network = self.network.to(self.device).eval()
        out = np.zeros(len(texts), np.float32)
        for places in _batches([len(row) for row in ids]):
            tokens, mask = pad_tokens([ids[place] for place in places], self.reading.pad)
            inputs = network_inputs(None if pictures is None else pictures.rows(places), self.device)
            with torch.inference_mode():
                out[places] = network(tokens.to(self.device), mask.to(self.device), **inputs).float().cpu().numpy()
        return out

    def probabilities(self, texts: Sequence[str], pictures: PictureFeatures | None) -> np.ndarray:
        """Return each meme's probability of yes."""
        return np.asarray(1 / (1 + np.exp(-self.logits(texts, pictures) / self.temperature)), np.float32)

    def save(self, folder: Path, *, half: bool = False, **settings: Any) -> folders.Manifest:
        """Write the model as a folder and return its manifest; `half` writes weights in 16 bits."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        kind = torch.float16 if half else torch.float32
        state = {name: value.detach().to("cpu", kind).contiguous() for name, value in self.network.state_dict().items()}
        save_file({name: value.clone() for name, value in state.items()}, folder / WEIGHTS)
        text = next((part for name, part in self.network.named_modules() if name.split(".")[-1] == "text"), None)
        shape = None if text is None else text.config.to_dict()
        write_json(folder / PRESET, {"preset": self.preset.as_json(), "text_encoder": shape})
        self.reading.tokenizer.save(str(folder / "tokenizer.json"))
        manifest = folders.Manifest(
            ENGINE,
            self.name,
            (self.question,),
            temperatures={self.question.name: self.temperature},
            settings={
                "row": self.preset.row,
                "pad": self.reading.pad,
                "max_length": self.reading.max_length,
                **settings,
            },
        )
        return folders.write(folder, manifest)

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> MemeModel:
        """Return the model that `save` wrote."""
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        try:
            record = json.loads((folder / PRESET).read_text(encoding="utf-8"))
            preset = MemePreset.from_json(record["preset"])
            network = _network(preset, record["text_encoder"]).float()  # its shape may say 16 bits, as it was stored
            network.load_state_dict({name: value.float() for name, value in load_file(folder / WEIGHTS).items()})
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except (OSError, KeyError, TypeError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0][:160]
            raise UserError(f"{folder} can't be loaded ({reason}). Train or get the model again.") from error
        question = manifest.questions[0]
        reading = TextTokenizer(tokenizer, int(manifest.settings["max_length"]), int(manifest.settings["pad"]))
        temperature = float(manifest.temperatures.get(question.name, 1.0))
        return cls(network.eval(), preset, reading, question, manifest.name, manifest.version, temperature)


def new_meme_model(preset: MemePreset, question: Question = HATEFUL) -> MemeModel:
    """Return a row's untrained model over its encoders. Late Fusion is made from trained ones: `fuse_late`."""
    source = text_encoder_source(preset.text_encoder)
    tokenizer, pad = load_tokenizer(source)
    try:
        # Weights that were stored in 16 bits are trained in 32.
        text = None if preset.row.startswith("image-") else load_encoder(source).float()
    except (OSError, ValueError, KeyError) as error:
        raise encoder_error(source, error) from error
    require_bert(preset, text)
    network = build_network(preset.network, text, _image_part(preset))
    return MemeModel(network, preset, TextTokenizer(tokenizer, preset.max_length, pad), question, preset.row)


def fuse_late(image: MemeModel, text: MemeModel) -> MemeModel:
    """Return Late Fusion of a trained image model and a trained text model: the mean of their scores."""
    network = LateFusion(image.network, text.network)  # type: ignore[arg-type]
    settings = replace(image.preset.network, row="late-fusion")
    preset = replace(image.preset, row="late-fusion", network=settings)
    return replace(text, network=network, preset=preset, name="late-fusion")


def require_bert(preset: MemePreset, text: nn.Module | None) -> None:
    """Raise where a row that goes into a text encoder's layers was given an encoder that is built otherwise."""
    kind = getattr(getattr(text, "config", None), "model_type", "bert")
    if preset.row.startswith(("mmbt", "vil", "visual")) and kind != "bert":
        raise UserError(
            f"The row {preset.row} needs a text encoder of BERT's build, and {preset.text_encoder} is {kind}."
        )


def _image_part(preset: MemePreset) -> nn.Module | None:
    if not preset.takes_pixels:
        return None
    from davy.detectors.image_encoder import load_image_encoder

    return load_image_encoder(preset.image_encoder)


def _network(preset: MemePreset, shape: dict[str, Any] | None) -> nn.Module:
    """Return the network of a saved model, without its weights."""
    encoder = None if shape is None else encoder_from_config(shape)
    if preset.row != "late-fusion":
        return build_network(preset.network, encoder, _image_part(preset))
    image, text = (
        build_network(replace(preset.network, row=row, features=features), part, seen)
        for row, features, part, seen in (
            ("image-grid", preset.network.features, None, _image_part(preset)),
            ("text", "", encoder, None),
        )
    )
    return LateFusion(image, text)


def pad_tokens(ids: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return token ids and their mask, padded to the longest."""
    longest = max(len(row) for row in ids)
    tokens = torch.full((len(ids), longest), pad, dtype=torch.long)
    for place, row in enumerate(ids):
        tokens[place, : len(row)] = torch.tensor(row)
    lengths = torch.tensor([len(row) for row in ids])
    return tokens, (torch.arange(longest) < lengths[:, None]).long()


def network_inputs(pictures: PictureFeatures | None, device: str) -> dict[str, Tensor | None]:
    """Return a network's inputs that come from pictures."""
    if pictures is None:
        return {}
    vectors = torch.from_numpy(np.ascontiguousarray(pictures.vectors)).to(device).float()
    boxes = None if pictures.boxes is None else torch.from_numpy(pictures.boxes).to(device).float()
    return {"features": vectors, "boxes": boxes}


def _batches(lengths: Sequence[int]) -> Iterator[np.ndarray]:
    order = np.argsort(-np.asarray(lengths), kind="stable")
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]
