"""Continued pre-training: an encoder guesses hidden words in unlabelled posts, before it is fine-tuned.

Texts and an encoder in; the encoder, with its head and tokenizer, as a folder that
`davy train --encoder` takes out. Whole words are hidden. It goes on after a kill.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from davy.core.errors import UserError
from davy.detectors import hub
from davy.detectors.encoder import TextTokenizer, check_complete, encoder_error, load_tokenizer, silence_transformers
from davy.training import emoji
from davy.training.config import Config
from davy.training.data import Tokens, batches_by_length
from davy.training.loop import Loop
from davy.training.masking import Masker, masked_words_loss
from davy.training.run_record import History, StepProgress
from davy.training.trainer import schedule_of


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
        emoji.add_tokens(tokenizer, model, texts)
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
        model, found = AutoModelForMaskedLM.from_pretrained(
            encoder, use_safetensors=True, output_loading_info=True, **hub.download_options(encoder)
        )
    except (OSError, ValueError, KeyError) as error:
        raise encoder_error(encoder, error) from error
    # A head that guesses words may be new; an encoder that is new has forgotten everything.
    check_complete(encoder, [it for it in found["missing_keys"] if it.startswith(model.base_model_prefix)])
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
