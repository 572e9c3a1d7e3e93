"""GMHP7k's two binary tasks beside ours, with and without undersampling (its Table 7).

Posts with both of the paper's split columns in, lines out. Misogyny is measured
on all posts, neutral ones counting as not misogynistic, as in the paper.
Undersampling cuts neutral train posts to five times the misogynistic ones, for
both tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from davy import schemes
from davy.core import Metric, UserError
from davy.core.gold import fill_implied_no
from davy.core.scheme import Question, Scheme
from davy.core.scorer import Scorer
from davy.corpus.gold import Gold, settled_answers
from davy.evaluation.metrics import (
    classification_metrics,
    confusion_with_gaps,
    macro_averages,
    macro_precision,
    macro_recall,
)
from davy.evaluation.predictions import read_predictions
from davy.evaluation.reproduce.paper_rows import PaperRows
from davy.evaluation.reproduce.paper_table import (
    NotRun,
    PaperRow,
    Reproduction,
    load_published,
    refuse_learnt,
    row_name,
)
from davy.files.data_hash import data_hash
from davy.measure.intervals import Bootstrap
from davy.measure.ranking import ranking
from davy.report import Column, Table

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
FIGURES = (
    "precision.no", "precision.yes", "macro_precision", "recall.no", "recall.yes", "macro_recall",
    "f1.no", "f1.yes", "macro_f1", "auroc",
)  # fmt: skip
TABLE_7 = {"Prec.": "precision", "Rec.": "recall", "F1": "f1"}


def reproduce(
    posts: pl.DataFrame,
    runner: PaperRows,
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
        train, choose, held, split = parts(posts, task)
        used.append(f"{task} on {split}")
        gold = _gold(held, scheme, task)
        for row, beside in rows.items():
            figures, version, why = _measured(row, task, train, choose, held, gold, scheme, runner, seed, bootstrap)
            for name in FIGURES:
                ours = figures.get(name)
                figure = paper.figure(beside, task, name)
                ran = runner.ran(row) if row in ENCODERS and ours else ""
                lines.append(PaperRow(row, row, task, name, figure, ours, split if ours else "–", version, why, ran))
    title = f"GMHP7k: the paper's GBERT on test, ours: {', '.join(used)} (fitted on train)"
    data = data_hash(posts)
    made = Reproduction("gmhp7k", title, paper.source, tuple(lines), data, seed, _notes(used), paper.digits)
    return replace(made, layout=(table_7(made), confusion_shares(made)))


def table_7(reproduction: Reproduction) -> Table:
    """Return the figures as the paper's Table 7 has them, ours first and the paper's in brackets; AUC below."""
    figures = {(line.row, line.task, line.figure): line for line in reproduction.lines}
    columns = [Column("model"), Column("metr.")]
    columns += [Column(f"{short} {name}") for short in ("HS", "MHS") for name in ("0", "1", "mac. avg.")]
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(map(row_name, reproduction.lines)):
        row = next(line.row for line in reproduction.lines if row_name(line) == name)
        for short, figure in TABLE_7.items():
            names = (f"{figure}.no", f"{figure}.yes", f"macro_{figure}")
            rows.append((name, short, *(_cell(figures[row, task, each]) for task in SPLITS for each in names)))
            name = ""
        area = [("", "", _cell(figures[row, task, "auroc"])) for task in SPLITS]
        rows.append(("", "AUC", *area[0], *area[1]))
    note = "Ours, and the paper's in brackets. HS: hatespeech, MHS: misogynistic hatespeech; 1 is the yes."
    return Table.of(columns, rows, title="Table 7", note=note)


def confusion_shares(reproduction: Reproduction) -> Table:
    """Return the confusion matrices in per cent of the gold label (Fig. 4); the paper's follow from its recalls."""
    figures = {(line.row, line.task, line.figure): line for line in reproduction.lines}
    columns = [Column("model"), Column("gold"), *(Column(f"{s} predicted {p}") for s in ("HS", "MHS") for p in (0, 1))]
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(map(row_name, reproduction.lines)):
        row = next(line.row for line in reproduction.lines if row_name(line) == name)
        for label, side in (("0", "no"), ("1", "yes")):
            cells: list[str] = []
            for task in SPLITS:
                line = figures[row, task, f"recall.{side}"]
                right, wrong = _share(line), _share(line, turned=True)
                cells += (right, wrong) if side == "no" else (wrong, right)
            rows.append((name if side == "no" else "", label, *cells))
    return Table.of(columns, rows, title="Figure 4: confusion in % of the gold label", note="Ours (the paper's).")


def _cell(line: PaperRow) -> str:
    ours = "–" if line.ours is None or line.ours.value is None else f"{line.ours.value:.2f}"
    return ours if line.paper is None else f"{ours} ({line.paper:.2f})"


def _share(line: PaperRow, *, turned: bool = False) -> str:
    def percent(value: float | None) -> str:
        return "–" if value is None else f"{100 * (1 - value if turned else value):.0f} %"

    ours = percent(None if line.ours is None else line.ours.value)
    return ours if line.paper is None else f"{ours} ({percent(line.paper)})"


def second_task_posts(posts: pl.DataFrame) -> pl.DataFrame:
    """Return the posts with neutral ones answered as not misogynistic, as the paper's second task has it."""
    for column in SPLITS.values():
        if column not in posts.columns:
            raise UserError(f"The GMHP7k files have no column {column!r}. Use the published files of phases 1 to 3")
    return fill_implied_no(posts, schemes.load("gmhp7k").questions)


def parts(posts: pl.DataFrame, task: str) -> tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame, str]:
    """Return a task's posts to fit on, to choose by and to measure on, by its own split column, and the latter's name.

    Val chooses the checkpoint, as in the paper; None where val is what is measured.
    """
    import polars as pl

    column = pl.col(SPLITS[task])
    splits = posts[SPLITS[task]].drop_nulls().unique().to_list()
    held = next((name for name in ("test", "val", "dev") if name in splits), None)
    if held is None or "train" not in splits:
        raise UserError(
            f"{SPLITS[task]} needs train, and test or val; it has {', '.join(map(str, splits)) or 'nothing'}"
        )
    choose = posts.filter(column == "val") if held == "test" and "val" in splits else None
    return posts.filter(column == "train"), choose, posts.filter(column == held), held


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


def task_metrics(
    gold: Gold, answers: Sequence[str | None], bootstrap: Bootstrap, scores: Sequence[float | None] = ()
) -> dict[str, Metric]:
    """Return the nine figures of Table 7 for one task, and the area under the curve where scores are given."""
    question = gold.question
    table = confusion_with_gaps(gold.cells, answers, question.label_names)
    metrics = {metric.name: metric for metric in classification_metrics(table, positive=None, bootstrap=bootstrap)}
    real = len(question.labels)
    means = {
        "macro_precision": lambda matrix: macro_precision(matrix, real),
        "macro_recall": lambda matrix: macro_recall(matrix, real),
    }
    for metric in macro_averages(table, means, bootstrap):
        metrics[metric.name] = metric
    for label in question.label_names:
        side = "yes" if label == question.positive else "no"
        for name in ("precision", "recall", "f1"):
            metrics[f"{name}.{side}"] = metrics.pop(f"{name}.{label}")
    if scores and None not in scores:
        yes = [cell == question.positive for cell in gold.cells]
        metrics |= {
            metric.name: metric for metric in ranking(yes, [float(s or 0) for s in scores], bootstrap=bootstrap)
        }
    return {name: metrics[name] for name in FIGURES if name in metrics}


def _measured(
    row: str, task: str, train: pl.DataFrame, choose: pl.DataFrame | None, held: pl.DataFrame, gold: Gold,
    scheme: Scheme, runner: PaperRows, seed: int, bootstrap: Bootstrap,
) -> tuple[dict[str, Metric], str, str]:  # fmt: skip
    """Return a row's figures for a task, its version, and why there are none."""
    try:
        key, make = _maker(row, task, train, choose, held, scheme, runner, seed)
        frame = runner.scored(key, make, held)
    except NotRun as reason:
        return {}, "", str(reason)
    read = read_predictions(row, str(key["version"]), frame, scheme)
    answers, yes = read.labels.get(task), read.yes.get(task)
    if answers is None:
        return {}, "", "it does not answer this question"
    labels = [None if answers[i] is None else (answers[i] or ("",))[0] for i in gold.rows]
    scores = [] if yes is None else [yes[i] for i in gold.rows]
    return task_metrics(gold, labels, bootstrap, scores), str(key["version"]), ""


def _maker(
    row: str,
    task: str,
    train: pl.DataFrame,
    choose: pl.DataFrame | None,
    held: pl.DataFrame,
    scheme: Scheme,
    runner: PaperRows,
    seed: int,
) -> tuple[dict[str, Any], Callable[[], Scorer]]:
    from davy.detectors.tfidf import Tfidf

    questions = (_alone(scheme.question(task)),)
    if row not in ROWS:
        scorer = runner.loaded(row)
        refuse_learnt(scorer, held)
        return {"row": row, "version": scorer.version}, lambda: scorer
    cut = undersample(train, seed=seed) if row.endswith(CUT) else train
    if row in ENCODERS:
        scorer = runner.trained(row, "gmhp7k", cut, choose, questions, seed)
        return {"row": row, "task": task, "version": scorer.version}, lambda: scorer
    plain = Tfidf(questions)
    version = f"seed {seed}, train {data_hash(cut)}"
    return {"row": row, "settings": repr(plain), "version": version}, lambda: plain.fit(cut, seed=seed)


def _alone(question: Question) -> Question:
    """Return a child question as one that is asked about every post."""
    return replace(question, under=None)


def _gold(held: pl.DataFrame, scheme: Scheme, task: str) -> Gold:
    columns = {name: f"{name}.gold" for name in SPLITS}
    return settled_answers(held, scheme, columns, file="GMHP7k", questions=[task], everywhere=True)[0]


def _notes(used: Sequence[str]) -> tuple[str, ...]:
    absent = "A test split is not in the data, so only large differences from the paper's count."
    return (
        *([] if all(it.endswith("test") for it in used) else [absent]),
        "The two tasks have splits of their own: a post may be in one task's train and the other's held-out part.",
        "A detector that learnt from the posts is not measured on them; what it learnt from is in its model card.",
    )
