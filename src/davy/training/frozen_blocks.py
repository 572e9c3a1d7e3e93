"""A text encoder whose first blocks stay as they came: what they make of a text is computed once and kept.

A BERT in, a module that is called alike out; only the blocks above learn. A training of a few epochs over short texts
so takes about a third of the time, which is what makes it bearable on a CPU.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from davy.core.errors import UserError
from davy.detectors.meme_networks import read_layers


class FrozenBlocks(nn.Module):
    """A BERT in training of which the first `count` blocks and the word vectors don't learn.

    `known` are the states of texts by their token ids, where another training of the same encoder made them before.
    """

    def __init__(self, bert: Any, count: int, known: dict[bytes, Tensor] | None = None) -> None:
        super().__init__()
        blocks = len(bert.encoder.layer)
        if not 0 < count < blocks:
            raise UserError(f"frozen_blocks is {count}; this text encoder has {blocks}, of which some must learn.")
        self.bert, self.count = bert, count
        for part in (bert.embeddings, *bert.encoder.layer[:count]):
            part.requires_grad_(False)
        self._known = {} if known is None else known

    @property
    def config(self) -> Any:
        """The encoder's own."""
        return self.bert.config

    def train(self, mode: bool = True) -> FrozenBlocks:
        """Switch modes, but never let chance (dropout) into what is frozen."""
        super().train(mode)
        for part in (self.bert.embeddings, *self.bert.encoder.layer[: self.count]):
            part.eval()
        return self

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        """Return what the encoder would, as far as networks read it."""
        mask = attention_mask.bool()
        states = read_layers(self.bert.encoder.layer[self.count :], self._below(input_ids, mask), mask)
        return SimpleNamespace(last_hidden_state=states)

    def _below(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the states that the frozen blocks give, padded: of texts that are new, and of those known before."""
        lengths = mask.sum(1).tolist()
        keys = [row[:length].numpy().tobytes() for row, length in zip(ids.cpu(), lengths, strict=True)]
        new = [place for place, key in enumerate(keys) if key not in self._known]
        if new:
            with torch.no_grad():
                states = read_layers(self.bert.encoder.layer[: self.count], self.bert.embeddings(ids[new]), mask[new])
            for place, found in zip(new, states, strict=True):
                self._known[keys[place]] = found[: lengths[place]].clone()
        out = torch.zeros(*ids.shape, self.config.hidden_size, device=ids.device)
        for place, key in enumerate(keys):
            out[place, : lengths[place]] = self._known[key].float()
        return out


def freeze_blocks(network: Any, count: int, known: dict[bytes, Tensor] | None = None) -> None:
    """Let a network that reads the text by itself (Text, Concat) learn without its text encoder's first blocks."""
    if network.settings.row not in ("text", "concat"):
        raise UserError(f"frozen_blocks is for the rows text and concat; {network.settings.row} mixes both from below.")
    network.text = FrozenBlocks(network.text, count, known)


def thaw_blocks(network: Any) -> None:
    """Give a network its text encoder back, as it is by now."""
    network.text = network.text.bert
