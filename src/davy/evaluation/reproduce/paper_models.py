"""The transformer rows of `davy reproduce`: pre-train further where the row wants it, fine-tune, remember the folder.

A row's encoder and the corpus's train part in, a scorer out. Folders are kept in the
cache by everything that they depend on, so that a second run only reads them, and a
run that was killed goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import hold_out
from davy.training.train import StepReporter, note_epoch

if TYPE_CHECKING:
    import polars as pl

    from davy.core.scheme import Question
    from davy.core.scorer import Scorer
    from davy.training.config import Config

CHOOSE = 0.1
"""The share of train that chooses the checkpoint where there is no dev part to do so."""


def fine_tune(
    row: str,
    recipe: str,
    encoder: str,
    train: pl.DataFrame,
    choose: pl.DataFrame | None,
    questions: tuple[Question, ...],
    *,
    seed: int,
    changes: Mapping[str, str],
    reporter: Reporter = SILENT,
) -> Scorer:
    """Return the encoder fine-tuned by the recipe's config; the checkpoint is never chosen on what is measured."""
    from davy.detectors.load import open_folder
    from davy.training.config import load_config
    from davy.training.trainer import train as trained

    # Undersampling is the row's business: it comes with posts that are cut already.
    config = replace(load_config(recipe, changes), encoder=encoder, under={}, seeds=(seed,))
    learn, judge = (train, choose) if choose is not None else hold_out(train, CHOOSE, seed)
    asked = [question.name for question in questions]
    folder = cache_path("models", row, _settings(config), _hash(learn, asked), _hash(judge, asked), asked)
    if not (folder / "model" / "manifest.json").is_file():
        reporter.note(f"{row}: fine-tuning {encoder} on {len(learn):,} posts ({', '.join(asked)}) …")
        reporter.begin(f"Fine-tuning {row}", 100)
        with StepReporter(reporter, folder) as on_step:
            trained(learn, judge, questions, config, folder, seed=seed, tell=note_epoch(reporter), on_step=on_step)
        reporter.end()
    return open_folder(folder / "model")


def pretrain_further(
    row: str, encoder: str, texts: Sequence[str], *, seed: int, changes: Mapping[str, str], reporter: Reporter = SILENT
) -> str:
    """Return the folder of an encoder that has guessed hidden words in these texts."""
    from davy.training.config import from_values, with_changes
    from davy.training.pretrain import pretrain

    own = {name: value for name, value in changes.items() if name in ("epochs", "batch", "max_length", "precision")}
    config = with_changes(
        from_values({"name": "pretrained", "encoder": encoder, "rate": 5e-5, "epochs": 1}, "the defaults"), own
    )
    digest = hashlib.sha256("\x1e".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    folder = cache_path("encoders", row, _settings(config), digest, seed)
    if not (folder / "tokenizer.json").is_file():
        reporter.note(f"{row}: {encoder} reads {len(texts):,} posts first …")
        with StepReporter(reporter, folder) as on_step:
            pretrain(texts, config, folder, seed=seed, tell=note_epoch(reporter), on_step=on_step)
    return str(folder)


def cache_path(kind: str, row: str, *depends: Any) -> Path:
    """Return the folder of the cache for something that depends on all this."""
    from davy.detectors.cache import cache_folder

    digest = hashlib.sha256(json.dumps([row, *depends], sort_keys=True, default=str).encode()).hexdigest()
    return cache_folder() / "reproduce" / kind / digest[:16]


def _settings(config: Config) -> dict[str, Any]:
    return asdict(config)


def _hash(posts: pl.DataFrame, asked: Sequence[str]) -> str:
    from davy.files.data_hash import rows_hash

    return rows_hash(posts.select("text", *(f"{name}.gold" for name in asked)), ordered=True)
