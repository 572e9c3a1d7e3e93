"""Tables 3, 4, 8 and 9 of the Hatemoji paper, with detectors of ours as columns beside the paper's.

Runs on a suite, and answers on other test sets, in; tables out. The paper's
figures are in `hatemoji.yaml`. They were measured on HatemojiCheck: beside
figures from another suite they are for orientation, and the tables say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from davy.core import Metric
from davy.files.yaml_nodes import load_shipped
from davy.measure.classification import confusion, f1
from davy.measure.intervals import proportion
from davy.report import Column, Table
from davy.testing import metrics
from davy.testing.metrics import Fairness
from davy.testing.run import SuiteRun
from davy.testing.suite import Suite

OTHER = "The paper's columns are its figures on HatemojiCheck; ours are on {name}, which has other sentences."


@dataclass(frozen=True, slots=True)
class HatemojiMetrics:
    """What a detector reached on one of Table 8's test sets."""

    accuracy: Metric
    f1: float | None
    n: int


def load_published() -> dict[str, Any]:
    """Return the paper's figures."""
    found: dict[str, Any] = load_shipped("davy.testing", "hatemoji.yaml")
    return found


def table_3(suite: Suite, runs: Sequence[SuiteRun], *, official: bool) -> Table:
    """Return aggregate accuracy by label and set, and the emoji difference."""
    paper = load_published()
    ours = [{(c.set, c.label): c.accuracy for c in metrics.cells(suite, run, ("set", "label"))} for run in runs]
    keys = {name: (name, "all") for name in suite.sets} | {label: ("all", label) for label in suite.labels}
    rows: list[tuple[Any, ...]] = []
    for name, theirs in paper["table_3"].items():
        if name == "emoji difference":
            mine: list[Metric | None] = [metrics.emoji_difference(suite, run) for run in runs]
        else:
            mine = [cells.get(keys.get(name, ("all", "all"))) for cells in ours]
        n = next((metric.n for metric in mine if metric is not None), None)
        rows.append((name, None if name == "emoji difference" else n, *theirs, *mine))
    made = _table("Table 3: accuracy, aggregated", ["", "n"], paper["models"], runs, rows, suite, official)
    constant = metrics.best_constant(suite, runs[0]) if runs else None
    constant_note = (
        f"Always saying {constant.label!r} is right in {constant.accuracy:.3f} overall. " if constant else ""
    )
    return Table(made.columns, made.rows, made.title, f"{constant_note}{made.note}".strip())


def table_4(suite: Suite, runs: Sequence[SuiteRun], *, official: bool) -> Table:
    """Return accuracy by functionality and set."""
    paper = load_published()
    ours = [
        {(c.functionality, c.set): c.accuracy for c in metrics.cells(suite, run, ("functionality", "set"))}
        for run in runs
    ]
    rows: list[tuple[Any, ...]] = []
    for functionality, sets in paper["table_4"].items():
        for name, theirs in sets.items():
            shown = theirs or ["†"] * len(paper["models"])
            if name == "emoji difference":
                found: list[Any] = [metrics.emoji_difference(suite, run, functionality) for run in runs]
                mine: list[Any] = ["†" if one.value is None else one for one in found]
                n = None
            else:
                mine = [cells.get((functionality, name)) for cells in ours]
                n = next((metric.n for metric in mine if metric is not None), None)
            title = suite.titled(functionality) if name == "original" else f"  {name}"
            rows.append((title, n, *shown, *mine))
    made = _table(
        "Table 4: accuracy by functionality", ["", "n"], paper["models"], runs, rows, suite, official, digits=2
    )
    return Table(made.columns, made.rows, made.title, f"† not defined: the label flips. {made.note}".strip())


def table_8(results: Mapping[str, Sequence[HatemojiMetrics | None]], names: Sequence[str]) -> Table:
    """Return accuracy and F1 of the hateful class on every test set; a set that was not given says so."""
    paper = load_published()["table_8"]
    rows: list[tuple[Any, ...]] = []
    for key, about in paper.items():
        if key == "models":
            continue
        mine = results.get(key) or [None] * len(names)
        n = next((one.n for one in mine if one is not None), None)
        what = about["what"] if n is not None else f"{about['what']} (not in the data folder)"
        rows.append((what, "accuracy", n or about["n"], *about["accuracy"], *(one and one.accuracy for one in mine)))
        rows.append(
            (
                what,
                "F1",
                n or about["n"],
                *about["f1"],
                *(None if one is None or one.f1 is None else f"{one.f1:.3f}" for one in mine),
            )
        )
    heads = [Column("test set"), Column("figure"), Column("n", "count")]
    theirs = [Column(name, "number") for name in paper["models"]]
    return Table.of(
        [*heads, *theirs, *(Column(n, "metric") for n in names)], rows, title="Table 8: emoji and text test sets"
    )


def table_9(suite: Suite, runs: Sequence[SuiteRun], fair: Sequence[Fairness | None], *, official: bool) -> Table:
    """Return demographic parity and equalised odds ratios, one row for each model, the paper's first."""
    paper = load_published()
    keys = tuple(paper["table_9"])
    rows: list[tuple[Any, ...]] = [
        (f"{model} (paper)", *(f"{paper['table_9'][key][i]:.3f}" for key in keys))
        for i, model in enumerate(paper["table_8"]["models"])
    ]
    rows += [
        (run.model, *(one.between[key] if one is not None else None for key in keys))
        for run, one in zip(runs, fair, strict=True)
    ]
    note = "" if official else OTHER.format(name=suite.name)
    columns = [Column("model"), *(Column(key.replace("_", " "), "metric") for key in keys)]
    return Table.of(columns, rows, title="Table 9: fairness between groups", note=note)


def hatemoji_metrics(gold: Sequence[str], predicted: Sequence[str], positive: str) -> HatemojiMetrics:
    """Return accuracy and the F1 of the positive label."""
    table = confusion(gold, predicted)
    right = sum(a == b for a, b in zip(gold, predicted, strict=True))
    score = float(f1(table.matrix.astype(float))[table.labels.index(positive)]) if positive in table.labels else None
    return HatemojiMetrics(proportion("accuracy", right, len(gold)), score, len(gold))


def run_metrics(suite: Suite, run: SuiteRun) -> HatemojiMetrics:
    """Return accuracy, with its interval by template, and F1 of a run on a suite."""
    pairs = metrics.judged_cases(suite, run)
    found = hatemoji_metrics(
        [case.expected for case, _ in pairs], [str(out.label) for _, out in pairs], suite.labels[0]
    )
    return replace(found, accuracy=next(metrics.cells(suite, run, ())).accuracy)


def _table(
    title: str,
    heads: list[str],
    models: Sequence[str],
    runs: Sequence[SuiteRun],
    rows: list[tuple[Any, ...]],
    suite: Suite,
    official: bool,
    digits: int = 3,
) -> Table:
    first = [Column(heads[0]), Column(heads[1], "count")]
    theirs = [Column(name, "number", digits=digits) for name in models]
    ours = [Column(run.model, "metric", digits=digits) for run in runs]
    note = "" if official else OTHER.format(name=suite.name)
    return Table.of([*first, *theirs, *ours], rows, title=title, note=note)
