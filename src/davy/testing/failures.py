"""The cases that detectors got wrong, as posts with their right answer: what a next training can learn from.

A suite and runs in, a frame of posts out. Shipped and published suites refuse: trained on, they would measure nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from davy.core import UserError
from davy.testing.run import SuiteRun
from davy.testing.suite import Suite

if TYPE_CHECKING:
    import polars as pl


def failed_posts(suite: Suite, runs: Sequence[SuiteRun]) -> pl.DataFrame:
    """Return a row for each case that any detector failed and whose right label is known, with who failed it.

    A changed case (INV) has the label of the case that it came from; a directional one (DIR) has none and is left out.
    """
    import polars as pl

    if not suite.for_training:
        raise UserError(
            f"{suite.name} measures detectors, so none may learn from it. Failures of your own suites and of "
            "robustness:FILE can be written."
        )
    gold = {case.id: case.expected for case in suite.cases if case.test == "MFT"}
    rows = []
    for at, case in enumerate(suite.cases):
        failed = [run.model for run in runs if run.outcomes[at].applies and not run.outcomes[at].correct]
        label = gold.get(case.id) or (gold.get(str(case.pair)) if case.test == "INV" else None)
        if failed and label is not None:
            found = f"davy check {suite.name}: {case.functionality}"
            rows.append(
                (case.id, case.text, case.lang, f"suite {suite.name}", found, case.pair, label, "|".join(failed))
            )
    names = ("id", "text", "lang", "source", "found", "parent", f"{suite.question}.gold", "failed_by")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
