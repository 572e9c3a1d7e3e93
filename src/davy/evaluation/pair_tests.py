"""Paired tests between systems of a packed matrix, with Holm's correction.

A matrix, pairs of systems and a test's name in; differences with p before and after the correction out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from davy.core.errors import UserError
from davy.evaluation.evaluate import PairedTest
from davy.evaluation.prediction_matrix import PredictionMatrix
from davy.evaluation.resampling import figures_and_draws
from davy.measure.intervals import Bootstrap
from davy.measure.paired_tests import Comparison, approximate_randomisation, holm, mcnemar, resampled_p
from davy.report import Column, Table

TESTS = ("bootstrap", "mcnemar", "randomisation")
RANDOMISATION = "approximate randomisation"


def choose_pairs(systems: Sequence[str], which: str) -> list[tuple[str, str]]:
    """Return the pairs to test, of systems from best to worst: `neighbours`, or `all`."""
    if which not in ("neighbours", "all"):
        raise UserError(f"Pairs are 'neighbours' or 'all', not {which!r}")
    return list(pairwise(systems)) if which == "neighbours" else list(combinations(systems, 2))


def compare_pairs(
    matrix: PredictionMatrix, pairs: Sequence[tuple[str, str]], test: str = "bootstrap", *, bootstrap: Bootstrap
) -> list[PairedTest]:
    """Return each pair's difference and p.

    The interval of a difference is the paired bootstrap's, from the resamples that the board uses. McNemar's test is
    of accuracy, whatever the task's metric.
    """
    if test not in TESTS:
        raise UserError(f"There is no paired test {test!r}. Use one of: {', '.join(TESTS)}")
    if test != "bootstrap" and matrix.task.kind == "score":
        raise UserError(f"Scores have no {test} test: they are neither right nor wrong. Use --test bootstrap")
    if test == "randomisation" and not matrix.task.vectorised:
        raise UserError(f"There is no randomisation test of {matrix.task.title!r}. Use --test bootstrap")
    if test == "mcnemar":
        right = dict(zip(matrix.systems, matrix.right, strict=True))
        found = [(first, second, mcnemar(right[first], right[second])) for first, second in pairs]
    else:
        found = _resampled(matrix, pairs, test, bootstrap)
    adjusted = holm([comparison.p for _, _, comparison in found])
    return [PairedTest(*pair, p) for pair, p in zip(found, adjusted, strict=True)]


def _resampled(
    matrix: PredictionMatrix, pairs: Sequence[tuple[str, str]], test: str, bootstrap: Bootstrap
) -> list[tuple[str, str, Comparison]]:
    values, draws = figures_and_draws(matrix, bootstrap)
    at = {name: i for i, name in enumerate(matrix.systems)}
    gold, codes = matrix.gold.astype(np.int64), matrix.values
    found = []
    for first, second in pairs:
        i, j = at[first], at[second]
        gaps = draws[:, i] - draws[:, j]
        gap = bootstrap.metric(matrix.task.metric, float(values[i] - values[j]), gaps, len(gold))
        if test == "randomisation":
            sides = codes[i].astype(np.int64), codes[j].astype(np.int64)
            labels, seed = len(matrix.task.labels), bootstrap.seed
            p = approximate_randomisation(
                gold, *sides, labels, metric=matrix.task.metric, rounds=bootstrap.resamples, seed=seed
            )
            name = RANDOMISATION
        else:
            p, name = float(resampled_p(gaps)), "paired bootstrap"
        found.append((first, second, Comparison(matrix.task.metric, float(values[i]), float(values[j]), gap, p, name)))
    return found


def pairs_table(tests: Sequence[PairedTest], title: str) -> Table:
    """Return one row a pair: the difference with its interval, p, and p after Holm's correction."""
    rows = [
        (pair.first, pair.second, pair.comparison.difference, _chance(pair.comparison.p), _chance(pair.adjusted))
        for pair in tests
    ]
    columns = [Column("first"), Column("second"), Column("difference", "metric", digits=4, scale=(-0.2, 0.2)),
               Column("p"), Column("p, Holm")]  # fmt: skip
    test = tests[0].comparison.test if tests else ""
    return Table.of(columns, rows, title=title, note=f"Test: {test}." if test else "")


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
