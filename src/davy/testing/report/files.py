"""The files that a check leaves in its folder, each whole or not at all.

`report.html`, `report.json`, `cells.csv` (accuracy of every cell), `cases.csv` (what each model said to each case,
texts masked) and `junit.xml`, which CI systems show beside other tests: one test suite for each model, a test for each
gate, and one for each cell that says its accuracy and never fails of itself. Cases that detectors got wrong can be
written as posts with their right answer, for a next training. Shipped and published suites refuse this: trained on,
they would measure nothing.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, tostring

from davy.core.errors import UserError
from davy.files.atomic import make_folder, write_bytes, write_text
from davy.testing import metrics, suites
from davy.testing.gates import GateResult
from davy.testing.report.page import CheckReport, page
from davy.testing.run import SuiteRun
from davy.testing.suite import Suite

if TYPE_CHECKING:
    import polars as pl


def junit(summary: dict[str, Any], results: Sequence[GateResult]) -> str:
    """Return the XML text."""
    root = Element("testsuites", name=f"davy check {summary['suite']['name']}")
    for model in summary["models"]:
        mine = [result for result in results if result.model == model["name"]]
        cells = [
            (name, each, found)
            for name, part in model["functionalities"].items()
            for each, found in part["sets"].items()
        ]
        suite = SubElement(
            root,
            "testsuite",
            name=_clean(f"{summary['suite']['name']} · {model['name']}"),
            tests=str(len(mine) + len(cells)),
            failures=str(sum(not result.passed for result in mine)),
            errors="0",
            skipped="0",
            time=f"{model['seconds']:.3f}",
            timestamp=summary["made_at"],
        )
        properties = SubElement(suite, "properties")
        for key, value in (("model version", model["version"]), ("suite hash", summary["suite"]["hash"])):
            SubElement(properties, "property", name=key, value=_clean(str(value)))
        for result in mine:
            case = SubElement(suite, "testcase", classname="gate", name=_clean(result.gate), time="0")
            if not result.passed:
                SubElement(case, "failure", message=_clean(result.reason)).text = _clean(result.reason)
        for name, each, found in cells:
            case = SubElement(suite, "testcase", classname=_clean(name), name=_clean(each), time="0")
            summary_line = f"accuracy {found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}], n = {found['n']}"
            SubElement(case, "system-out").text = summary_line
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Return text without what XML forbids."""
    return "".join(char if char in "\t\n" or ord(char) >= 32 else " " for char in text)


def write_report(check: CheckReport, folder: Path) -> list[Path]:
    """Write the report's files and return their paths; an earlier report.json is kept as report.before.json."""
    make_folder(folder)
    texts = {
        "report.html": page(check).html(),
        "cells.csv": _csv(_cells(check)),
        "cases.csv": _csv(_cases(check)),
        "junit.xml": junit(check.summary, check.results),
        "report.json": json.dumps(check.summary, ensure_ascii=False, indent=1) + "\n",
    }
    before = folder / "report.json"
    if before.is_file():
        write_bytes(folder / "report.before.json", before.read_bytes())
    # The summary is written last: its presence means that the others are complete.
    return [write_text(folder / name, text) for name, text in texts.items()]


def _csv(rows: Iterator[list[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _cells(check: CheckReport) -> Iterator[list[object]]:
    yield ["model", "version", "functionality", "set", "label", "target", "n", "templates", "accuracy", "low", "high"]
    for run in check.runs:
        for cell in metrics.cells(check.suite, run):
            m = cell.accuracy
            shares = [f"{value:.6f}" for value in (m.value, m.low, m.high) if value is not None]
            yield [
                run.model,
                run.version,
                cell.functionality,
                cell.set,
                cell.label,
                cell.target,
                m.n,
                m.clusters or m.n,
                *shares,
            ]


def _cases(check: CheckReport) -> Iterator[list[object]]:
    masked = suites.masker(check.suite)
    models = [f"{run.model} {what}" for run in check.runs for what in ("probability", "label", "correct", "note")]
    yield ["case_id", "functionality", "set", "target", "template", "test", "expected", "masked_text", *models]
    for at, case in enumerate(check.suite.cases):
        answers: list[object] = []
        for run in check.runs:
            out = run.outcomes[at]
            answers += [out.probability, out.label, None if out.correct is None else int(out.correct), out.note]
        about = [case.id, case.functionality, case.set, case.target, case.template, case.test, case.expected]
        yield [*about, masked(case.text), *answers]


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
