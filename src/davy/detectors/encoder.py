"""Encoders and tokenizers of a folder or of the Hugging Face hub, and how texts become token ids.

A name in; a torch encoder, or a tokenizer with what it pads with, out. Only safetensors are read, and no Python that
lies beside them is ever run: a pickle or a module would run a stranger's code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.detectors import folder as folders
from davy.detectors import hub
from davy.detectors.bertweet import make_fast_tokenizer
from davy.detectors.preprocessing import prepare_text
from davy.detectors.token_batches import CHARACTERS_PER_TOKEN, cut

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import nn

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
            loaded = AutoTokenizer.from_pretrained(name, **hub.download_options(name))
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
    where = hub.download_options(name)
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
