"""Continued pre-training: an encoder guesses hidden words in unlabelled posts, before it is fine-tuned.

Texts and an encoder in; the encoder, with its head and tokenizer, as a folder that
`davy train --encoder` takes out. Whole words are hidden. It goes on after a kill.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from davy.core.errors import UserError
from davy.detectors.encoder import (
    TextTokenizer,
    check_complete,
    download_options,
    encoder_error,
    load_tokenizer,
    silence_transformers,
)
from davy.training import trainer
from davy.training.config import Config
from davy.training.data import Tokens, batches_by_length
from davy.training.loop import Loop
from davy.training.run_record import History, StepProgress
from davy.training.trainer import schedule_of


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


def pretrain(
    texts: Sequence[str],
    config: Config,
    folder: Path,
    *,
    share: float = 0.15,
    seed: int = 1,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
    on_step: Callable[[StepProgress], None] = lambda _: None,
) -> History:
    """Train on the texts and write the encoder to `folder`; `share` of the words are hidden."""
    silence_transformers()
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer, pad = load_tokenizer(config.encoder)
    model = _load_masked_model(config.encoder)
    if config.emoji == "tokens":
        trainer.add_tokens(tokenizer, model, texts)
    reading = TextTokenizer(tokenizer, config.max_length, pad, ("emoji names",) if config.emoji == "names" else ())
    rows = [ids for ids in reading.ids(texts) if len(ids) > 4]
    if not rows:
        raise UserError("No text has more than two words to learn from.")
    tokens = Tokens.of(rows, pad, device)
    model.to(device)
    words = masker(tokenizer, device)
    lengths = tokens.lengths.cpu().numpy()

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((seed, epoch))
        return batches_by_length(rng.permutation(len(rows)), lengths, config.batch, rng)

    def loss(batch: np.ndarray) -> torch.Tensor:
        ids, mask = tokens.batch(torch.from_numpy(batch).to(device), int(lengths[batch].max()))
        return masked_words_loss(model, ids, mask, words, share)

    checkpoint = folder / "checkpoint"
    checkpoint.mkdir(parents=True, exist_ok=True)
    precision = config.precision if config.precision != "auto" else ("bf16" if device == "cuda" else "fp32")
    plan = schedule_of(config, precision)
    history = Loop(
        model,
        plan,
        batches,
        loss,
        seed=seed,
        folder=checkpoint,
        save_every=config.save_every,
        tell=tell,
        on_step=on_step,
        identity={**config.identity(), "seed": seed, "hide": share, "posts": _hash(texts)},
    ).run()
    model.cpu().save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return history


def _load_masked_model(encoder: str) -> Any:
    from transformers import AutoModelForMaskedLM

    try:
        model, loading = AutoModelForMaskedLM.from_pretrained(
            encoder, use_safetensors=True, output_loading_info=True, **download_options(encoder)
        )
    except (OSError, ValueError, KeyError) as error:
        raise encoder_error(encoder, error) from error
    # A head that guesses words may be new; an encoder that is new has forgotten everything.
    check_complete(encoder, [it for it in loading["missing_keys"] if it.startswith(model.base_model_prefix)])
    return model


def _hash(texts: Sequence[str]) -> str:
    return hashlib.sha256("\x1e".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def masker(tokenizer: Any, device: str) -> Masker:
    """Return the masker of a tokenizer: pieces that go on a word, and special tokens, which stay."""
    vocab = tokenizer.get_vocab()
    size = max(vocab.values()) + 1
    continues, fixed = torch.zeros(size, dtype=torch.bool), torch.zeros(size, dtype=torch.bool)
    marked = any(piece.startswith(("▁", "Ġ")) for piece in vocab)
    for piece, i in vocab.items():
        bracketed = len(piece) > 2 and (piece[0], piece[-1]) in (("[", "]"), ("<", ">"))
        fixed[i] = bracketed and piece[1:-1].strip("/").isalpha()
        continues[i] = not piece.startswith(("▁", "Ġ")) and not bracketed if marked else piece.startswith("##")
    # MPNet's vocabulary holds BERT's [MASK], which means nothing to it: one that is marked as special comes first.
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    names = sorted(("[MASK]", "<mask>"), key=lambda name: name not in special)
    mask = next((vocab[name] for name in names if name in vocab), None)
    if mask is None:
        raise UserError("The tokenizer has no mask token, so this encoder can't be pre-trained further.")
    return Masker(mask, continues.to(device), fixed.to(device))
