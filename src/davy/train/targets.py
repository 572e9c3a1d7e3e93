"""Settled answers as what a network should say, with weights, and the order of an epoch.

A frame with `Q.gold` columns in; `Targets` and a function that draws an epoch's rows
out. Answers that a post does not have weigh nothing; over- and undersampling happen
in the order, so that no post is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.models.gold import targets as gold_targets
from davy.models.transformer import heads_of
from davy.train.config import Config
from davy.train.data import Targets

if TYPE_CHECKING:
    import polars as pl


def make(questions: tuple[Question, ...], posts: pl.DataFrame, config: Config) -> Targets:
    """Return what each head should say about each post, weighted by question and, if asked for, by class."""
    found = Targets.empty(heads_of(questions), len(posts))
    answered: dict[str, dict[int, set[int]]] = {}
    for question, rows, table in gold_targets(questions, posts):
        weight = np.full(len(rows), float(config.weights.get(question.name, 1.0)), dtype=np.float32)
        if config.class_weights != "none" and question.kind != "many":
            counts = table.sum(axis=0).clip(1)
            power = 1.0 if config.class_weights == "balanced" else 0.5
            weight *= ((counts.sum() / ((table.sum(axis=0) > 0).sum() * counts)) ** power)[table.argmax(axis=1)]
        if config.consistent and question.under and question.under[0] in answered:
            weight[~_reached(question, rows, answered[question.under[0]], questions)] = 0.0
        found.answer(question.name, torch.from_numpy(rows), torch.from_numpy(table), torch.from_numpy(weight))
        answered[question.name] = {int(r): set(np.flatnonzero(line)) for r, line in zip(rows, table, strict=True)}
    return found


def _reached(
    question: Question, rows: np.ndarray, above: dict[int, set[int]], questions: tuple[Question, ...]
) -> np.ndarray:
    """Return which posts' parent answer leads to the question; a post without one counts as reached."""
    assert question.under is not None
    parent = next(it for it in questions if it.name == question.under[0])
    needed = {parent.label_names.index(name) for name in question.under[1]}
    return np.array([bool(above.get(int(row), needed) & needed) for row in rows])


def order(
    questions: tuple[Question, ...], posts: pl.DataFrame, config: Config
) -> Callable[[np.random.Generator], np.ndarray]:
    """Return the function that draws an epoch: rows that stand several times, and fewer noes where asked for."""
    times = np.ones(len(posts), dtype=np.int64)
    for key, factor in config.over.items():
        times[_matching(key, posts)] = int(factor)
    cuts = [_cut(name, ratio, questions, posts) for name, ratio in config.under.items()]

    def draw(rng: np.random.Generator) -> np.ndarray:
        kept = np.ones(len(posts), dtype=bool)
        for noes, most in cuts:
            if len(noes) > most:
                kept[rng.choice(noes, len(noes) - most, replace=False)] = False
        rows = np.flatnonzero(kept)
        return rng.permutation(np.repeat(rows, times[rows]))

    return draw


def _matching(key: str, posts: pl.DataFrame) -> np.ndarray:
    name, equals, label = key.partition("=")
    column = f"{name}.gold" if equals else "source"
    if column not in posts.columns:
        raise UserError(f"over names {key!r}, but the posts have no column {column!r}.")
    wanted = label if equals else name
    return np.array([wanted in str(value or "").split("|") for value in posts[column].to_list()])


def _cut(name: str, ratio: float, questions: tuple[Question, ...], posts: pl.DataFrame) -> tuple[np.ndarray, int]:
    """Return the rows that say no to a question and how many of them an epoch takes."""
    question = next((it for it in questions if it.name == name), None)
    if question is None or question.positive is None:
        raise UserError(f"under names {name!r}, which is no yes/no question of this run.")
    gold = np.array(posts[f"{name}.gold"].fill_null("").to_list())
    yes = gold == question.positive
    return np.flatnonzero(~yes), int(ratio * yes.sum())
