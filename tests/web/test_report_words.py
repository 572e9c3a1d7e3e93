"""Reports of checks and evaluations are read in German: their own words and figures, never a post's or a model's."""

from __future__ import annotations

import ast
import re
from importlib import resources
from pathlib import Path

import pytest
import yaml

from davy.evaluation.results import CALIBRATION, OVERALL
from davy.testing import suites
from davy.testing.metrics import RATE_TITLES
from davy.web.i18n import translate_report, translations_of

ROOT = Path(str(resources.files("davy")))
SOURCES = [
    *sorted((ROOT / "testing/report").glob("*.py")),
    ROOT / "evaluation/page.py",
    ROOT / "evaluation/results.py",
]
SAME = {"F1", "macro-F1", "AUROC", "Brier", "ECE", "p"}
"""Heads that are the same in both languages."""


def written(node: ast.expr) -> str:
    """Return a text as it stands in the source, with `{}` for its values; "" where it is put together."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(written(it) if isinstance(it, ast.Constant) else "{}" for it in node.values)
    return ""


def test_every_heading_sentence_and_head_of_a_check_and_an_evaluation_is_there_in_german():
    german = translations_of("reports", "de")
    wanted = {*RATE_TITLES.values(), *OVERALL.values(), *CALIBRATION.values()} - SAME
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("section", "heading", "say", "plot", "Column"):
                wanted |= {written(it) for it in (node.args[:1] if called == "Column" else node.args)}
    wanted = {it for it in wanted if re.search(r"[^\W\d_]{2}", it)}
    assert len(wanted) > 50
    # evaluation/results.py has one more table, for spreadsheets, which pages do not show.
    assert wanted - set(german) - SAME <= {"value", "low", "high"}


def test_no_german_sentence_of_reports_is_left_over():
    said = "\n".join(
        written(node)
        for folder in ("testing", "evaluation", "report", "measure", "core", "rounds", "corpus")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.expr)
    )
    titles = (
        yaml.safe_load(path.read_text(encoding="utf-8"))["title"] for path in (ROOT / "testing/suites").glob("*.yaml")
    )
    said += "\n".join(titles)
    spare = {
        english
        for english in translations_of("reports", "de")
        if not all(part.strip(" ,.:()[]†") in said for part in english.split("{}"))
    }
    assert not spare, "nobody says this any more"


@pytest.fixture
def checked(tmp_path):
    """The report's page of a check with two models, an earlier run and gates, one of which can't be passed."""
    from davy.testing.check import check

    words = {name: tmp_path / f"{name}.txt" for name in ("one", "two")}
    words["one"].write_text("away\t0.9\n")
    words["two"].write_text("grumblefops\t0.9\n")
    suite = tmp_path / "tiny.yaml"
    suite.write_text(
        "name: tiny\nversion: 1\ntitle: Tiny\n"
        "lexicons: {group: [{text: grumblefops, target: women}, {text: bakers, target: bakers}]}\n"
        "functionalities:\n"
        '  - {name: f, title: Away with them, label: hateful, templates: [{id: a, text: "Away with {group}"}]}\n'
        '  - {name: g, title: Fine, label: not hateful, templates: [{id: b, text: "Cases of {group}"}]}\n'
    )
    gates = tmp_path / "gates.yaml"
    gates.write_text("accuracy: 1.0\n")
    for _ in range(2):
        check(
            suites.load(suite),
            {name: f"keywords:{path}" for name, path in words.items()},
            out=tmp_path / "out",
            gates=gates,
            cached=False,
        )
    return (tmp_path / "out/report.html").read_text("utf-8")


def visible(html: str) -> set[str]:
    """Return what a page says, piece by piece."""
    html = re.sub(r"<(script|style|code)\b.*?</\1>", "", html, flags=re.DOTALL)
    return {part.strip() for part in re.findall(r">([^<]+)<", html) if re.search(r"[^\W\d_]{2}", part)}


def test_a_german_reader_finds_no_english_words_in_a_check_but_those_of_its_data(checked):
    english, german = visible(checked), visible(translate_report(checked, "de"))
    data = {"one", "two", "bakers", "Away with them", "Fine", "Away with grumblefops", "Away with bakers"}
    data |= {"Cases of grumblefops", "Cases of bakers", "Davy", "Version", "Test", "Fairness", "BPSN AUC"}
    versions = re.findall(r">([0-9a-f]{12})<", checked)
    assert english & german - data - {"BNSP AUC", *versions} == set()
    assert "Genauigkeit" in german
    assert "Hasserfüllt" in german


def test_figures_are_written_as_germans_write_them_and_posts_code_and_names_are_left_alone():
    html = (
        '<html lang="en"><p>n = 2,000</p><td data-head="expected">[0.801, 0.842]</td>'
        '<span class="text" dir="auto">expected <button data-plain="wrong">wrong</button> 1,000</span>'
        "<code>overall 0.5</code><p>model-2.0 said &lt;b&gt;</p><script>overall</script>"
        "<p>12 of 3,000 gates failed.</p>"
    )
    assert translate_report(html, "de") == (
        '<html lang="de"><p>n = 2.000</p><td data-head="erwartet">[0,801; 0,842]</td>'
        '<span class="text" dir="auto">expected <button data-plain="wrong">wrong</button> 1,000</span>'
        "<code>overall 0.5</code><p>model-2.0 said &lt;b&gt;</p><script>overall</script>"
        "<p>12 von 3.000 Hürden sind nicht genommen.</p>"
    )


def test_translate_report_leaves_english_readers_alone(checked):
    assert translate_report(checked, "en") == checked
