"""Answers from outside Davy: a file of predictions, or a Python function.

`predictions:FILE` in, a `SuiteRun` out; `python:MODULE:FUNCTION` in, a scorer out. Both are names for `davy check`
alone: a function is code that runs with the rights of whoever asks, so a server must never load one by its name.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UserError, nearest
from davy.core.scheme import Label, Question
from davy.core.scorer import Abilities, Scores
from davy.files import tables
from davy.testing.run import Answer, SuiteRun, judge_cases
from davy.testing.suite import Suite

if TYPE_CHECKING:
    import polars as pl

PREDICTIONS, FUNCTION = "predictions:", "python:"
_IDS = ("case_id", "mhc_case_id", "id")


def run_predictions(suite: Suite, name: str, question: str = "") -> SuiteRun:
    """Return the run of a file with a row for each case: its id, and `Q` (the probability of yes) or `Q.label`.

    Cases that the file lacks have no answer; rows about other cases are ignored; none that fits is an error.
    """
    path, asked = Path(name.removeprefix(PREDICTIONS)), question or suite.question
    with tables.open_table(path) as table:
        frame = table.frame.collect()
    column = next((each for each in _IDS if each in frame.columns), None)
    if column is None or not {asked, f"{asked}.label"} & set(frame.columns):
        raise UserError(
            f"{path} has the columns {', '.join(frame.columns)}. Predictions need the cases' ids (case_id or id) and "
            f"{asked!r}, the probability of yes, or '{asked}.label'. Such a file is made by davy suite build and "
            "davy score; another question is named with --question."
        )
    ids = [str(value) for value in frame[column]]
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise UserError(f"{path} has two rows for case {twice!r}. Leave one.")
    yes = frame[asked].to_list() if asked in frame.columns else [None] * len(ids)
    labels = frame[f"{asked}.label"].to_list() if f"{asked}.label" in frame.columns else [None] * len(ids)
    known = {case.id for case in suite.cases}
    answers: dict[str, Answer] = {}
    for case, probability, label in zip(ids, yes, labels, strict=True):
        if case in known and (probability is not None or label is not None):
            answers[case] = _answer(suite, probability, label, f"{path}, case {case!r}")
    if not answers:
        raise UserError(f"{path} answers none of the {len(suite.cases):,} cases of {suite.name}: no id fits.")
    outcomes = judge_cases(suite, answers, dict.fromkeys(known - set(answers), "the file has no answer"))
    return SuiteRun(name, hashlib.sha256(path.read_bytes()).hexdigest()[:12], outcomes)


class FunctionScorer:
    """A Python function as a detector: texts in; for each a probability of yes, a bool or a label out."""

    abilities = Abilities()

    def __init__(self, name: str, suite: Suite, question: str = "") -> None:
        self.name, self.suite = name, suite
        self.function, self.version = _load_function(name)
        labels = tuple(Label(each) for each in suite.labels)
        self.questions = (Question(question or suite.question, labels=labels, positive=suite.labels[0]),)
        self._check_shape()

    def _check_shape(self) -> None:
        """Raise where two texts don't get two answers: a run cuts batches in two, so it would only see single ones."""
        texts = [case.text for case in self.suite.cases[:2]]
        try:
            returned = self.function(texts)
        except Exception:  # noqa: BLE001 - the run asks these cases again and reports what fails, case by case
            return
        self._answers(returned, len(texts))

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return what the function says to the posts' texts."""
        texts = posts["text"].to_list()
        yes = np.array([probability for probability, _ in self._answers(self.function(texts), len(texts))])
        return Scores(self.questions, {self.questions[0].name: np.stack([yes, 1 - yes], axis=1)})

    def _answers(self, returned: Any, n: int) -> list[Answer]:
        if isinstance(returned, str) or not isinstance(returned, Iterable):
            raise UserError(f"{self.name} returned no list. Return one answer for each of the texts.")
        answers = [_answer(self.suite, *_split(value), self.name) for value in returned]
        if len(answers) != n:
            raise UserError(f"{self.name} returned {len(answers)} answers for {n} texts. Return one for each.")
        return answers


def _load_function(name: str) -> tuple[Callable[[Sequence[str]], Any], str]:
    """Return the function and a hash of its module's file; modules in the working folder are found."""
    module, _, attribute = name.removeprefix(FUNCTION).partition(":")
    if not module or not attribute:
        raise UserError(f"{name!r} names no function. Write python:MODULE:FUNCTION, such as python:mine:score")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(f"There is no Python module {error.name!r}, in {here} or installed.") from None
    finally:
        sys.path.remove(here)
    function = getattr(loaded, attribute, None)
    if not callable(function):
        raise UserError(f"{module} has no function {attribute!r}.{nearest(attribute, dir(loaded))}")
    file = getattr(loaded, "__file__", None)
    return function, hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12] if file else "unknown"


def _split(value: Any) -> tuple[Any, Any]:
    """Return (probability, label) of what a function said to one text."""
    return (None, value) if isinstance(value, str) else (value, None)


def _answer(suite: Suite, probability: Any, label: Any, where: str) -> Answer:
    """Return the probability of yes and whether the answer is yes; a label decides where both are given."""
    chosen = None
    if label is not None:
        chosen = next((each for each in suite.labels if each.lower() == str(label).strip().lower()), None)
        if chosen is None:
            raise UserError(f"{where}: {str(label)[:40]!r} is no label here; the labels are {', '.join(suite.labels)}.")
    if probability is None:
        return float(chosen == suite.labels[0]), chosen == suite.labels[0]
    try:
        share = float(probability)
    except (TypeError, ValueError):
        share = float("nan")
    if not 0 <= share <= 1:
        raise UserError(f"{where}: {str(probability)[:40]!r} is no probability from 0 to 1.")
    return round(share, 6), share >= 0.5 if chosen is None else chosen == suite.labels[0]
