"""A meme model over a frozen CLIP-like encoder: a trained fusion of text and picture, and the memes that lie nearest.

The fusion multiplies a projection of the text with one of the picture, after Hate-CLIPper (Kumar and Nandakumar 2022).
Where a meme comes to lie, the memes that the model learned from vote by how near they are, as in retrieval-guided
training (Mei and others 2024). The answer is the mean of the classifier and that vote. The folder (engine
`meme-neighbours`) holds the fusion, those memes' vectors with their labels, never their texts or pictures, and the
name of the encoder, which stays where it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.detectors import folder as folders
from davy.detectors.clip_vectors import ClipVectors
from davy.detectors.encoder import WEIGHTS
from davy.detectors.meme_model import HATEFUL, PRESET
from davy.detectors.meme_presets import MemePreset
from davy.files.atomic import write_json

if TYPE_CHECKING:
    from davy.image.picture import Picture

ENGINE = "meme-neighbours"
SHARPNESS = 0.1
"""By what similarities are divided before they weigh: a neighbour that is less alike by so much has a share 1/e."""


class FusionHead(nn.Module):
    """Text and picture vectors in, a place of length one and a logit out. Vectors are standardised as in training."""

    text_mean: Tensor
    text_spread: Tensor
    picture_mean: Tensor
    picture_spread: Tensor

    def __init__(self, inputs: int, width: int, dropout: float) -> None:
        super().__init__()
        for name in ("text_mean", "picture_mean"):
            self.register_buffer(name, torch.zeros(inputs))
        for name in ("text_spread", "picture_spread"):
            self.register_buffer(name, torch.ones(inputs))
        self.text, self.picture = nn.Linear(inputs, width), nn.Linear(inputs, width)
        self.mixed = nn.Sequential(
            nn.LayerNorm(width), nn.Dropout(dropout), nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout),
            nn.Linear(width, width),
        )  # fmt: skip
        self.classifier = nn.Linear(width, 1)

    def standardise(self, texts: Tensor, pictures: Tensor) -> None:
        """Take mean and spread from the vectors of the memes to learn from."""
        for kind, values in (("text", texts), ("picture", pictures)):
            getattr(self, f"{kind}_mean").copy_(values.mean(0))
            getattr(self, f"{kind}_spread").copy_(values.std(0).clamp(min=1e-6))

    def forward(self, texts: Tensor, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return the places (n, width) and the logits (n,)."""
        words = self.text((texts - self.text_mean) / self.text_spread)
        seen = self.picture((pictures - self.picture_mean) / self.picture_spread)
        fused = self.mixed(words * seen)
        return functional.normalize(fused, dim=1), self.classifier(functional.gelu(fused)).squeeze(-1)


def neighbour_vote(places: Tensor, known: Tensor, labels: Tensor, k: int) -> Tensor:
    """Return the share of yes among the k nearest known places, each weighted by how near it is."""
    likeness, nearest = (places @ known.T).topk(min(k, len(known)), dim=1)
    weights = (likeness / SHARPNESS).softmax(dim=1)
    vote: Tensor = (weights * labels[nearest]).sum(1)
    return vote


@dataclass(frozen=True)
class NeighbourModel:
    """A trained fusion with the places and labels of the memes that it learned from."""

    head: FusionHead
    known: Tensor
    labels: Tensor
    preset: MemePreset
    vectors: ClipVectors
    question: Question = HATEFUL
    name: str = "meme"
    version: str = "unsaved"
    temperature: float = 1.0
    looks: bool = True

    def logits(self, texts: Sequence[str], pictures: np.ndarray) -> np.ndarray:
        """Return one logit a meme; `pictures` are the vectors of its pictures, in the order of the texts."""
        return self.logits_of(self.vectors.texts(texts), pictures)

    def logits_of(self, texts: np.ndarray, pictures: np.ndarray) -> np.ndarray:
        """Return one logit a meme from the vectors of both sides: of the mean of classifier and neighbours."""
        head = self.head.eval()
        with torch.inference_mode():
            places, own = head(torch.from_numpy(texts), torch.from_numpy(pictures))
            vote = neighbour_vote(places, self.known, self.labels, self.preset.neighbours)
            mean = (own.sigmoid() + vote) / 2
            found: np.ndarray = torch.logit(mean, eps=1e-6).numpy()
        return found

    def probabilities(self, texts: Sequence[str], pictures: np.ndarray) -> np.ndarray:
        """Return each meme's probability of yes."""
        certain = self.logits(texts, pictures).astype(np.float64) / self.temperature
        return np.asarray((1 + np.tanh(certain / 2)) / 2, np.float32)

    def save(self, folder: Path, **settings: Any) -> folders.Manifest:
        """Write the model as a folder and return its manifest."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        state = {f"head.{name}": value.contiguous() for name, value in self.head.state_dict().items()}
        save_file({**state, "known": self.known.contiguous(), "labels": self.labels.contiguous()}, folder / WEIGHTS)
        write_json(folder / PRESET, {"preset": self.preset.as_json()})
        manifest = folders.Manifest(
            ENGINE,
            self.name,
            (self.question,),
            temperatures={self.question.name: self.temperature},
            settings={"row": self.preset.row, **settings},
        )
        return folders.write(folder, manifest)

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> NeighbourModel:
        """Return the model that `save` wrote."""
        from safetensors.torch import load_file

        try:
            preset = MemePreset.from_json(json.loads((folder / PRESET).read_text(encoding="utf-8"))["preset"])
            state = load_file(folder / WEIGHTS)
            known, labels = state.pop("known"), state.pop("labels")
            head = new_head(preset, int(state["head.text_mean"].shape[0]))
            head.load_state_dict({name.removeprefix("head."): value for name, value in state.items()})
        except (OSError, KeyError, TypeError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0][:160]
            raise UserError(f"{folder} can't be loaded ({reason}). Train or get the model again.") from error
        question = manifest.questions[0]
        temperature = float(manifest.temperatures.get(question.name, 1.0))
        vectors = ClipVectors(preset.image_encoder)
        return cls(head.eval(), known, labels, preset, vectors, question, manifest.name, manifest.version, temperature)

    def read(self, pictures: Sequence[Picture]) -> np.ndarray:
        """Return the vectors of pictures, as `probabilities` takes them."""
        return self.vectors.pictures(pictures)


def new_head(preset: MemePreset, inputs: int) -> FusionHead:
    """Return an untrained fusion for vectors of a width."""
    return FusionHead(inputs, preset.network.classifier_width, preset.network.classifier_dropout)
