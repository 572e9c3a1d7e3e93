"""Detectors that learn without an encoder: which there are, their settings, and how one is made.

A kind and settings in, as values or as text, an unfitted scorer out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.gold import targets
from davy.core.scheme import Question
from davy.core.votes import one_row_a_vote
from davy.files.atomic import new_draft
from davy.measure.classification import macro_f1_of_tables
from davy.training.config import Config
from davy.training.run_record import History

if TYPE_CHECKING:
    from davy.core.scorer import Scorer

BASELINES: Mapping[str, str] = {
    "tfidf": "davy.detectors.tfidf:Tfidf",
    "xgboost": "davy.detectors.gradient_boosting:GradientBoosting",
    "majority": "davy.detectors.baselines:Majority",
}
_OURS = ("questions", "name", "version", "abilities")
_OF_EVERY_KIND = ("name", "scheme", "questions", "seeds", "soft", "over", "under")
"""Fields of a config that say what is learnt, not how."""


def known_settings(kind: str) -> dict[str, Any]:
    """Return the settings that a kind has, with their usual values."""
    own = [each for each in fields(resolve_name(BASELINES[kind])) if not each.name.endswith("_")]
    return {each.name: each.default for each in own if each.name not in _OURS}


def make_baseline(kind: str, questions: tuple[Question, ...], name: str, settings: Mapping[str, Any]) -> Any:
    """Return a baseline to fit; a setting that it does not have is an error."""
    known = list(known_settings(kind))
    for setting in settings:
        if setting not in known:
            own = f"its settings are {', '.join(known)}" if known else "it has no settings"
            raise UserError(f"{kind} has no setting {setting!r}; {own}.{nearest(setting, known)}")
    return resolve_name(BASELINES[kind])(questions, name=name, **settings)


def take_settings(kind: str, changes: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings of a kind among changes given as text, and the other changes."""
    if kind not in BASELINES:
        return {}, dict(changes)
    usual = known_settings(kind)
    numbers = {name: value for name, value in usual.items() if isinstance(value, int | float)}
    for name in changes:
        if name not in numbers and name not in _OF_EVERY_KIND:
            own = f"its settings are {', '.join(numbers)}" if numbers else "it has no settings"
            raise UserError(f"--set {name}: {kind} has no such setting; {own}.{nearest(name, list(numbers))}")
    settings = {name: _parsed(name, changes[name], numbers[name]) for name in numbers if name in changes}
    return settings, {name: value for name, value in changes.items() if name not in settings}


def _parsed(name: str, text: str, usual: float) -> float:
    """Return a setting's value in a text, of the type of its usual value."""
    if isinstance(usual, bool):
        if text.casefold() not in ("true", "false"):
            raise UserError(f"--set {name}={text}: {name} is true or false.")
        return text.casefold() == "true"
    try:
        value = type(usual)(text)
    except ValueError:
        raise UserError(f"--set {name}={text}: {name} is a number, such as {usual}.") from None
    if not 0 < value < float("inf"):
        raise UserError(f"--set {name}={text}: {name} is above 0.")
    return value


def fit_baseline(
    kind: str,
    posts: pl.DataFrame,
    dev: pl.DataFrame | None,
    questions: tuple[Question, ...],
    config: Config,
    folder: Path,
    *,
    seed: int,
    settings: Mapping[str, Any] | None = None,
) -> History:
    """Fit a baseline and write the draft of `folder/model`; return the figures on dev as a history of one epoch."""
    began = time.monotonic()
    learn = one_row_a_vote(posts, questions) if config.soft else posts
    scorer = make_baseline(kind, questions, config.name, settings or {}).fit(learn, seed=seed)
    scorer.save(new_draft(folder / "model"))
    record: dict[str, Any] = {"epoch": 1, "seconds": round(time.monotonic() - began, 1)}
    figures = {} if dev is None else macro_f1s(scorer, dev)
    if figures:
        record |= {**figures, "score": float(np.mean(list(figures.values())))}
    return History([record], best=0 if figures else -1)


def macro_f1s(scorer: Scorer, posts: pl.DataFrame) -> dict[str, float]:
    """Return macro-F1 for each question over the labels that occur, on the posts that have an answer."""
    scores = scorer.score(posts)
    figures = {}
    for question, rows, table in targets(tuple(scorer.questions), posts):
        chosen = scores.chosen(question.name)
        gold = table > 0
        picks = np.array([[label in chosen[row] for label in question.label_names] for row in rows], dtype=bool)
        figures[question.name] = round(macro_f1_of_tables(gold, picks), 4)
    return figures
