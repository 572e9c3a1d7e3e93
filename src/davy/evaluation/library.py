"""`davy.evaluate`: how good detectors are on labelled posts.

Detectors and posts in; results as frames, and a page in a folder, out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.scheme import Scheme
from davy.scoring.frames import FIGURE, gold_entries, number_columns, text_columns, to_posts
from davy.scoring.library import as_detector
from davy.scoring.python_words import python_words
from davy.scoring.text_detector import TextDetector

if TYPE_CHECKING:
    from davy.evaluation.evaluate import Evaluation, QuestionResult
    from davy.evaluation.predictions import Predictions

Model = str | Path | TextDetector
Models = Model | Mapping[str, Model] | Sequence[Model]


@dataclass(frozen=True, repr=False)
class EvaluationResult:
    """Detectors measured on labelled posts. Every figure has its n and its 95 % interval."""

    evaluation: Evaluation
    posts: pl.DataFrame

    def __repr__(self) -> str:
        lines = [f"<EvaluationResult of {', '.join(self.evaluation.models)} on {len(self.posts):,} posts>"]
        return "\n".join([*lines, *(f"Warning: {warning}." for warning in self.warnings)])

    def _repr_html_(self) -> str:
        from davy.scoring.notebook import frame_html

        title, *warnings = repr(self).splitlines()
        return frame_html(title.strip("<>"), self.frame, tuple(warnings))

    @property
    def warnings(self) -> list[str]:
        """A sentence for each detector that learnt from these posts or was calibrated on them.

        Example:
            davy.evaluate(detector, dev).warnings
        """
        from davy.evaluation.results import memory_note

        notes = (memory_note(model) for result in self.evaluation.results for model in result.models)
        return list(dict.fromkeys(filter(None, notes)))

    @property
    def frame(self) -> pl.DataFrame:
        """Every figure as one row: question, model, figure, label, value, low, high, n.

        Example:
            result.frame.filter(pl.col("figure") == "macro_f1")
        """
        from davy.evaluation.results import figures_table

        table = figures_table(self.evaluation)
        names = [column.name for column in table.columns]
        schema = {**text_columns("question", "model", "figure", "label"), **FIGURE, **text_columns("note")}
        return pl.DataFrame([dict(zip(names, row, strict=True)) for row in table.rows], schema=schema)

    def compare(self) -> pl.DataFrame:
        """Return a row for each two detectors and figure: the difference, its interval, and p after Holm's correction.

        Example:
            davy.evaluate({"mine": mine, "words": "keywords:words.txt"}, dev).compare()
        """
        rows = [
            {
                "question": result.question.name,
                "first": pair.first,
                "second": pair.second,
                "figure": pair.comparison.metric,
                "difference": pair.comparison.difference.value,
                "low": pair.comparison.difference.low,
                "high": pair.comparison.difference.high,
                "p": pair.comparison.p,
                "p_holm": pair.adjusted,
                "test": pair.comparison.test,
            }
            for result in self.evaluation.results
            for pair in result.pairs
        ]
        if not rows:
            raise UserError("There is nothing to compare: give at least two detectors that answer one question.")
        texts, numbers = ("question", "first", "second", "figure"), ("difference", "low", "high", "p", "p_holm")
        return pl.DataFrame(rows, schema={**text_columns(*texts), **number_columns(*numbers), "test": pl.String})

    def reliability(self, question: str | None = None, *, bins: int = 10) -> pl.DataFrame:
        """Return how often a yes was right, by how sure the detector was: a row for each detector and bin.

        Example:
            davy.evaluate({"mine": mine}, dev).reliability("hate")
        """
        from davy.evaluation.evaluate import scored_rows
        from davy.measure.calibration import reliability

        result = self._result(question)
        rows = []
        for known in self._answering(result):
            if result.question.name not in known.yes:
                raise UserError(f"{result.question.name!r} is no yes/no question, so it has no probability of yes.")
            yes, chances = scored_rows(result.gold, known)
            rows += [
                {
                    "model": known.name,
                    "from": one.low,
                    "to": one.high,
                    "n": one.n,
                    "confidence": one.confidence,
                    "share_of_yes": one.right,
                    "low": one.right_low,
                    "high": one.right_high,
                }
                for one in reliability(chances, yes, bins=bins)
            ]
        numbers = number_columns("confidence", "share_of_yes", "low", "high")
        return pl.DataFrame(rows, schema={"model": pl.String, **number_columns("from", "to"), "n": pl.Int64, **numbers})

    def precision_recall(self, question: str | None = None) -> pl.DataFrame:
        """Return precision and recall at every threshold: a row for each detector and distinct probability of yes.

        Example:
            davy.evaluate({"mine": mine}, dev).precision_recall("hate")
        """
        from davy.evaluation.evaluate import scored_rows
        from davy.measure.ranking import precision_recall_curve

        result = self._result(question)
        parts = []
        for known in self._answering(result):
            if result.question.name not in known.yes:
                raise UserError(f"{result.question.name!r} is no yes/no question, so it has no probability of yes.")
            precision, recall, threshold = precision_recall_curve(*scored_rows(result.gold, known))
            columns = {"threshold": threshold, "precision": precision, "recall": recall}
            parts.append(pl.DataFrame({"model": [known.name] * len(recall), **columns}))
        return pl.concat(parts)

    def errors(self, question: str | None = None, *, model: str | None = None) -> pl.DataFrame:
        """Return the posts that a detector got wrong, the most confident first: gold, its answer, how sure it was.

        Example:
            davy.evaluate({"mine": mine}, dev).errors("hate", model="mine")
        """
        from davy.evaluation.evaluate_detectors import errors_frame

        result = self._result(question)
        names = [known.name for known in self._answering(result, model)]
        every = errors_frame(replace(self.evaluation, results=(result,)))
        return every.filter(pl.col("model").is_in(names)).drop("question")

    def fairness(self, question: str | None = None) -> pl.DataFrame:
        """Return rates by group and ratios between groups: a row for each detector, group ("" is between) and figure.

        Example:
            davy.evaluate("embedded", dev, by="target").fairness("hate")
        """
        result = self._result(question)
        if not any(model.groups for model in result.models):
            raise UserError(
                "There are no groups: name their column, davy.evaluate(…, by=COLUMN), for a yes/no question."
            )
        rows = [
            {"model": model.name, "group": group, "figure": metric.name, "value": metric.value, "low": metric.low,
             "high": metric.high, "n": metric.n, "note": metric.note}
            for model in result.models
            if model.groups is not None
            for group, found in {"": model.groups.between, **model.groups.rates}.items()
            for metric in found.values()
        ]  # fmt: skip
        schema = {**text_columns("model", "group", "figure"), **FIGURE, **text_columns("note")}
        return pl.DataFrame(rows, schema=schema)

    def html(self, folder: str | Path) -> Path:
        """Write report.html, figures.csv, results.json and errors.csv into a folder; return the page.

        Example:
            davy.evaluate({"mine": mine}, dev).html("report")
        """
        from davy.evaluation.evaluate_detectors import write_evaluation

        write_evaluation(self.evaluation, Path(folder))
        return Path(folder) / "report.html"

    def _result(self, question: str | None) -> QuestionResult:
        results = {result.question.name: result for result in self.evaluation.results}
        if question is None:
            return next(iter(results.values()))
        if question not in results:
            raise UserError(
                f"{question!r} was not measured; measured: {', '.join(results)}.{nearest(question, list(results))}"
            )
        return results[question]

    def _answering(self, result: QuestionResult, model: str | None = None) -> list[Predictions]:
        answering = [system for system in self.evaluation.predictions if result.question.name in system.labels]
        names = [system.name for system in answering]
        if model is not None and model not in names:
            raise UserError(f"No detector {model!r} was measured; measured: {', '.join(names)}.{nearest(model, names)}")
        return [system for system in answering if model in (None, system.name)]


@python_words
def evaluate(
    models: Models,
    posts: Any,
    *,
    gold: Mapping[str, str] | None = None,
    label_none: bool = False,
    scheme: str | Scheme | None = None,
    text: str | None = None,
    by: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> EvaluationResult:
    """Return how good detectors are on posts with settled answers, and whether one is better than another.

    `gold` names the column of each question; without it every column `Q.gold` counts. A child question is measured on
    the posts whose settled parent answer leads to it. `by` is a column of groups (`women|muslims`), for `fairness()`.
    `models` is one detector, a list of them, or detectors by the names that the results call them.

    Parameters
    ----------
    models : detector, name, list or dict of them
        The detectors; the keys of a dict are what results call them.
    posts : frame, dataset or records
        Posts with settled answers.
    gold : dict, optional
        Question → column of settled answers, where it is not `Q.gold`.
    label_none : bool
        Cells such as `none` are a label, not a missing answer.
    scheme : str or Scheme, optional
        The questions and their labels; else found by the labels.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.
    by : str, optional
        A column of the groups that a post is about (`women|muslims`).
    resamples : int
        How many bootstrap resamples intervals rest on.
    seed : int
        The seed of every random act.

    Example:
        result = davy.evaluate({"mine": detector, "words": "keywords:words.txt"}, dev, gold={"hate": "label"})
        result.frame
    """
    from davy.evaluation.evaluate_detectors import evaluate as run
    from davy.measure.intervals import Bootstrap

    detectors = detectors_by_name(models)
    scorers = {name: detector.scorer for name, detector in detectors.items()}
    bootstrap = Bootstrap(resamples=resamples, seed=seed)
    frame = to_posts(posts, text)
    entries, asked = gold_entries(gold), list(gold or ())
    found = run(
        frame,
        scorers,
        scheme=scheme,
        questions=asked,
        gold=entries,
        label_none=label_none,
        by=by,
        bootstrap=bootstrap,
    )
    return EvaluationResult(found, frame)


def detectors_by_name(models: Models) -> dict[str, TextDetector]:
    """Return detectors by the names that results call them."""
    if isinstance(models, Mapping):
        return {name: as_detector(model) for name, model in models.items()}
    several = models if isinstance(models, Sequence) and not isinstance(models, str) else [models]
    detectors = [as_detector(model) for model in several]
    named = {detector.name: detector for detector in detectors}
    if len(named) < len(detectors):
        names = [detector.name for detector in detectors]
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f'Two detectors are called {twice!r}. Name them: {{"one": detector, "other": detector}}')
    return named
