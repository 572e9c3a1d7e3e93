"""EDOS's baselines beside ours: tasks A (sexist), B (category) and C (vector), macro-F1 (its Table 3).

Posts with their splits in, lines out. Everything is fitted on train; figures are
on test where that is present, else on dev, and every line says which. B and C
are measured on the sexist posts, as in the challenge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from davy import schemes
from davy.core import UserError
from davy.core.errors import nearest
from davy.core.scorer import Abilities, Scorer, TrainableScorer
from davy.corpus.gold import settled_answers
from davy.evaluation.evaluate import Evaluation, evaluate
from davy.evaluation.predictions import Predictions, read_predictions
from davy.evaluation.reproduce.paper_rows import PaperRows
from davy.evaluation.reproduce.paper_table import (
    NotRun,
    PaperRow,
    Reproduction,
    load_published,
    refuse_learnt,
)
from davy.files.data_hash import data_hash
from davy.measure.intervals import Bootstrap

if TYPE_CHECKING:
    import polars as pl

TASKS = {"A": "sexist", "B": "category", "C": "vector"}
ENCODERS = {"B3": "distilbert-base-uncased", "B4": None, "B5": "microsoft/deberta-v3-base", "B6": None}
"""What each transformer row starts from; B4 and B6 need an encoder that was pre-trained further on unlabelled posts."""
LINEAR = "TF-IDF + logistic"
LIKELY = "B2, words numbered anew"
BEST = "best submission"
DETECTORS = ("embedded-en", "embedded-en-large")


def reproduce(
    posts: pl.DataFrame,
    runner: PaperRows,
    *,
    seed: int = 0,
    models: Sequence[str] = (),
    likely: bool = False,
    only: Sequence[str] = (),
    bootstrap: Bootstrap | None = None,
) -> Reproduction:
    """Return Table 3 beside ours; `models` are more detectors to add as rows, `only` names the rows to run.

    With `likely`, B2 is there once more as the paper may have run it: see `NumberedWords`.
    """
    import polars as pl

    scheme, paper = schemes.load("edos"), load_published("edos")
    train, held, split = parts(posts)
    choose = posts.filter(pl.col("split") == "dev") if split == "test" else None
    columns = {question: f"{question}.gold" for question in TASKS.values()}
    golds = settled_answers(held, scheme, columns, file="EDOS")
    hashes = {"train": data_hash(train, columns), "held": data_hash(held, columns)}
    detectors: dict[str, Predictions] = {}
    missing: dict[str, str] = {}
    ours = (*([LIKELY] if likely else []), LINEAR, *DETECTORS, *models)
    rows = _selected_rows(
        {**paper.what, **{name: name for name in ours}}, [*only, *([LIKELY] if only and likely else [])]
    )
    for row in rows:
        if row == BEST:
            continue
        try:
            key, make = _maker(row, train, held, choose, hashes, runner, seed)
            frame = runner.scored(key, make, held)
        except NotRun as reason:
            missing[row] = str(reason)
            continue
        detectors[row] = read_predictions(row, str(key["version"]), frame, scheme)
    if not detectors:
        raise UserError(
            "None of these rows can be run here. " + "; ".join(f"{row}: {why}" for row, why in missing.items())
        )
    evaluation = evaluate(
        golds, list(detectors.values()), title="EDOS", data=hashes["held"], bootstrap=bootstrap, tests=False
    )
    ran = {row: runner.ran(row) for row in ENCODERS if row in detectors}
    lines = tuple(_lines(rows, evaluation, missing, split, ran))
    title = f"EDOS, macro-F1: the paper's on test, ours on {split} (fitted on train)"
    return Reproduction("edos", title, paper.source, lines, hashes["held"], seed, _notes(split), paper.digits)


def _selected_rows(rows: dict[str, str], only: Sequence[str]) -> dict[str, str]:
    for row in only:
        if row not in rows:
            raise UserError(
                f"There is no row {row!r} (--row); the rows are {', '.join(rows)}.{nearest(row, list(rows))}"
            )
    return {row: what for row, what in rows.items() if not only or row in only}


def _lines(
    rows: Mapping[str, str], evaluation: Evaluation, missing: Mapping[str, str], split: str, ran: Mapping[str, str]
) -> Iterator[PaperRow]:
    paper = load_published("edos")
    models = {(result.question.name, model.name): model for result in evaluation.results for model in result.models}
    for task, question in TASKS.items():
        for row, what in rows.items():
            model = models.get((question, row))
            ours = None if model is None else model.report["macro_f1"]
            figure = paper.figure("B2" if row == LIKELY else row, task, "macro_f1")
            why = "" if row == BEST else missing.get(row, "it does not answer this question")
            yield PaperRow(row, what, f"{task} {question}", "macro_f1", figure, ours, split if ours else "–",
                           model.version if model else "", "" if ours else why, ran.get(row, ""))  # fmt: skip


def parts(posts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """Return the posts to fit on, those to measure on, and the latter's name: test where it is present, else dev."""
    import polars as pl

    if "split" not in posts.columns:
        raise UserError("The EDOS file has no column 'split'. Use the published edos_labelled_aggregated.csv")
    splits = posts["split"].unique().to_list()
    held = next((name for name in ("test", "dev") if name in splits), None)
    if held is None or "train" not in splits:
        raise UserError(f"EDOS needs the split train, and test or dev; the file has {', '.join(map(str, splits))}")
    return posts.filter(pl.col("split") == "train"), posts.filter(pl.col("split") == held), held


def _maker(
    row: str,
    train: pl.DataFrame,
    held: pl.DataFrame,
    choose: pl.DataFrame | None,
    hashes: dict[str, str],
    runner: PaperRows,
    seed: int,
) -> tuple[dict[str, Any], Callable[[], Scorer]]:
    """Return what a row's answers depend on, and the function that makes its detector."""
    from davy.detectors.baselines import Majority, Uniform
    from davy.detectors.gradient_boosting import GradientBoosting
    from davy.detectors.tfidf import NgramHasher, NumberedWords, Tfidf

    questions = schemes.load("edos").questions
    if row in ENCODERS:
        scorer = runner.trained(row, "edos", train, choose, questions, seed)
        return {"row": row, "version": scorer.version}, lambda: scorer
    fitted: dict[str, TrainableScorer] = {
        "B0": Majority(questions),
        "B2": GradientBoosting(questions, trees=100, pieces=NgramHasher(characters=(1, 0), words=(1, 1), bits=14)),
        # All posts at once: their words are numbered together.
        LIKELY: GradientBoosting(
            questions, pieces=NumberedWords(100), balanced=False, abilities=Abilities(batch_size=10**9)
        ),
        LINEAR: Tfidf(questions),
    }
    if row in fitted:
        version = f"seed {seed}, train {hashes['train']}"
        return {"row": row, "settings": repr(fitted[row]), "version": version}, lambda: fitted[row].fit(
            train, seed=seed
        )
    if row == "B1":
        uniform = Uniform(questions, seed)
        return {"row": row, "version": uniform.version}, lambda: uniform
    scorer = runner.loaded(row)
    refuse_learnt(scorer, held)
    return {"row": row, "version": scorer.version}, lambda: scorer


def _notes(split: str) -> tuple[str, ...]:
    absent = (
        f"The test split is not in the data: ours are on {split}, so only large differences from the paper's count."
    )
    return (
        *([] if split == "test" else [absent]),
        "B and C count the sexist posts only, as in the challenge.",
        "A detector that learnt from the posts is not measured on them; what it learnt from is in its model card.",
    )
