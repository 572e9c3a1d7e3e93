"""GMHP7k's two binary tasks beside ours, with and without undersampling (its Table 7).

Posts with both of the paper's split columns in, lines out. Misogyny is measured
on all posts, neutral ones counting as not misogynistic, as in the paper.
Undersampling cuts neutral train posts to five times the misogynistic ones, for
both tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from davy import schemes
from davy.compare.gold import Gold, settled_answers
from davy.compare.metrics import (
    classification_metrics,
    confusion_with_gaps,
    macro_averages,
    macro_precision,
    macro_recall,
)
from davy.compare.papers.paper_table import NotRun, PaperRow, PaperRunner, Reproduction
from davy.compare.papers.published import load_published
from davy.compare.predictions import read_predictions
from davy.core import Metric, UserError
from davy.core.gold import fill_implied_no
from davy.core.scheme import Question, Scheme
from davy.core.scorer import Scorer
from davy.files.data_hash import data_hash
from davy.measure.intervals import Bootstrap

if TYPE_CHECKING:
    import polars as pl

SPLITS = {"hate": "split_hs", "misogynistic": "split_m_hs"}
NEUTRAL_TO_MISOGYNISTIC = 5
CUT = ", undersampling"
ENCODERS = {"GBERT-base": "deepset/gbert-base", f"GBERT-base{CUT}": "deepset/gbert-base"}
LINEAR = "TF-IDF + logistic"
ROWS = {
    "GBERT-base": "GBERT-base",
    f"GBERT-base{CUT}": f"GBERT-base{CUT}",
    LINEAR: "GBERT-base",
    LINEAR + CUT: f"GBERT-base{CUT}",
}
"""Row → the paper's row that it is set beside."""
LEARNT_FROM_VAL = ("embedded-de", "embedded", "embedded-careful")
"""Detectors that saw every published post but the test parts: a figure on val would be memory."""
FIGURES = (
    "precision.no", "precision.yes", "macro_precision", "recall.no", "recall.yes", "macro_recall",
    "f1.no", "f1.yes", "macro_f1",
)  # fmt: skip
SHORT = ("precision.yes", "recall.yes", "f1.yes", "macro_f1")
"""What the shell shows; JSON, CSV and page have all nine."""


def reproduce(
    posts: pl.DataFrame,
    runner: PaperRunner,
    *,
    seed: int = 0,
    models: Sequence[str] = (),
    bootstrap: Bootstrap | None = None,
) -> Reproduction:
    """Return Table 7 beside ours; `models` are more detectors to add as rows."""
    scheme, paper = schemes.load("gmhp7k"), load_published("gmhp7k")
    bootstrap = bootstrap or Bootstrap(seed=seed)
    posts = second_task_posts(posts)
    rows = {**ROWS, **dict.fromkeys(("embedded-de", *models), "GBERT-base")}
    lines, used = [], []
    for task in SPLITS:
        train, held, split = parts(posts, task)
        used.append(f"{task} on {split}")
        gold = _gold(held, scheme, task)
        for row, beside in rows.items():
            figures, version, why = _measured(row, task, split, train, held, gold, scheme, runner, seed, bootstrap)
            for name in FIGURES:
                ours = figures.get(name)
                figure = paper.figure(beside, task, name)
                lines.append(PaperRow(row, row, task, name, figure, ours, split if ours else "–", version, why))
    title = f"GMHP7k: the paper's GBERT on test, ours: {', '.join(used)} (fitted on train)"
    data = data_hash(posts)
    return Reproduction("gmhp7k", title, paper.source, tuple(lines), data, seed, _notes(used), paper.digits)


def second_task_posts(posts: pl.DataFrame) -> pl.DataFrame:
    """Return the posts with neutral ones answered as not misogynistic, as the paper's second task has it."""
    for column in SPLITS.values():
        if column not in posts.columns:
            raise UserError(f"The GMHP7k files have no column {column!r}. Use the published files of phases 1 to 3")
    return fill_implied_no(posts, schemes.load("gmhp7k").questions)


def parts(posts: pl.DataFrame, task: str) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """Return a task's posts to fit on and to measure on, by its own split column, and the latter's name."""
    import polars as pl

    column = pl.col(SPLITS[task])
    there = posts[SPLITS[task]].drop_nulls().unique().to_list()
    held = next((name for name in ("test", "val", "dev") if name in there), None)
    if held is None or "train" not in there:
        raise UserError(
            f"{SPLITS[task]} needs train, and test or val; it has {', '.join(map(str, there)) or 'nothing'}"
        )
    return posts.filter(column == "train"), posts.filter(column == held), held


def undersample(train: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Return the posts with neutral ones cut to five times the misogynistic ones, by chance, order kept."""
    neutral = np.flatnonzero((train["hate.gold"] == "not hateful").fill_null(value=False).to_numpy())
    most = NEUTRAL_TO_MISOGYNISTIC * int((train["misogynistic.gold"] == "misogynistic").sum())
    if len(neutral) <= most:
        return train
    dropped = np.random.default_rng(seed).choice(neutral, len(neutral) - most, replace=False)
    kept = np.ones(len(train), dtype=bool)
    kept[dropped] = False
    return train.filter(kept)


def task_metrics(gold: Gold, answers: Sequence[str | None], bootstrap: Bootstrap) -> dict[str, Metric]:
    """Return the nine figures of Table 7 for one task."""
    question = gold.question
    table = confusion_with_gaps(gold.cells, answers, question.label_names)
    found = {metric.name: metric for metric in classification_metrics(table, positive=None, bootstrap=bootstrap)}
    real = len(question.labels)
    means = {
        "macro_precision": lambda matrix: macro_precision(matrix, real),
        "macro_recall": lambda matrix: macro_recall(matrix, real),
    }
    for metric in macro_averages(table, means, bootstrap):
        found[metric.name] = metric
    for label in question.label_names:
        side = "yes" if label == question.positive else "no"
        for name in ("precision", "recall", "f1"):
            found[f"{name}.{side}"] = found.pop(f"{name}.{label}")
    return {name: found[name] for name in FIGURES}


def _measured(
    row: str, task: str, split: str, train: pl.DataFrame, held: pl.DataFrame, gold: Gold, scheme: Scheme,
    runner: PaperRunner, seed: int, bootstrap: Bootstrap,
) -> tuple[dict[str, Metric], str, str]:  # fmt: skip
    """Return a row's figures for a task, its version, and why there are none."""
    if row in LEARNT_FROM_VAL and split != "test":
        return {}, "", f"it learnt from {split} too; its card has figures on posts that it had not seen"
    try:
        key, make = _maker(row, task, train, scheme, runner, seed)
        frame = runner.scored(key, make, held)
    except NotRun as reason:
        return {}, "", str(reason)
    answers = read_predictions(row, str(key["version"]), frame, scheme).labels.get(task)
    if answers is None:
        return {}, "", "it does not answer this question"
    labels = [answers[i] for i in gold.rows]
    return task_metrics(gold, [None if it is None else it[0] for it in labels], bootstrap), str(key["version"]), ""


def _maker(
    row: str, task: str, train: pl.DataFrame, scheme: Scheme, runner: PaperRunner, seed: int
) -> tuple[dict[str, Any], Callable[[], Scorer]]:
    from davy.models.tfidf import Tfidf

    questions = (_alone(scheme.question(task)),)
    if row not in ROWS:
        scorer = runner.loaded(row)
        return {"row": row, "version": scorer.version}, lambda: scorer
    cut = undersample(train, seed=seed) if row.endswith(CUT) else train
    if row in ENCODERS:
        scorer = runner.trained(row, "gmhp7k", cut, None, questions, seed)
        return {"row": row, "task": task, "version": scorer.version}, lambda: scorer
    plain = Tfidf(questions)
    version = f"seed {seed}, train {data_hash(cut)}"
    return {"row": row, "settings": repr(plain), "version": version}, lambda: plain.fit(cut, seed=seed)


def _alone(question: Question) -> Question:
    """Return a child question as one that is asked about every post."""
    from dataclasses import replace

    return replace(question, under=None)


def _gold(held: pl.DataFrame, scheme: Scheme, task: str) -> Gold:
    columns = {name: f"{name}.gold" for name in SPLITS}
    return settled_answers(held, scheme, columns, file="GMHP7k", questions=[task], everywhere=True)[0]


def _notes(used: Sequence[str]) -> tuple[str, ...]:
    absent = "A test split is not in the data, so only large differences from the paper's count."
    return (
        *([] if all(it.endswith("test") for it in used) else [absent]),
        "The two tasks have splits of their own: a post may be in one task's train and the other's held-out part.",
        "What an embedded detector learnt from is in its model card (davy model show NAME).",
    )
