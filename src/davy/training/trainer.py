"""Fine-tune an encoder on posts with settled answers: one run from config to model folder.

Posts, dev posts and a config in; a model folder for each seed, with its record, out.
A run that was killed goes on from its last checkpoint when it is started again with
the same folder, and ends with the weights that it would have had. An encoder without
emoji gets a token for every emoji that the texts use, each starting as the mean of
the word pieces of its Unicode name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Abilities
from davy.detectors.encoder import TextTokenizer, encoder_error, load_encoder, load_tokenizer
from davy.detectors.network import Network, columns_of
from davy.detectors.training_text_index import write_learnt
from davy.detectors.transformer import TransformerScorer, heads_of
from davy.files.atomic import new_draft, publish_draft
from davy.files.data_hash import data_hash
from davy.measure.classification import macro_f1_of_tables
from davy.text import emoji as emojis
from davy.training.config import Config
from davy.training.data import Targets, Tokens, epoch_order, make_targets
from davy.training.data_map import DYNAMICS_FOLDER, DynamicsRecorder
from davy.training.fit import FitSettings, fit, masked_loss, predict
from davy.training.loop import Schedule
from davy.training.processes import process_group
from davy.training.run_record import History, StepProgress

if TYPE_CHECKING:
    import polars as pl
    from tokenizers import Tokenizer


def add_tokens(tokenizer: Tokenizer, encoder: nn.Module, texts: Iterable[str]) -> int:
    """Add a token for each emoji that the tokenizer can't read; return how many were added."""
    from tokenizers import AddedToken

    unknown = sorted({found.emoji for text in texts if not text.isascii() for found in emojis.find(text)})
    new = [emoji for emoji in unknown if not _readable(tokenizer, emoji)]
    if not new:
        return 0
    names = [tokenizer.encode(emojis.name(emoji).replace(":", " "), add_special_tokens=False).ids for emoji in new]
    first = tokenizer.get_vocab_size()
    tokenizer.add_tokens([AddedToken(emoji, normalized=False, special=False) for emoji in new])
    old = encoder.get_input_embeddings().weight.detach().clone()  # type: ignore[operator]
    encoder.resize_token_embeddings(tokenizer.get_vocab_size(), mean_resizing=False)  # type: ignore[operator]
    table = encoder.get_input_embeddings().weight  # type: ignore[operator]
    with torch.no_grad():
        for row, ids in enumerate(names, start=first):
            table[row] = old[ids].mean(0) if ids else old.mean(0)
    return len(new)


def _readable(tokenizer: Tokenizer, emoji: str) -> bool:
    """Return whether the tokenizer has pieces for an emoji, none of them the unknown one."""
    tokens = tokenizer.encode(emoji, add_special_tokens=False).tokens
    return bool(tokens) and not any(token in ("[UNK]", "<unk>") for token in tokens)


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What one seed gave: the scorer, what happened, and where it is."""

    scorer: TransformerScorer
    history: History
    folder: Path
    seed: int


def train(
    posts: pl.DataFrame,
    dev: pl.DataFrame | None,
    questions: tuple[Question, ...],
    config: Config,
    folder: Path,
    *,
    seed: int,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
    on_step: Callable[[StepProgress], None] = lambda _: None,
    dynamics: bool = False,
    publish: bool = True,
) -> TrainingResult:
    """Train one model and write it to `folder/model`; checkpoints live in `folder/checkpoint`.

    With `dynamics`, what the network thinks of each post after every epoch is written to `folder/dynamics`. Without
    `publish`, the model stays the draft of `folder/model`, for the caller to finish.
    """
    torch.manual_seed(seed)
    us = process_group()
    device = us.device.partition(":")[0]
    precision = config.precision if config.precision != "auto" else ("bf16" if device == "cuda" else "fp32")
    network, reading = build_network(config, questions, posts)
    network.to(us.device)
    tokens = Tokens.of(reading.ids(posts["text"].fill_null("").to_list()), reading.pad, us.device)
    wanted = make_targets(questions, posts, config).to(us.device)
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir(parents=True, exist_ok=True)
    recorder = DynamicsRecorder(network, tokens, wanted, folder / DYNAMICS_FOLDER, config.batch, precision)
    history = fit(
        network,
        tokens,
        wanted,
        FitSettings(schedule_of(config, precision), config.batch, config.agreement, seed),
        order=epoch_order(questions, posts, config),
        evaluate=None if dev is None else dev_evaluation(network, reading, dev, questions, config, precision),
        folder=checkpoint,
        save_every=config.save_every,
        tell=tell,
        on_step=on_step,
        team=us,
        identity=run_identity(config, seed, posts, dev, questions),
        on_epoch=recorder if dynamics else None,
    )
    abilities = Abilities(data_hash=data_hash(posts))
    scorer = TransformerScorer(network.cpu().eval(), reading, questions, config.name, abilities=abilities)
    if us.is_main:
        scorer = save_trained(scorer, posts, folder / "model", publish=publish)
    us.wait()
    return TrainingResult(scorer, history, folder / "model", seed)


def save_trained(scorer: TransformerScorer, posts: pl.DataFrame, folder: Path, *, publish: bool) -> TransformerScorer:
    """Write a scorer, with what it learnt from, as a folder or as its draft; return it with its version."""
    draft = new_draft(folder)
    write_learnt(draft, posts["text"])
    manifest = scorer.save(draft)
    if publish:
        publish_draft(draft, folder)
    return replace(scorer, version=manifest.version)


def run_identity(
    config: Config,
    seed: int,
    posts: pl.DataFrame,
    dev: pl.DataFrame | None,
    questions: tuple[Question, ...],
    **more: Any,
) -> dict[str, Any]:
    """Return what a run's weights depend on, for its checkpoints."""
    hashes = [None if frame is None else data_hash(frame, ordered=True) for frame in (posts, dev)]
    data = {"posts": hashes[0], "dev posts": hashes[1]}
    asked = [[question.name, *question.label_names] for question in questions]
    return {**config.identity(), "seed": seed, "heads": asked, **data, **more}


def build_network(
    config: Config, questions: tuple[Question, ...], posts: pl.DataFrame
) -> tuple[Network, TextTokenizer]:
    """Return the untrained network and how it reads: encoder, heads, tokenizer, and emoji as the config wants them."""
    if not config.encoder:
        raise UserError("No encoder: name a folder or a hub name with --encoder, such as distilbert-base-uncased.")
    tokenizer, pad = load_tokenizer(config.encoder)
    try:
        encoder = load_encoder(config.encoder)
    except (OSError, ValueError, KeyError) as error:
        raise encoder_error(config.encoder, error) from error
    if tokenizer.get_vocab_size() > encoder.get_input_embeddings().weight.shape[0]:  # type: ignore[operator]
        encoder.resize_token_embeddings(tokenizer.get_vocab_size())  # type: ignore[operator]
    if config.emoji == "tokens":
        add_tokens(tokenizer, encoder, posts["text"].fill_null("").to_list())
    places = int(getattr(encoder.config, "max_position_embeddings", 0) or 512)
    steps = ("emoji names",) if config.emoji == "names" else ()
    reading = TextTokenizer(tokenizer, min(config.max_length, places - 2), pad, steps)
    return Network(encoder, heads_of(questions), pooling=config.pooling, dropout=config.dropout), reading


def schedule_of(config: Config, precision: str) -> Schedule:
    """Return the loop's schedule for a config."""
    return Schedule(
        epochs=config.epochs,
        rate=config.rate,
        head_rate=config.head_rate,
        layer_decay=config.layer_decay,
        warmup=config.warmup,
        weight_decay=config.weight_decay,
        average=config.average,
        patience=config.patience,
        precision=precision,
        accumulate=config.accumulate,
    )


def dev_evaluation(
    network: Network,
    reading: TextTokenizer,
    dev: pl.DataFrame,
    questions: tuple[Question, ...],
    config: Config,
    precision: str,
) -> Callable[[], dict[str, Any]]:
    """Return the function that measures dev: loss, macro-F1 for each question, and the score that chooses."""
    device = next(network.parameters()).device
    tokens = Tokens.of(reading.ids(dev["text"].fill_null("").to_list()), reading.pad, device)
    wanted = make_targets(questions, dev, replace(config, class_weights="none", soft=False)).to(device)

    def measured() -> dict[str, Any]:
        logits = predict(network, tokens, batch=max(32, config.batch), precision=precision)
        loss = float(masked_loss(logits, wanted.values, wanted.weights, wanted.heads))
        figures = macro_f1s(logits, wanted)
        best = float(np.mean(list(figures.values()))) if figures else 0.0
        return {"dev loss": round(loss, 5), **figures, "score": -loss if config.choose_by == "loss" else best}

    return measured


def macro_f1s(logits: torch.Tensor, wanted: Targets) -> dict[str, float]:
    """Return macro-F1 for each head over the labels that occur, on the posts that have an answer."""
    scores = {}
    for place, (head, columns) in enumerate(zip(wanted.heads, columns_of(wanted.heads).values(), strict=True)):
        rows = wanted.weights[:, place] > 0
        if not bool(rows.any()):
            continue
        gold, block = wanted.values[rows][:, columns] > 0.5, logits[rows][:, columns]
        pick = block > 0 if head.multilabel else torch.nn.functional.one_hot(block.argmax(1), head.labels) > 0
        scores[head.name] = round(macro_f1_of_tables(gold.cpu().numpy(), pick.cpu().numpy()), 4)
    return scores
