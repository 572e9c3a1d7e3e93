"""How many cases a suite has, cell by cell, and whether that is what its file declares.

A suite that other people's figures rest on must not change by accident: `counts:`
in its file says how many cases there are, and every difference is a problem.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from davy.files.yaml_nodes import Problems, YamlMap, YamlText
from davy.testing.suite import Suite

NONE = "none"
"""What the cases that are about nobody count under."""


def counts(suite: Suite) -> dict[str, Any]:
    """Return the number of cases and templates, and of cases by label, target and cell (functionality × set)."""
    cells: dict[str, dict[str, int]] = {name: {} for name in suite.functionalities}
    for case in suite.cases:
        row = cells[case.functionality]
        row[case.set] = row.get(case.set, 0) + 1
    return {
        "cases": len(suite.cases),
        "templates": len({case.template for case in suite.cases if case.template}),
        "labels": dict(Counter(case.expected for case in suite.cases).most_common()),
        "targets": dict(sorted(Counter(case.target or NONE for case in suite.cases).items())),
        "cells": cells,
    }


def check_counts(suite: Suite, declared: YamlMap, problems: Problems) -> None:
    """Note every count that is not what the file declares."""
    actual = counts(suite)
    for key in ("cases", "templates"):
        if key in declared:
            _check_count(key, declared[key], actual[key], declared.line_of(key), problems)
    for key in ("labels", "targets"):
        table = declared.get(key)
        if isinstance(table, YamlMap):
            for name in dict.fromkeys([*map(str, table), *actual[key]]):
                _check_count(
                    f"{key[:-1]} {name!r}", table.get(name), actual[key].get(name, 0), table.line_of(name), problems
                )
    cells = declared.get("cells")
    if isinstance(cells, YamlMap):
        for name in dict.fromkeys([*map(str, cells), *actual["cells"]]):
            row, mine = cells.get(name), actual["cells"].get(name, {})
            row = row if isinstance(row, YamlMap) else YamlMap()
            for each in dict.fromkeys([*map(str, row), *mine]):
                _check_count(f"cell {name} × {each}", row.get(each), mine.get(each, 0), cells.line_of(name), problems)


def _check_count(what: str, written: object, found: int, line: int, problems: Problems) -> None:
    declared = str(written) if isinstance(written, YamlText) else "0"
    if declared != str(found):
        problems.add(
            line,
            f"counts: {what} is declared as {declared}, but the suite makes {found}. If you meant that, change it.",
        )
