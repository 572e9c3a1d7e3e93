"""How much of a suite its pairs cover: figures on pairs rest on that, so the report says it."""

import html
from dataclasses import replace

from davy.testing import metrics
from davy.testing.check import check
from fake_detectors import Rule


def without_pairs_of(suite, functionality):
    """The suite with its cases, but no pair among those of a functionality."""
    of = {case.id: case.functionality for case in suite.cases}
    return replace(suite, links=tuple(link for link in suite.links if of[link[1]] != functionality))


def test_cases_and_those_in_a_pair_are_counted_by_functionality_and_perturbation(small):
    whole = metrics.pair_coverage(small)
    assert {(name, part): (n, paired) for name, part, n, paired in whole} == {
        ("append", "identity"): (2, 2),
        ("append", "polarity"): (2, 2),
        ("append", "no emoji"): (2, 2),
        ("swap", "identity"): (1, 1),
        ("swap", "polarity"): (2, 2),
        ("swap", "no emoji"): (2, 2),
    }
    cut = {(name, part): paired for name, part, _, paired in metrics.pair_coverage(without_pairs_of(small, "swap"))}
    assert [cut["swap", part] for part in ("identity", "polarity", "no emoji")] == [0, 0, 0]
    assert cut["append", "polarity"] == 2


def test_the_report_names_the_perturbations_that_have_no_pair(small, tmp_path):
    rule = {"rule": Rule(lambda text: 0.9 if "Away" in text else 0.2)}
    check(without_pairs_of(small, "swap"), rule, out=tmp_path, cached=False)
    page = html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    named = page.split("No pair at all: ")[1].split("</")[0]
    assert all(f"Swap, {part} (" in named for part in ("identity", "polarity", "no emoji"))
    assert "Append" not in named
