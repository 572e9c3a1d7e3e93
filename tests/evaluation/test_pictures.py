"""Pictures for pages: well-formed SVG with every figure in it, whatever names people give."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from davy.evaluation.pictures import MethodEntry, confusion_svg, method_counts_svg, method_figures_svg

ENTRIES = [
    MethodEntry("a", {"architecture": ["transformer", "ensemble"]}, {"A": 0.85, "B": 0.6}),
    MethodEntry("b", {"architecture": ["transformer"]}, {"A": 0.80}),
    MethodEntry("c", {"architecture": ["<b>trees</b>"]}, {"A": float("nan")}),
]


def words(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]  # noqa: S314


def test_a_confusion_matrix_has_a_cell_for_each_pair_of_labels_and_predictions_run_down():
    shares = np.array([[0.75, 0.25], [np.nan, np.nan]])
    found = words(confusion_svg(["yes & no", "no"], shares))
    assert [word for word in found if word in ("75.0", "25.0", "–")] == ["75.0", "–", "25.0", "–"]
    assert "yes & no" in found


def test_methods_are_counted_by_systems_and_the_most_popular_comes_first():
    found = words(method_counts_svg(ENTRIES, "architecture"))
    assert found[:2] == ["transformer", "2 (67%)"]
    assert "<b>trees</b>" in found
    assert "1 (33%)" in found


def test_a_method_without_a_figure_is_left_out_and_an_empty_picture_says_so():
    svg = method_figures_svg(ENTRIES, "architecture", "A")
    assert words(svg) == ["transformer", "ensemble", "0.800", "0.850"]
    assert svg.count("<circle") == 3
    assert words(method_figures_svg(ENTRIES, "architecture", "C")) == ["No system has answered this yet."]
    assert words(method_counts_svg([], "training")) == ["No system has answered this yet."]
