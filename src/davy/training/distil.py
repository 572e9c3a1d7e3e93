"""Distillation: a small student learns what its teachers say, on labelled and unlabelled posts.

Teachers are scorers of any kind that answer the student's questions. Their mean
probabilities are the student's targets; where a post has a settled answer, that
answer is mixed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from davy.core.errors import UserError
from davy.core.gold import has_gold
from davy.core.scheme import Question
from davy.core.scorer import Scorer
from davy.detectors.network import columns_of
from davy.detectors.transformer import TransformerScorer, heads_of
from davy.training import data
from davy.training.config import Config
from davy.training.data import Targets, Tokens
from davy.training.fit import FitSettings, fit
from davy.training.run_record import StepProgress
from davy.training.trainer import TrainingResult, build_network, dev_evaluation, run_identity, save_trained, schedule_of

if TYPE_CHECKING:
    import polars as pl


def shared_questions(teachers: Sequence[Scorer]) -> tuple[Question, ...]:
    """Return the questions that every teacher answers with the same labels."""
    questions = [
        question
        for question in teachers[0].questions
        if all(
            any(it.name == question.name and it.label_names == question.label_names for it in teacher.questions)
            for teacher in teachers[1:]
        )
    ]
    if not questions:
        raise UserError(
            "The teachers have no question in common with the same labels. Name teachers that agree on one."
        )
    return tuple(questions)


def teacher_targets(posts: pl.DataFrame, teachers: Sequence[Scorer], questions: tuple[Question, ...]) -> Targets:
    """Return the teachers' mean probabilities as targets; a child counts as much as its parents say yes.

    A teacher that has no answer to a post is left out of its mean; where none has one, the question weighs nothing.
    """
    heads = heads_of(questions)
    columns = columns_of(heads)
    values = np.zeros((len(posts), sum(head.labels for head in heads)), dtype=np.float32)
    answered = np.zeros((len(posts), len(heads)), dtype=np.float32)
    for teacher in teachers:
        scores = teacher.score(posts)
        for place, question in enumerate(questions):
            mask = scores.has_answer(scores.question(question.name))
            has_answer = np.ones(len(posts), dtype=bool) if mask is None else mask
            values[has_answer, columns[question.name]] += scores.probabilities[question.name][has_answer]
            answered[:, place] += has_answer
    for place, question in enumerate(questions):
        values[:, columns[question.name]] /= np.maximum(answered[:, place : place + 1], 1)
    weights = (answered > 0).astype(np.float32)
    known = {question.name: question for question in questions}

    def reached(question: Question) -> np.ndarray | float:
        """How likely the teachers' answers lead to a question, from the top down."""
        if not question.under or question.under[0] not in known:
            return 1.0
        parent = known[question.under[0]]
        led: np.ndarray = values[:, columns[parent.name]][:, question.places_in(parent)].sum(axis=1)
        return led * reached(parent)

    for place, question in enumerate(questions):
        weights[:, place] *= np.clip(reached(question) + 0.1, 0, 1)
    return Targets(heads, torch.from_numpy(values), torch.from_numpy(weights))


def mix_targets(soft: Targets, hard: Targets | None, share: float) -> Targets:
    """Return soft targets in which `share` of each settled answer's row comes from that answer."""
    if hard is None:
        return soft
    values, weights = soft.values.clone(), soft.weights.clone()
    for place, columns in enumerate(columns_of(soft.heads).values()):
        rows = hard.weights[:, place] > 0
        values[rows, columns] = (1 - share) * soft.values[rows][:, columns] + share * hard.values[rows][:, columns]
        weights[rows, place] = hard.weights[rows, place]
    return Targets(soft.heads, values, weights)


def distil(
    posts: pl.DataFrame,
    dev: pl.DataFrame | None,
    teachers: Sequence[Scorer],
    config: Config,
    folder: Path,
    *,
    hard_share: float = 0.3,
    seed: int = 1,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
    on_step: Callable[[StepProgress], None] = lambda _: None,
    publish: bool = True,
) -> TrainingResult:
    """Train a student on the posts and write it to `folder/model`, or, without `publish`, as its draft."""
    questions = shared_questions(teachers)
    for name in config.questions:
        if name not in [question.name for question in questions]:
            shared = ", ".join(question.name for question in questions)
            raise UserError(f"questions names {name!r}, which the teachers don't all answer; they share {shared}.")
    if config.questions:
        questions = tuple(question for question in questions if question.name in config.questions)
    soft = teacher_targets(posts, teachers, questions)
    settled = any(has_gold(question, posts) for question in questions)
    wanted = mix_targets(soft, data.make_targets(questions, posts, config) if settled else None, hard_share)
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = config.precision if config.precision != "auto" else ("bf16" if device == "cuda" else "fp32")
    network, reading = build_network(config, questions, posts)
    network.to(device)
    tokens = Tokens.of(reading.ids(posts["text"].fill_null("").to_list()), reading.pad, device)
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir(parents=True, exist_ok=True)
    history = fit(
        network,
        tokens,
        wanted.to(device),
        FitSettings(schedule_of(config, precision), config.batch, config.agreement, seed),
        order=lambda rng: rng.permutation(len(posts)),
        evaluate=None if dev is None else dev_evaluation(network, reading, dev, questions, config, precision),
        folder=checkpoint,
        save_every=config.save_every,
        tell=tell,
        on_step=on_step,
        identity=run_identity(
            config, seed, posts, dev, questions, teachers=[[it.name, it.version] for it in teachers], hard=hard_share
        ),
    )
    scorer = TransformerScorer(network.cpu().eval(), reading, questions, config.name)
    scorer = save_trained(scorer, posts, folder / "model", publish=publish)
    return TrainingResult(scorer, history, folder / "model", seed)
