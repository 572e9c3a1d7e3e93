"""A check as a JUnit file, which CI systems show beside other tests.

One test suite for each model: a test for each gate, and one for each cell of
functionality × set that says its accuracy and never fails of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from davy.testing.gates import GateResult


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
