"""Gates: what passes, what fails and why, and gate files that are wrong."""

from xml.etree import ElementTree

import pytest

from davy.core import UserError
from davy.testing import changes, gates
from davy.testing.metrics import measure_fairness
from davy.testing.report.files import junit
from davy.testing.report.summary import summarise
from davy.testing.run import run_suite
from fake_detectors import Rule


def angry(text):
    return 0.9 if "Away" in text or "😡" in text else 0.2


def summed(suite, rule, version="1"):
    found = run_suite(suite, Rule(rule, version=version))
    return summarise(suite, [found], [measure_fairness(suite, found)], {"seed": 0})


@pytest.fixture
def gate_file(tmp_path):
    def written(text):
        path = tmp_path / "gates.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def judged(path, made, against=None):
    return {result.gate: result for result in gates.judge_gates(gates.read_gates(path), made, against)}


def test_a_floor_passes_at_its_value_and_fails_above_it(small, gate_file):
    made = summed(small, angry)
    value = made["models"][0]["accuracy"]["value"]
    assert judged(gate_file(f"accuracy: {value}\n"), made)["accuracy"].passed
    failed = judged(gate_file(f"accuracy: {value + 0.01:.3f}\n"), made)["accuracy"]
    assert not failed.passed
    assert failed.reason.startswith(f"accuracy is {value:.3f}, and must be at least")


def test_floors_reach_functionalities_cells_sets_labels_targets_and_pairs(small, gate_file):
    text = """\
    functionalities: {"*": 0.1, swap: 0.99}
    cells: {append: {original: 0.6}}
    sets: {identity: 0.5}
    labels: {hateful: 0.7}
    targets: {"*": 0.2}
    pairs: 0.3
    """
    found = judged(gate_file(text), summed(small, angry))
    passed = {name for name, result in found.items() if result.passed}
    assert "accuracy on swap" not in passed
    assert "accuracy on append × original" not in passed
    assert "accuracy on set 'identity'" not in passed
    assert {"accuracy on label 'hateful'", "accuracy on target 'bakers'", "accuracy on target 'cooks'"} <= passed
    assert "pairs with both sides right" in passed


def test_the_lower_end_of_the_interval_may_be_what_counts(small, gate_file):
    made = summed(small, angry)
    assert judged(gate_file("accuracy: 0.6\n"), made)["accuracy"].passed
    assert not judged(gate_file("accuracy: 0.6\non: low\n"), made)["accuracy"].passed


def test_the_gap_between_targets_has_a_limit(small, gate_file):
    made = summed(small, lambda text: 0.9 if "ooks" in text or "🍳" in text else 0.1)
    found = judged(gate_file("gap: {recall: 0.2, accuracy: 0.9}\n"), made)
    assert not found["gap between targets in recall"].passed
    assert "cooks 1.000" in found["gap between targets in recall"].reason
    assert found["gap between targets in accuracy"].passed


def test_a_drop_against_the_baseline_has_a_limit(small, gate_file):
    before, now = summed(small, angry), summed(small, lambda text: 0.0 if "Hooray" not in text else 0.9, "2")
    against = [changes.change_record(one) for one in changes.find_changes(now, before, small)]
    found = judged(gate_file("drop: 0.05\n"), now, against)
    assert not found["drop in accuracy"].passed
    assert not found["drop in accuracy on swap"].passed
    same = [changes.change_record(one) for one in changes.find_changes(before, before, small)]
    assert all(result.passed for result in judged(gate_file("drop: 0\n"), before, same).values())


def test_a_drop_without_a_baseline_does_not_pass(small, gate_file):
    found = judged(gate_file("drop: 0.05\n"), summed(small, angry), None)
    assert not found["drop against the baseline"].passed
    assert "--earlier-run" in found["drop against the baseline"].reason


def test_changes_name_what_was_fixed_and_broken(small):
    before, now = summed(small, angry), summed(small, lambda text: 0.9 if "🤮" in text or "Away" in text else 0.2, "2")
    (change,) = changes.find_changes(now, before, small)
    assert (len(change.fixed), len(change.broken)) == (3, 3)
    assert change.by_functionality == {"append": (10, 3, 3), "swap": (7, 0, 0)}
    assert change.p == 1.0
    assert (change.before, change.after) == ("1", "2")


BROKEN = [
    ("acuracy: 0.5\n", 1, "Did you mean 'accuracy'?"),
    ("accuracy: 80\n", 1, "must be a number from 0 to 1"),
    ("accuracy: 0.5\ngap: {fprr: 0.1}\n", 2, "Did you mean 'fpr'?"),
    ("functionalities: 0.4\n", 1, "must be a mapping"),
    ("on: high\naccuracy: 0.2\n", 1, "`value` or `low`"),
    ("unanswered: none\n", 1, "whole number"),
    ("accuracy: [\n", 2, "This is not YAML"),
    ("", 1, "The file is empty"),
]


@pytest.mark.parametrize(("text", "line", "said"), BROKEN)
def test_a_wrong_gate_file_is_named_with_its_line(gate_file, text, line, said):
    with pytest.raises(UserError) as caught:
        gates.read_gates(gate_file(text))
    assert f"gates.yaml:{line}: " in caught.value.message
    assert said in caught.value.message


def test_a_gate_for_what_the_suite_lacks_is_an_error(small, gate_file):
    with pytest.raises(UserError, match=r"functionality 'swop'.*Did you mean 'swap'"):
        judged(gate_file("functionalities: {swop: 0.4}\n"), summed(small, angry))


def test_the_junit_file_has_a_test_for_each_gate_and_cell(small, gate_file):
    made = summed(small, angry)
    results = gates.judge_gates(gates.read_gates(gate_file("accuracy: 0.99\n")), made, None)
    root = ElementTree.fromstring(junit(made, results))  # noqa: S314 - our own text
    (suite,) = root.iter("testsuite")
    cases = list(suite.iter("testcase"))
    assert int(suite.get("tests")) == len(cases) == 2 + 8
    assert int(suite.get("failures")) == len(list(suite.iter("failure"))) == 1
    assert "must be at least 0.99" in next(suite.iter("failure")).get("message")


def test_a_star_stands_for_every_name_without_a_floor_of_its_own(small, gate_file):
    results = gates.judge_gates(
        gates.read_gates(gate_file('functionalities: {"*": 0.1, swap: 0.99}\n')), summed(small, angry), None
    )
    floors = {result.gate: result.limit for result in results}
    assert floors["accuracy on swap"] == 0.99
    assert floors["accuracy on append"] == 0.1
    assert len([result for result in results if result.gate == "accuracy on swap"]) == 1
