"""Texts and pictures as vectors of one CLIP-like model, which is not trained: its own projections, each of length one.

The model is a folder or a hub name (`hf:NAME`) that transformers knows, with a tower for texts and one for pictures:
CLIP or SigLIP. It is loaded with the first text or picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UserError
from davy.detectors.encoder import TextTokenizer, download_options, load_tokenizer, why_not_loaded

if TYPE_CHECKING:
    from davy.image.picture import Picture

BATCH = 32


@dataclass(slots=True)
class _Parts:
    model: Any
    tokenizer: TextTokenizer
    scale: Any
    side: int
    pads_to: int
    """To how many tokens texts are padded, without a mask, as SigLIP was trained; 0 pads to the longest."""


class ClipVectors:
    """A CLIP-like model that turns texts and pictures into vectors (n, width)."""

    def __init__(self, name: str, device: str = "cpu") -> None:
        self.name, self.device = name, device
        self._parts: _Parts | None = None

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector for each text."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        parts = self._load()
        found = []
        for start in range(0, len(texts), BATCH):
            ids = parts.tokenizer.ids(texts[start : start + BATCH])
            if parts.pads_to:
                ids = [[*row, *[parts.tokenizer.pad] * (parts.pads_to - len(row))] for row in ids]
            tokens = pad_sequence([torch.tensor(row) for row in ids], True, float(parts.tokenizer.pad))
            mask = pad_sequence([torch.ones(len(row), dtype=torch.long) for row in ids], True)
            given = {} if parts.pads_to else {"attention_mask": mask.to(self.device)}
            with torch.inference_mode():
                found.append(_unit(parts.model.get_text_features(tokens.to(self.device), **given)))
        return np.concatenate(found)

    def pictures(self, pictures: Sequence[Picture]) -> np.ndarray:
        """Return one vector for each picture."""
        import torch

        from davy.detectors.image_features import pixel_array

        parts = self._load()
        found = []
        for start in range(0, len(pictures), BATCH):
            pixels = np.stack([pixel_array(each, parts.side) for each in pictures[start : start + BATCH]])
            scaled = (pixels.astype(np.float32) - parts.scale.mean) / parts.scale.spread
            tensor = torch.from_numpy(scaled.astype(np.float32).transpose(0, 3, 1, 2)).to(self.device)
            with torch.inference_mode():
                found.append(_unit(parts.model.get_image_features(tensor)))
        return np.concatenate(found)

    def _load(self) -> _Parts:
        if self._parts is None:
            self._parts = _load(self.name, self.device)
        return self._parts


def _load(name: str, device: str) -> _Parts:
    from transformers import AutoModel

    from davy.detectors.image_encoder import SIDE, hub_scale

    source = name.removeprefix("hf:")
    options = download_options(source)
    try:
        model = AutoModel.from_pretrained(source, **options)
    except (OSError, ValueError) as error:
        raise UserError(f"{source!r} can't be loaded: {why_not_loaded(source, error)}") from None
    if not (hasattr(model, "get_text_features") and hasattr(model, "get_image_features")):
        raise UserError(f"{source!r} does not read both texts and pictures. Name a CLIP or a SigLIP model.")
    text, vision = model.config.text_config, model.config.vision_config
    tokenizer, pad = load_tokenizer(source)
    is_siglip = str(model.config.model_type).startswith("siglip")
    longest = int(text.max_position_embeddings)
    pad = int(text.pad_token_id) if is_siglip and text.pad_token_id is not None else pad
    side = vision.image_size if isinstance(vision.image_size, int) else SIDE
    return _Parts(
        model.to(device).eval(),
        TextTokenizer(tokenizer, longest, pad),
        hub_scale(source, options),
        side,
        longest if is_siglip else 0,
    )


def _unit(features: Any) -> np.ndarray:
    """Return features as vectors of length one; newer versions of transformers wrap them."""
    values = getattr(features, "pooler_output", features).float().cpu().numpy()
    unit: np.ndarray = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
    return unit.astype(np.float32)
