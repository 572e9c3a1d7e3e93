"""Encoders and tokenizers of a folder or of the Hugging Face hub, and how texts become token ids.

A name in; a torch encoder, or a tokenizer with what it pads with, out. Only safetensors are read, and no Python that
lies beside them is ever run: a pickle or a module would run a stranger's code. Without a network the hub's client asks
again for the better part of a minute before it gives up; we look once. BERTweet's tokenizer is made in the fast form,
with the same ids: its `@@` behind pieces inside a word becomes a mark at the word's end.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from davy.core.errors import UserError
from davy.detectors import folder as folders
from davy.detectors.token_batches import CHARACTERS_PER_TOKEN, cut, prepare_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import nn


HUB_SECONDS = 5.0


def download_options(name: str) -> dict[str, bool]:
    """Return what to tell `from_pretrained` about a folder or hub name; one that can't be had is an error."""
    # Said outright: where nothing is said, transformers asks on the terminal whether to run a stranger's code.
    safe = {"trust_remote_code": False}
    if Path(name).expanduser().is_dir() or is_reachable():
        return safe
    if not is_cached(name):
        raise UserError(f"{name!r} is no folder, not in the cache, and the hub can't be reached. Name a folder.")
    return {**safe, "local_files_only": True}


def is_cached(name: str) -> bool:
    """Return whether the hub's cache on this machine has a model's config."""
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except ValueError:  # no name that the hub could have
        return False


def is_reachable() -> bool:
    """Return whether the hub answers; behind a proxy only its client can tell."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    if getproxies():
        return True
    address = urlsplit(constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=HUB_SECONDS).close()
    except OSError:
        return False
    return True


WORD_END = "</w>"
INSIDE_WORD = "@@"
START, STOP, UNKNOWN = "<s>", "</s>", "<unk>"


def make_fast_tokenizer(vocabulary: Mapping[str, int], ranks: Mapping[tuple[str, ...], int]) -> Tokenizer:
    """Return the tokenizer of a vocabulary (piece → id) and of merges in the order of their ranks."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    merges = [pair for pair, _ in sorted(ranks.items(), key=lambda item: item[1]) if len(pair) == 2]
    pieces = {_renamed(piece): number for piece, number in vocabulary.items()}
    beyond = max(pieces.values()) + 1
    for piece in dict.fromkeys(piece for pair in merges for piece in (*pair, "".join(pair))):
        if piece not in pieces:  # a step between two pieces: merges need an id of its own for it
            pieces[piece] = beyond
            beyond += 1
    model = models.BPE(
        vocab=pieces,
        merges=[(first, second) for first, second in merges],
        unk_token=UNKNOWN,
        end_of_word_suffix=WORD_END,
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [(START, vocabulary[START]), (STOP, vocabulary[STOP])]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A {STOP}", special_tokens=ends)
    return tokenizer


def unknown_beyond(ids: list[list[int]], size: int, unknown: int) -> list[list[int]]:
    """Return token ids with those beyond a vocabulary's size as the unknown one."""
    return [[number if number < size else unknown for number in row] for row in ids]


def _renamed(piece: str) -> str:
    """Return a piece as the fast form calls it: `lo@@` is lo, `love` is love</w>; special tokens stay."""
    if piece.startswith("<") and piece.endswith(">"):
        return piece
    return (
        piece.removesuffix(INSIDE_WORD)
        if piece.endswith(INSIDE_WORD) and piece != INSIDE_WORD
        else f"{piece}{WORD_END}"
    )


WEIGHTS = "model.safetensors"
CONFIG = "config.json"
MODEL_TYPE = "davy-training"
"""What the config of a trained folder calls its model. Transformers does not know it, so it refuses to load the folder
instead of making new weights in silence; `davy.detectors.huggingface` writes folders that it can load."""


@dataclass(frozen=True, slots=True)
class TextTokenizer:
    """How texts become token ids: the tokenizer, the longest sequence, what it pads with, and steps before it."""

    tokenizer: Tokenizer
    max_length: int
    pad: int
    steps: tuple[str, ...] = ()

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's ids with special tokens; a long text keeps its first three quarters and its end."""
        limit = self.max_length * CHARACTERS_PER_TOKEN
        short = [prepare_text(cut(text, limit, glue=" "), self.steps) for text in texts]
        return [cut(encoding.ids, self.max_length) for encoding in self.tokenizer.encode_batch_fast(short)]


def load_tokenizer(name: str) -> tuple[Tokenizer, int]:
    """Return the tokenizer of a folder or hub name with truncation and padding off, and the id it pads with."""
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    path = Path(name).expanduser() / "tokenizer.json"
    tokenizer: Tokenizer | None
    try:
        if path.is_file():
            tokenizer = Tokenizer.from_file(str(path))
            found = [tokenizer.token_to_id(it) for it in ("[PAD]", "<pad>", "<|pad|>")]
            pad = next((it for it in found if it is not None), 0)
        else:
            loaded = AutoTokenizer.from_pretrained(name, **download_options(name))
            tokenizer, pad = getattr(loaded, "backend_tokenizer", None), loaded.pad_token_id or 0
            if tokenizer is None and type(loaded).__name__ == "BertweetTokenizer":
                tokenizer = make_fast_tokenizer(loaded.encoder, loaded.bpe_ranks)
    except UserError:
        raise
    except Exception as error:  # the hub's client raises many kinds
        raise UserError(f"No tokenizer for {name!r}: {why_not_loaded(name, error)}") from error
    if tokenizer is None:
        raise UserError(f"{name!r} has no tokenizer.json form, which Davy needs. Choose another encoder.")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, int(pad)


def why_not_loaded(name: str, error: Exception) -> str:
    """Return why a folder or hub name could not be loaded, in one sentence."""
    if "trust_remote_code" in str(error):
        return "it brings Python code of its own, which Davy never runs. Name a model that transformers knows."
    if Path(name).expanduser().is_dir():
        return f"{str(error).splitlines()[0][:160]}. A folder needs config.json, model.safetensors and tokenizer.json."
    return "it is no folder, not in the cache, and the hub can't be reached or does not know it. Name a folder."


def load_encoder(name: str, **changes: Any) -> nn.Module:
    """Return the encoder of a local folder or hub name; `changes` override its config.

    A folder that `davy train` wrote gives its encoder, to be trained further.
    """
    from transformers import AutoConfig, AutoModel

    silence_transformers()
    path = Path(name).expanduser()
    if (path / folders.MANIFEST).is_file() and not changes:
        return _trained_encoder(path)
    where = download_options(name)
    config = AutoConfig.from_pretrained(name, **changes, **where)
    model, found = AutoModel.from_pretrained(
        name, config=config, use_safetensors=True, output_loading_info=True, **where
    )
    check_complete(name, found["missing_keys"])
    return model  # type: ignore[no-any-return]


def new_encoder(folder: Path) -> nn.Module:
    """Return the encoder whose shape a trained folder's config gives, without its weights."""
    given = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    # Before version 0.2 the config was the encoder's own.
    return encoder_from_config(given["encoder"] if given.get("model_type") == MODEL_TYPE else given)


def encoder_from_config(values: Mapping[str, Any]) -> nn.Module:
    """Return an encoder with the shape that a config's values give, without weights."""
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model(**values)
    return AutoModel.from_config(config, trust_remote_code=False)  # type: ignore[no-any-return,no-untyped-call]


def write_config(encoder: nn.Module, pooling: str, folder: Path) -> None:
    """Write the config of a trained folder: the encoder's own beneath a model type that only Davy knows."""
    config = {"model_type": MODEL_TYPE, "pooling": pooling, "encoder": encoder.config.to_dict()}  # type: ignore[union-attr,operator]
    (folder / CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def silence_transformers() -> None:
    """Silence transformers: its bars are over before they are seen, and heads without use read like a fault."""
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def check_complete(name: str, missing: Iterable[str]) -> None:
    """Raise where weights of an encoder were not found: it would start from chance and say nothing about it.

    A pooler may be missing: we have our own.
    """
    lost = sorted(key for key in missing if "pooler" not in key)
    if lost:
        raise UserError(
            f"{name} lacks {len(lost)} of its encoder's weights, such as {lost[0]}. Name an encoder that is complete."
        )


def encoder_error(name: str, error: Exception) -> UserError:
    """Return the line that says why an encoder can't be loaded, and what to do about it."""
    pickled = sorted(path for path in Path(name).expanduser().glob("*.bin"))
    if pickled:
        return UserError(
            f"No encoder {name!r}: only safetensors are loaded. Convert it once: davy model convert {pickled[0]}"
        )
    reason = str(error).splitlines()[0][:160].rstrip(".")
    return UserError(f"No encoder {name!r}: {reason}. Only safetensors are loaded; davy model convert makes them.")


def _trained_encoder(folder: Path) -> nn.Module:
    from safetensors.torch import load_file

    manifest = folders.read(folder)
    if manifest.engine != "transformer":
        raise UserError(f"{folder} is a {manifest.name!r} that can't be trained further. Name what davy train made.")
    encoder = new_encoder(folder)
    weights = {name.removeprefix("encoder."): tensor for name, tensor in load_file(folder / WEIGHTS).items()}
    encoder.load_state_dict({name: weights[name] for name in encoder.state_dict()})
    return encoder.eval()
