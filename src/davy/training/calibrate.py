"""Calibrate: temperatures and thresholds from posts with settled answers, with the figures before and after.

A detector and posts in; the same detector with its numbers, and a `Calibration`, out. Use posts that the detector did
not learn from: on those it did, it is surer than it should be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from davy.core.errors import UserError
from davy.core.gold import targets
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scorer import Scorer, Scores
from davy.corpus.empty_cells import LabelNone
from davy.corpus.gold import GivenGold, answer_columns, spell_gold, with_gold
from davy.corpus.post_source import load_split
from davy.detectors.calibrated import SHARPEST, CalibratedScorer, Calibration
from davy.detectors.prevalence import Prevalence, check_questions, log_odds, read_prevalence, share_of
from davy.detectors.training_text_index import keep_learnt
from davy.measure.calibration import (
    calibration_metrics,
    choose_threshold,
    cost_of_a_miss,
    fit_shift,
    fit_temperature,
    log_loss,
)
from davy.measure.classification import macro_f1_of_tables
from davy.measure.intervals import Bootstrap
from davy.scoring.scorers import load_scorer

if TYPE_CHECKING:
    from davy.core.scheme import Question

    Array = np.ndarray[Any, np.dtype[Any]]

TINY = 1e-12


def calibrate(
    scorer: Annotated[
        Scorer, Option("A detector that has a folder: davy model list.", "model", metavar="M", read=load_scorer)
    ],
    posts: Annotated[
        pl.DataFrame, Options(load_split, {"files": "Posts with Q.gold columns that it did not learn from."})
    ],
    *,
    gold: GivenGold = (),
    label_none: LabelNone = False,
    scheme: Annotated[str | None, Option("The scheme of the answers; else guessed.", metavar="S")] = None,
    threshold: Annotated[
        str | None,
        Option("macro-f1, precision=0.9, recall=0.9, cost=5 (a miss is worth 5 alarms).", "--threshold-rule", "RULE"),
    ] = "macro-f1",
    temperature: Annotated[
        bool, Option("Temper the probabilities, or thresholds only.", "--temperature/--no-temperature")
    ] = True,
    prior: Annotated[
        Prevalence | None,
        Option(
            "The share of yes among the posts that it will read, such as 0.02; by question: hate=0.01,offensive=0.05.",
            "--prevalence",
            metavar="SHARE",
            read=read_prevalence,
        ),
    ] = None,
    reporter: Reporter = SILENT,
) -> tuple[CalibratedScorer, Calibration]:
    """Return the scorer with temperatures and, for yes/no questions, thresholds that fit the settled answers.

    `gold` names the columns of settled answers (`Q=COLUMN`) where they are not `Q.gold`; `threshold` is a rule of
    `measure.thresholds`, or None to leave thresholds alone. `prior` moves probabilities and thresholds of yes/no
    questions to posts of which another share is a yes than of these.
    """
    check_questions(prior, scorer)
    rules, columns = answer_columns(
        posts, gold, scheme, among=scorer.questions, label_none=label_none, reporter=reporter
    )
    posts = spell_gold(with_gold(posts, columns), rules.questions)
    scores = scorer.score(posts)
    settled = [
        (question, *_judged(scores, question, rows, table.argmax(axis=1)))
        for question, rows, table in targets(tuple(scorer.questions), posts)
        if not question.multilabel
    ]
    settled = [(question, rows, answers) for question, rows, answers in settled if len(rows)]
    if not settled:
        raise UserError(
            f"{scorer.name} has no question of one answer to calibrate, or the posts have no answers to it."
        )
    # Numbers are those of each question's own logits, before rules make the answers fit together.
    apart = scorer.abilities.heads_apart
    heads = scorer if apart is None else apart()
    temperatures = _fit_temperatures(scores if apart is None else heads.score(posts), settled) if temperature else {}
    cooled = CalibratedScorer(heads, temperatures, {}).score(posts)
    shares = _shares(settled)
    shifts = {} if prior is None else _shifts(cooled, settled, shares, prior)
    cooled = CalibratedScorer(heads, temperatures, {}, shifts=shifts).score(posts) if shifts else cooled
    thresholds: dict[str, float] = {}
    one_label: list[str] = []
    for question, rows, answers in settled:
        if threshold is not None and _is_yes_no(question) and len(np.unique(answers)) == 1:
            one_label.append(question.name)
        elif threshold is not None and _is_yes_no(question):
            yes = question.label_names.index(str(question.positive))
            chances = cooled.probabilities[question.name][rows, yes]
            share = None if prior is None else share_of(prior, question.name)
            thresholds[question.name] = choose_threshold(chances, answers == yes, threshold, prior=share)
    used = sorted({int(row) for _, rows, _ in settled for row in rows})
    holds_at = {name: (None if prior is None else share_of(prior, name)) or share for name, share in shares.items()}
    set_on = keep_learnt(posts[used]["text"])
    calibrated = CalibratedScorer(
        scorer, temperatures, thresholds, set_on=set_on, shifts=shifts, prevalence=holds_at if temperature else {}
    )
    now = cooled if apart is None else calibrated.score(posts)
    before: dict[str, dict[str, float]] = {}
    after: dict[str, dict[str, float]] = {}
    for question, places, answers in settled:
        usual = np.broadcast_to(scores.thresholds.get(question.name, 0.5), len(posts))[places]
        cut, divisor = thresholds.get(question.name, usual), temperatures.get(question.name, 1.0)
        block, tempered = (it.probabilities[question.name][places] for it in (scores, now))
        rows = np.arange(len(answers))
        if prior is not None and question.name in shifts:
            rows = _at_share(answers == question.label_names.index(str(question.positive)), holds_at[question.name])
        before[question.name] = _figures(question, block[rows], answers[rows], 1.0, usual[rows], threshold)
        cut = cut[rows] if isinstance(cut, np.ndarray) else cut
        after[question.name] = _figures(question, tempered[rows], answers[rows], divisor, cut, threshold)
    seen = scorer.abilities.learnt
    learnt = 0 if seen is None else int(seen(posts["text"].to_list()).sum())
    counts = {question.name: len(rows) for question, rows, _ in settled}
    return (
        calibrated,
        Calibration(temperatures, thresholds, before, after, counts, tuple(one_label), learnt, len(posts)),
    )


def _judged(scores: Scores, question: Question, rows: Array, answers: Array) -> tuple[Array, Array]:
    """Return the rows that the detector judged, and their settled answers: the others say nothing about its numbers."""
    mask = scores.has_answer(question)
    kept = np.ones(len(rows), dtype=bool) if mask is None else mask[rows]
    return rows[kept], answers[kept]


def _fit_temperatures(scores: Scores, settled: Sequence[tuple[Question, Array, Array]]) -> dict[str, float]:
    """Return the temperature of each question with which its settled answers are likeliest."""
    temperatures = {}
    for question, rows, answers in settled:
        logits = np.log(np.clip(scores.probabilities[question.name][rows], TINY, 1))
        temperatures[question.name] = fit_temperature(logits, answers, lowest=1 / SHARPEST, highest=SHARPEST)
    return temperatures


def _shares(settled: Sequence[tuple[Question, Array, Array]]) -> dict[str, float]:
    """Return the share of yes of each yes/no question whose posts have both answers."""
    yes = {
        question.name: float((answers == question.label_names.index(str(question.positive))).mean())
        for question, _, answers in settled
        if _is_yes_no(question)
    }
    return {name: share for name, share in yes.items() if 0 < share < 1}


def _shifts(
    scores: Scores, settled: Sequence[tuple[Question, Array, Array]], shares: Mapping[str, float], prior: Prevalence
) -> dict[str, float]:
    """Return what moves probabilities to the shares that are wanted: first to that of these posts, then from there."""
    found = {}
    for question, rows, answers in settled:
        wanted = share_of(prior, question.name)
        if wanted is None or question.name not in shares:
            continue
        yes = question.label_names.index(str(question.positive))
        chance = np.clip(scores.probabilities[question.name][rows, yes].astype(np.float64), TINY, 1 - TINY)
        here = fit_shift(np.log(chance) - np.log1p(-chance), answers == yes)
        found[question.name] = here + log_odds(wanted) - log_odds(shares[question.name])
    return found


def _at_share(is_yes: Array, share: float) -> Array:
    """Return rows, some of them several times, of which about this share is a yes."""
    ratio = share / (1 - share) * (~is_yes).sum() / is_yes.sum()
    more = Fraction(float(max(ratio, 1 / ratio))).limit_denominator(8)
    rarer, other = (is_yes, ~is_yes) if ratio < 1 else (~is_yes, is_yes)
    return np.concatenate(
        [np.repeat(np.flatnonzero(rarer), more.denominator), np.repeat(np.flatnonzero(other), more.numerator)]
    )


def _is_yes_no(question: Question) -> bool:
    return question.positive is not None and len(question.labels) == 2


def _figures(
    question: Question, block: Array, gold: Array, temperature: float, threshold: Any, rule: str | None
) -> dict[str, float]:
    """Return the numbers of a question and what they give: `davy evaluate`'s figures, and the cost where that rules."""
    figures = {"temperature": temperature}
    labels = np.arange(block.shape[1])
    chosen, chance, truth = block.argmax(axis=1), block, (gold[:, None] == labels).astype(np.float64)
    if _is_yes_no(question):
        yes = question.label_names.index(str(question.positive))
        chosen = np.where(block[:, yes] >= threshold, yes, 1 - yes)
        chance, truth = block[:, yes], truth[:, yes]
        figures["threshold"] = float(np.mean(threshold))
        figures["share of yes"] = float((gold == yes).mean())
    figures["log loss"] = log_loss(np.log(np.clip(block, TINY, 1)), gold)
    brier, error = calibration_metrics(np.clip(chance, 0, 1), truth, bootstrap=Bootstrap(0))
    figures |= {"Brier score": float(brier.value or 0.0), "calibration error": float(error.value or 0.0)}
    figures["macro-F1"] = macro_f1_of_tables(gold[:, None] == labels, chosen[:, None] == labels)
    if _is_yes_no(question):
        flagged, is_yes = chosen == yes, gold == yes
        figures["precision"] = float((flagged & is_yes).sum() / max(1, flagged.sum()))
        figures["recall"] = float((flagged & is_yes).sum() / max(1, is_yes.sum()))
        worth = cost_of_a_miss(rule)
        if worth is not None:
            figures["cost a post"] = float(((flagged & ~is_yes).sum() + worth * (~flagged & is_yes).sum()) / len(gold))
    return {name: round(value, 6) for name, value in figures.items()}
