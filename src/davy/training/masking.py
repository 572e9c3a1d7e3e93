"""Masked language modelling, for continued pre-training: hide whole words and have the encoder guess them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Masker:
    """Which tokens may be hidden. `continues[t]` says that token t goes on a word; `fixed[t]` that it stays."""

    mask: int
    continues: Tensor
    fixed: Tensor

    def choose(self, ids: Tensor, share: float) -> Tensor:
        """Return where to hide: whole words, each with probability `share`."""
        word = (~self.continues[ids]).long().cumsum(1) - 1
        dice = torch.rand(ids.shape, device=ids.device)
        return (dice.gather(1, word.clamp(min=0)) < share) & ~self.fixed[ids]

    def hide(self, ids: Tensor, chosen: Tensor) -> Tensor:
        """Return ids with eight in ten chosen tokens masked, one replaced at random, one left."""
        dice = torch.rand(ids.shape, device=ids.device)
        strangers = torch.randint(len(self.fixed), ids.shape, device=ids.device)
        hidden = torch.where(chosen & (dice < 0.8), self.mask, ids)
        return torch.where(chosen & (dice >= 0.9), strangers, hidden)


def masked_logits(model: nn.Module, ids: Tensor, attention: Tensor, chosen: Tensor) -> Tensor:
    """Return the logits over the vocabulary at the chosen places only, where the model's head allows it."""
    base = model.base_model
    heads = [child for child in model.children() if child is not base]
    if len(heads) == 1:
        states = base(input_ids=ids, attention_mask=attention).last_hidden_state  # type: ignore[operator]
        return heads[0](states[chosen])  # type: ignore[no-any-return]
    return model(input_ids=ids, attention_mask=attention).logits[chosen]  # type: ignore[no-any-return]


def masked_words_loss(model: nn.Module, ids: Tensor, attention: Tensor, masker: Masker, share: float) -> Tensor:
    """Return the loss of guessing hidden words."""
    chosen = masker.choose(ids, share)
    chosen[:, 1] |= ~chosen.any() & ~masker.fixed[ids[:, 1]]  # an empty batch would give no number
    return F.cross_entropy(masked_logits(model, masker.hide(ids, chosen), attention, chosen).float(), ids[chosen])
