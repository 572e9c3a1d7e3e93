"""Variants of posts: hidden words are filled in anew, for a student to learn from with its teachers' labels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from davy.training.pretrain import Masker, masked_logits


@torch.inference_mode()
def fill_masked(
    model: nn.Module, ids: Tensor, attention: Tensor, masker: Masker, share: float, *, top: int = 12
) -> Tensor:
    """Return ids with some words replaced by others that the model finds likely there."""
    chosen = masker.choose(ids, share)
    if not chosen.any():
        return ids
    hidden = torch.where(chosen, masker.mask, ids)
    logits = masked_logits(model, hidden, attention, chosen).float()
    logits[:, masker.fixed] = -torch.inf
    best, which = logits.topk(top, dim=1)
    pick = torch.multinomial(best.softmax(1), 1)
    out = ids.clone()
    out[chosen] = which.gather(1, pick)[:, 0]
    return out
