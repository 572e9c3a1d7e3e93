"""A whole check as plain values: what `--json` prints, `report.json` keeps and later runs are compared with.

Suite and runs in, a dict out. Texts are not in it, only case ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from davy.core import Metric
from davy.files.data_hash import data_hash
from davy.testing import metrics
from davy.testing.metrics import ALL, Cell, Fairness
from davy.testing.run import SuiteRun
from davy.testing.suite import Suite
from davy.version import __version__

FORMAT = 1
DIGITS = 6


def summarise(
    suite: Suite, runs: Sequence[SuiteRun], fair: Sequence[Fairness | None], settings: dict[str, Any]
) -> dict[str, Any]:
    """Return everything that was measured."""
    return {
        "format": FORMAT,
        "davy": __version__,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "suite": {
            "name": suite.name,
            "title": suite.title,
            "version": suite.version,
            "hash": suite.digest,
            "data": _data_hash(suite),
            "lang": suite.lang,
            "question": suite.question,
            "labels": list(suite.labels),
            "cases": len(suite.cases),
            "functionalities": {name: suite.titled(name) for name in suite.functionalities},
            "sets": list(suite.sets),
            "missing": list(suite.missing),
        },
        "settings": settings,
        "intervals": describe_intervals(suite),
        "models": [_model(suite, run, one) for run, one in zip(runs, fair, strict=True)],
    }


def describe_intervals(suite: Suite) -> dict[str, Any]:
    """Return what the intervals take to stand or fall together, in words and as a number of clusters."""
    clusters = len({metrics.cluster_of(case) for case in suite.cases})
    if clusters == len(suite.cases):
        return {"by": "case", "clusters": None, "how": "Intervals take every case for itself: none share a template."}
    how = (
        f"Intervals are by template: the cases of one of the {clusters:,} templates or test groups stand or fall "
        "together, so intervals are wider than for as many independent cases."
    )
    return {"by": "template", "clusters": clusters, "how": how}


def _data_hash(suite: Suite) -> str:
    """Return the hash of the cases as posts with a settled answer: the one that a training on them would name."""
    texts, answers = [case.text for case in suite.cases], [case.expected for case in suite.cases]
    return data_hash(pl.DataFrame({"text": texts, f"{suite.question}.gold": answers}))


def _record(metric: Metric | None) -> dict[str, Any] | None:
    return None if metric is None else metric.to_dict(DIGITS)


def _model(suite: Suite, run: SuiteRun, fair: Fairness | None) -> dict[str, Any]:
    cells = {(c.functionality, c.set, c.label, c.target): c for c in metrics.cells(suite, run)}
    confusion = metrics.confusions(suite, run)
    failed = [out for out in run.outcomes if not out.applies]
    constant = metrics.best_constant(suite, run)
    return {
        "name": run.model,
        "version": run.version,
        "seconds": round(run.seconds, 3),
        "cached": run.cached,
        "unanswered": [{"case": out.case, "reason": out.note} for out in failed],
        "accuracy": _record(_of(cells)),
        "constant": constant and {"label": constant.label, "accuracy": round(constant.accuracy, DIGITS)},
        "warning": _warning(suite, run, metrics.constant_warning(run.model, _of(cells), constant)),
        "learnt_from": run.learnt,
        "tests": {test: _record(one) for (_, test), one in metrics.passed_by_test(suite, run).items()},
        "accuracy_after_change": _record(metrics.accuracy_after_change(suite, run)),
        "disputed": {
            "yes" if disputed else "no": _record(one)
            for disputed, one in metrics.accuracy_by_dispute(suite, run).items()
        },
        "labels": {name: _record(_of(cells, label=name)) for name in suite.labels},
        "sets": {name: _record(_of(cells, set_=name)) for name in suite.sets},
        "targets": {name: _record(_of(cells, target=name)) for name in (*suite.targets, "none")},
        "emoji_difference": _record(metrics.emoji_difference(suite, run)),
        "pairs": {key: _record(one) for key, one in metrics.pairs_right(suite, run, lambda case: case.set).items()},
        "functionalities": _functionalities(suite, run, cells),
        "confusion": [[confusion[gold, predicted] for predicted in suite.labels] for gold in suite.labels],
        "fairness": None if fair is None else _fair(fair),
        "worst": [case.id for case, _ in metrics.worst_cases(suite, run)[:100]],
        "outcomes": {o.case: [o.probability, None if o.correct is None else int(o.correct)] for o in run.outcomes},
    }


def _warning(suite: Suite, run: SuiteRun, constant: str | None) -> str | None:
    learnt = (
        f"{run.model} learnt from {run.learnt:,} of the {len(suite.cases):,} texts; there it may remember."
        if run.learnt
        else None
    )
    return " ".join(filter(None, (learnt, constant))) or None


def _functionalities(suite: Suite, run: SuiteRun, cells: dict[tuple[str, str, str, str], Cell]) -> dict[str, Any]:
    pairs = metrics.pairs_right(suite, run, lambda case: case.functionality)
    return {
        name: {
            "accuracy": _record(_of(cells, functionality=name)),
            "sets": {each: _record(one) for each in suite.sets if (one := _of(cells, functionality=name, set_=each))},
            "targets": {
                each: _record(one) for each in suite.targets if (one := _of(cells, functionality=name, target=each))
            },
            "emoji_difference": _record(metrics.emoji_difference(suite, run, name)),
            "pairs": _record(pairs.get(name)),
            "accuracy_after_change": _record(metrics.accuracy_after_change(suite, run, name)),
        }
        for name in suite.functionalities
    }


def _of(
    cells: dict[tuple[str, str, str, str], Cell],
    functionality: str = ALL,
    set_: str = ALL,
    label: str = ALL,
    target: str = ALL,
) -> Metric | None:
    found = cells.get((functionality, set_, label, target))
    return found.accuracy if found else None


def _fair(fair: Fairness) -> dict[str, Any]:
    return {
        "targets": {name: {key: _record(one) for key, one in rates.items()} for name, rates in fair.by_target.items()},
        "auc": {name: {key: _record(one) for key, one in rates.items()} for name, rates in fair.auc.items()},
        "between": {key: _record(one) for key, one in fair.between.items()},
        "true_rate": {name: round(rate, 6) for name, rate in fair.true_rate.items()},
    }
