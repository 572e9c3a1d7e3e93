"""The files that a check leaves in its folder, each whole or not at all.

`report.html`, `report.json`, `cells.csv` (accuracy of every cell), `cases.csv`
(what each model said to each case, texts masked) and `junit.xml`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from davy.files.atomic import make_folder, write_bytes, write_text
from davy.testing import metrics, suites
from davy.testing.report.junit import junit
from davy.testing.report.page import CheckReport, page


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
