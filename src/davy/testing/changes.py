"""What changed since an earlier run of the same suite.

Two summaries in, changes for each model out. Only cases that both runs judged
are compared, so a suite that grew does not look like a detector that changed.
Cases of one template move together, so the test and the interval are by template.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from davy.core import Metric, UserError
from davy.measure.clusters import cluster_numbers
from davy.measure.paired_tests import mcnemar
from davy.testing.metrics import cluster_of
from davy.testing.report.summary import FORMAT
from davy.testing.suite import Case, Suite


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """How one model's answers differ from those of an earlier run."""

    model: str
    before: str
    """The version that the earlier run had."""
    after: str
    difference: Metric
    """Accuracy now less accuracy then, over the cases of both."""
    p: float
    test: str
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    by_functionality: dict[str, tuple[int, int, int]]
    """Functionality → cases compared, fixed, broken."""


def read_summary(path: Path) -> dict[str, Any]:
    """Return the summary that an earlier run wrote; a file that is none is an error."""
    path = path / "report.json" if path.is_dir() else path
    try:
        summary = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"There is no earlier run at {path}. Give a report.json, or the folder that holds it."
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} can't be read as an earlier run: {error}.") from None
    if not isinstance(summary, dict) or summary.get("format") != FORMAT or "models" not in summary:
        raise UserError(f"{path} is not a report of davy check. Give the report.json that it wrote.")
    return summary


def find_changes(now: dict[str, Any], before: dict[str, Any], suite: Suite) -> list[OutcomeChange]:
    """Return the change of every model that both summaries name."""
    if now["suite"]["name"] != before["suite"]["name"]:
        return []
    cases = {case.id: case for case in suite.cases}
    earlier = {model["name"]: model for model in before["models"]}
    return [
        change
        for model in now["models"]
        if model["name"] in earlier and (change := _change(model, earlier[model["name"]], cases))
    ]


def explain_uncompared(now: dict[str, Any], before: dict[str, Any], changes: Sequence[OutcomeChange]) -> list[str]:
    """Return why models of a run could not be compared with an earlier one: what that has instead."""
    mine, other = now["suite"]["name"], before["suite"]["name"]
    if mine != other:
        return [f"has the suite {other}, not {mine}"]
    earlier = [model["name"] for model in before["models"]]
    compared = {change.model for change in changes}
    return [
        f"has no case with an answer in common for {name}"
        if name in earlier
        else f"has {', '.join(earlier) or 'no model'}, not {name}"
        for model in now["models"]
        if (name := model["name"]) not in compared
    ]


def _change(now: dict[str, Any], before: dict[str, Any], cases: dict[str, Case]) -> OutcomeChange | None:
    then = before.get("outcomes", {})
    both = [
        (case, bool(right), bool(then[case][1]))
        for case, (_, right) in now["outcomes"].items()
        if right is not None and case in then and then[case][1] is not None
    ]
    if not both:
        return None
    clusters = cluster_numbers([cluster_of(cases[case]) for case, _, _ in both])
    test = mcnemar([new for _, new, _ in both], [old for _, _, old in both], clusters=clusters)
    compared: Counter[str] = Counter(cases[case].functionality for case, _, _ in both)
    fixed = tuple(case for case, new, old in both if new and not old)
    broken = tuple(case for case, new, old in both if old and not new)
    up, down = (Counter(cases[case].functionality for case in part) for part in (fixed, broken))
    split = {name: (n, up[name], down[name]) for name, n in compared.items()}
    return OutcomeChange(
        now["name"], before["version"], now["version"], test.difference, test.p, test.test, fixed, broken, split
    )


def change_record(change: OutcomeChange) -> dict[str, Any]:
    """Return a change as plain values."""
    return {
        "model": change.model,
        "before": change.before,
        "after": change.after,
        "difference": {**change.difference.to_dict(), "p": change.p, "test": change.test},
        "fixed": list(change.fixed),
        "broken": list(change.broken),
        "functionalities": {
            name: {"n": n, "fixed": up, "broken": down} for name, (n, up, down) in change.by_functionality.items()
        },
    }
