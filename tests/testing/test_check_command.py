"""`davy check` as its user meets it: table, files, gates, exit codes, and the page in a real browser."""

import csv
import html
import json
import textwrap

import pytest

from davy.core import UserError
from davy.shell import console
from davy.shell.app import run
from davy.testing import suites

SUITE = """\
name: tiny
version: 1
lexicons:
  group: [{text: bakers, target: bakers, emoji: 🥖}, {text: cooks, target: cooks, emoji: 🍳}]
functionalities:
  - name: swap
    title: Swap
    label: hateful
    templates:
      - id: s-1
        text: "Away with {group.emoji}"
        identity: "Away with 🌧️"
        polarity: "Hooray for {group.emoji}"
        no emoji: "Away with {group}"
      - id: s-2
        text: "<script>alert(1)</script> {group} are grumblefops & worse"
        polarity: "{Group} are no grumblefops"
"""


@pytest.fixture
def davy(capsys, tmp_path, monkeypatch):
    """Runs a command line; gives back its exit code, stdout and stderr."""
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    yield call
    console.settings.plain = False


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(textwrap.dedent(SUITE), encoding="utf-8")
    return path


@pytest.fixture
def words(tmp_path):
    def made(name, *terms):
        path = tmp_path / name
        path.write_text("\n".join(terms) + "\n", encoding="utf-8")
        return f"keywords:{path}"

    return made


def test_several_models_are_checked_side_by_side(davy, tiny, words, tmp_path):
    out = tmp_path / "out"
    one, two = words("one.txt", "away"), words("two.txt", "grumblefops")
    code, printed, err = davy("check", tiny, "--model", one, "--model", two, "--out", out)
    assert code == 0, err
    assert "one.txt" in printed
    assert "two.txt" in printed
    assert {file.name for file in out.iterdir()} == {
        "report.html",
        "report.json",
        "cells.csv",
        "cases.csv",
        "junit.xml",
    }
    made = json.loads((out / "report.json").read_text("utf-8"))
    first, second = made["models"]
    assert first["accuracy"]["n"] == len(suites.load(tiny).cases) == 11
    assert first["functionalities"]["swap"]["sets"]["no emoji"]["value"] == 1.0
    assert second["sets"]["polarity"]["value"] == 0.5
    assert first["emoji_difference"]["value"] == pytest.approx(0.5 - 1.0)
    rows = list(csv.DictReader((out / "cells.csv").read_text("utf-8").splitlines()))
    assert {row["model"] for row in rows} == {one, two}
    assert "<testsuites" in (out / "junit.xml").read_text("utf-8")


def test_a_second_run_says_what_changed(davy, tiny, words, tmp_path):
    out = tmp_path / "out"
    model = words("list.txt", "away")
    davy("check", tiny, "--model", model, "--out", out)
    words("list.txt", "away", "worse")
    assert davy("check", tiny, "--model", model, "--out", out)[0] == 2
    code, printed, _ = davy("check", tiny, "--model", model, "--out", out, "--replace")
    assert code == 0
    assert "2 cases fixed, 0 broken since the last run" in printed
    assert "What changed since the last run" in (out / "report.html").read_text("utf-8")
    assert (out / "report.before.json").is_file()
    page = (out / "report.html").read_text("utf-8")
    assert "fixed since the last run" in page
    assert page.count('"fixed":1') == 2


def test_a_baseline_that_can_t_be_compared_says_why(davy, tiny, words, tmp_path):
    first, other = words("one.txt", "away"), words("two.txt", "worse")
    base = tmp_path / "b1"
    davy("check", tiny, "--model", first, "--out", base)
    code, out, err = davy("check", tiny, "--model", first, "--model", other, "--earlier-run", base)
    assert code == 0
    assert "0 cases fixed" in out
    assert err.count("Not compared") == 1
    assert f"Not compared: {base} has {first}, not {other}." in " ".join(err.split())
    tiny.write_text(tiny.read_text("utf-8").replace("name: tiny", "name: small"), encoding="utf-8")
    _, _, err = davy("check", tiny, "--model", first, "--earlier-run", base)
    assert f"Not compared: {base} has the suite tiny, not small." in " ".join(err.split())
    _, _, err = davy("check", tiny, "--model", other, "--out", base)
    assert "Not compared" not in err, "nobody named the last run in the folder"


def test_a_gate_fails_with_exit_code_1_when_its_floor_is_raised_above_the_result(davy, tiny, words, tmp_path):
    gate = tmp_path / "gates.yaml"
    model = words("one.txt", "away")
    gate.write_text("accuracy: 0.5\n")
    assert davy("check", tiny, "--model", model, "--gate", gate, "--out", tmp_path / "out")[0] == 0
    gate.write_text("accuracy: 0.95\nfunctionalities: {swap: 0.2}\n")
    code, _, err = davy("check", tiny, "--model", model, "--gate", gate, "--out", tmp_path / "out", "--replace")
    assert code == 1
    assert "gate failed" in err
    assert "and must be at least 0.95" in err
    assert "1 of 3 gates failed" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_json_is_what_the_report_holds_without_the_answers(davy, tiny, words):
    code, out, _ = davy("check", tiny, "--model", words("one.txt", "away"), "--json")
    assert code == 0
    made = json.loads(out)
    assert made["suite"]["hash"] == suites.load(tiny).digest
    assert "outcomes" not in made["models"][0]


def test_a_broken_template_is_named_and_the_rest_still_runs(davy, tiny, words, tmp_path):
    tiny.write_text(tiny.read_text("utf-8") + '      - {id: s-3, text: "{nobody} here"}\n', encoding="utf-8")
    code, _, err = davy("check", tiny, "--model", words("one.txt", "away"), "--out", tmp_path / "out")
    assert code == 0
    assert f"Problem in the suite: {tiny}:18: template 's-3' has the slot {{nobody}}" in err
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "some of its cases were left out" in page
    assert "s-3" in page


SLIPS = [
    ("    label: hateful\n", "    label: hateful\n    templats: []\n", "no field 'templats'"),
    ("functionalities:", "  größe: [tall]\n  Mood: [glad]\nfunctionalities:", "lexicon 'Mood'"),
    ("functionalities:", "  words: {file: none.tsv, columns: [text]}\nfunctionalities:", "no file 'none.tsv'"),
]


@pytest.mark.parametrize(("old", "new", "said"), SLIPS, ids=[said for *_, said in SLIPS])
def test_every_problem_of_a_suite_is_named_and_no_gate_passes_on_what_is_left(
    davy, tiny, words, tmp_path, old, new, said
):
    tiny.write_text(tiny.read_text("utf-8").replace(old, new, 1), encoding="utf-8")
    gate = tmp_path / "gates.yaml"
    gate.write_text("accuracy: 0.1\n")
    code, _, err = davy("check", tiny, "--model", words("one.txt", "away"), "--gate", gate, "--out", tmp_path / "out")
    assert code == 1
    assert said in err
    assert err.count("gate failed") == 1
    assert "the suite has 1 problem and must have none" in err
    assert said in html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))


def test_what_is_wrong_is_one_line_and_exit_code_2(davy, tiny, words, tmp_path):
    model = words("one.txt", "away")
    for arguments, said in (
        (("check", "emoji-em"), "Did you mean 'emoji-en'?"),
        (("check", tiny, "--model", "keyword:x"), "keyword"),
        (("check", tiny, "--model", model, "--model", model), "is named twice"),
        (("check", tiny, "--model", model, "--gate", tmp_path / "no.yaml"), "can't be read"),
        (("check", tiny, "--model", model, "--earlier-run", tmp_path / "no.json"), "no earlier run"),
        (("check", tiny, "--model", model, "--question", "sexist"), "does not answer 'sexist'"),
    ):
        code, _, err = davy(*arguments)
        assert code == 2, arguments
        assert said in err
        assert len(err.strip().splitlines()) == 1


def test_the_page_is_masked_escaped_and_asks_the_network_for_nothing(davy, words, tmp_path):
    out = tmp_path / "out"
    code, _, err = davy("check", "emoji-en", "--model", words("one.txt", "kill"), "--out", out)
    assert code == 0, err
    page = (out / "report.html").read_text("utf-8")
    assert "http://" not in page.replace("http://www.w3.org", "")
    suite = suites.load("emoji-en")
    cases = (out / "cases.csv").read_text("utf-8").lower()
    visible = page.split('id="cases-data"')[0].lower()
    for word in suite.hurtful:
        if "🐪" not in word and "🐐" not in word:
            assert f" {word.lower()} " not in visible
            assert f" {word.lower()}," not in cases


@pytest.mark.browser
def test_cells_lead_to_their_cases_and_filters_narrow_them(davy, tiny, words, tmp_path, browser):
    out = tmp_path / "out"
    models = (words("one.txt", "away"), words("two.txt", "grumblefops"))
    assert davy("check", tiny, "--model", models[0], "--model", models[1], "--out", out)[0] == 0
    page = browser.new_page(viewport={"width": 390, "height": 844})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append("a dialog"))
    page.goto((out / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    rows = page.locator("#cases-list tbody tr")
    assert rows.count() > 0
    page.locator(".heat tbody tr").first.locator("button.cell").nth(1).click()
    assert page.locator("#filter-set").input_value() == "1"
    assert rows.count() == 1
    assert "Away with 🌧️" in rows.first.inner_text()
    page.select_option("#filter-result", "")
    page.select_option("#filter-set", "")
    page.select_option("#filter-functionality", "")
    assert rows.count() == 11
    page.fill("#filter-search", "<SCRIPT>")
    assert rows.count() == 2
    assert "<script>alert(1)</script>" in rows.first.inner_text()
    page.fill("#filter-search", "no such words")
    assert rows.count() == 0
    assert "No case fits" in page.locator("#cases-found").inner_text()
    assert said == []
    page.close()


def figures(printed):
    return [(m["accuracy"]["value"], m["pairs"]["all"]["value"]) for m in json.loads(printed)["models"]]


def test_a_file_of_predictions_and_a_function_are_checked_like_a_detector(davy, tiny, words, tmp_path, monkeypatch):
    model = words("one.txt", "away")
    assert davy("suite", "build", tiny, "--out", tmp_path / "cases.csv")[0] == 0
    assert davy("score", tmp_path / "cases.csv", "--model", model, "--out", tmp_path / "p.csv")[0] == 0
    (tmp_path / "own_detector.py").write_text(
        "def score(texts):\n    return [0.9 if 'away' in text.lower() else 0.1 for text in texts]\n\n"
        "def label(texts):\n    return ['hateful' if 'away' in text.lower() else 'not hateful' for text in texts]\n\n"
        "def short(texts):\n    return [True]\n"
    )
    monkeypatch.chdir(tmp_path)
    chosen = (model, "predictions:p.csv", "python:own_detector:score", "python:own_detector:label")
    code, out, err = davy("check", tiny, *(part for name in chosen for part in ("--model", name)), "--json")
    assert code == 0, err
    assert len(set(figures(out))) == 1, "four ways to say the same thing"
    code, _, err = davy("check", tiny, "--model", "python:own_detector:short")
    assert code == 2
    assert "returned 1 answers for" in err


def test_predictions_may_lack_cases_and_say_what_is_wrong_with_them(davy, tiny, tmp_path):
    cases = suites.load(tiny).cases
    some = tmp_path / "some.csv"
    some.write_text("id,hate.label\n" + "".join(f"{case.id},Hateful\n" for case in cases[:4]))
    code, out, err = davy("check", tiny, "--model", f"predictions:{some}", "--json")
    assert code == 0, err
    (made,) = json.loads(out)["models"]
    assert len(made["unanswered"]) == len(cases) - 4
    assert made["unanswered"][0]["reason"] == "the file has no answer"
    first = cases[0].id
    for text, said in (
        ("id,other\n1,2\n", "'hate.label'"),
        (f"id,hate\n{first},1.5\n", "no probability from 0 to 1"),
        (f"id,hate.label\n{first},perhaps\n", "no label here"),
        (f"id,hate\n{first},0.5\n{first},0.5\n", "two rows for case"),
        ("id,hate\nx,0.5\n", "no id fits"),
    ):
        some.write_text(text)
        code, _, err = davy("check", tiny, "--model", f"predictions:{some}")
        assert code == 2
        assert said in " ".join(err.split())


def test_the_shell_s_n_counts_answers_and_names_them_by_model_where_they_differ(davy, tiny, words, tmp_path):
    cases = suites.load(tiny).cases
    some = tmp_path / "some.csv"
    some.write_text("id,hate.label\n" + "".join(f"{case.id},Hateful\n" for case in cases[:4]))

    def sizes(*models):
        code, out, err = davy("check", tiny, *(part for model in models for part in ("--model", model)))
        assert code == 0, err
        lines = [" ".join(line.split()) for line in out.splitlines()]
        heads = ("overall", "pairs both right", "set: original", "Swap", "original", "set: no emoji")
        return {head: rest for line in lines for head in heads if (rest := line.removeprefix(f"{head} ")) != line}

    alone = sizes(f"predictions:{some}")
    starts = {"overall": "4 ", "pairs both right": "3 ", "set: original": "2 ", "Swap": "4 ", "original": "2 "}
    assert all(alone[head].startswith(start) for head, start in starts.items()), alone
    assert "set: no emoji" not in alone
    both = sizes(words("one.txt", "away"), f"predictions:{some}")
    starts = {"overall": "11 / 4 ", "pairs both right": "8 / 3 ", "set: original": "4 / 2 ", "Swap": "11 / 4 "}
    assert all(both[head].startswith(start) for head, start in starts.items()), both
    assert both["set: no emoji"].startswith("2 / 0 ")


@pytest.mark.parametrize("name", ["python:os:getcwd", "predictions:p.csv"])
def test_code_and_files_are_never_loaded_by_name_on_a_server(tiny, name):
    from davy.testing.check import check

    with pytest.raises(UserError, match="There is no model"):
        check(str(tiny), [name])


WIDER_THAN_ITS_FRAME = """[...document.querySelectorAll(".table, figure")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => `${each.className} ${each.querySelector("caption, th")?.textContent}`)"""


@pytest.mark.browser
@pytest.mark.parametrize(("media", "width"), [("screen", 1400), ("screen", 390), ("print", 700)])
def test_with_three_models_nothing_is_cut_on_a_screen_a_phone_or_paper(davy, words, tmp_path, browser, media, width):
    out = tmp_path / "out"
    models = [words(f"a-rather-long-name-{i}.txt", word) for i, word in enumerate(("women", "kill", "trans"))]
    chosen = [part for model in models for part in ("--model", model)]
    code, _, err = davy("check", "emoji-en", *chosen, "--resamples", 20, "--out", out)
    assert code == 0, err
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.emulate_media(media=media)
    page.goto((out / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WIDER_THAN_ITS_FRAME) == []
    assert page.locator("text=selection rate").count() > 0
    assert page.locator("#filter-result").input_value() == "model-0", "it opens with what the first model gets wrong"
    verdicts = page.locator("#cases-list tbody tr td:nth-child(3) span:first-child")
    assert set(verdicts.all_inner_texts()) == {"wrong"}
    page.close()


def test_robustness_is_tested_on_any_labelled_file(davy, words, tmp_path):
    rows = "".join(f"{i},The baker kneads dough number {i},{'hate' if i % 2 else 'nothate'}\n" for i in range(10))
    (tmp_path / "posts.csv").write_text("nr,body,class\n" + rows)
    model = words("one.txt", "baker")
    code, out, err = davy(
        "check", f"robustness:{tmp_path / 'posts.csv'}", "--gold", "class", "--model", model, "--json"
    )
    assert code == 0, err
    made = json.loads(out)
    parts = made["models"][0]["functionalities"]
    assert parts["casing"]["accuracy"]["value"] == 1.0, "a word list does not look at case"
    assert parts["neutral emoji"]["accuracy"]["value"] == 1.0
    assert parts["homoglyphs"]["accuracy"]["value"] < 1.0
    code, _, err = davy("check", f"robustness:{tmp_path / 'posts.csv'}", "--model", model)
    assert code == 2
    assert "--gold COLUMN" in err


def test_an_id_of_two_posts_in_a_file_for_robustness_is_one_line(davy, words, tmp_path):
    rows = ["7,one baker,hate", "8,two bakers,nothate", "7,one baker,hate"]
    file, model = tmp_path / "posts.csv", words("one.txt", "baker")
    file.write_text("\n".join(["id,text,hate", *rows]) + "\n")
    assert davy("check", f"robustness:{file}", "--model", model)[0] == 0, "the same post twice is one case"
    file.write_text("\n".join(["id,text,hate", *rows, "8,three bakers,hate"]) + "\n")
    code, _, err = davy("check", f"robustness:{file}", "--model", model)
    assert code == 2
    assert "id '8' stands for two texts. Ids must differ" in err
    assert err.count("\n") == 1


def test_a_spoilt_last_run_or_a_folder_that_can_t_be_made_wastes_no_pass(davy, tiny, words, tmp_path):
    model = words("one.txt", "away")
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text("{}")
    code, _, err = davy("check", tiny, "--model", model, "--out", out, "--replace")
    assert code == 0
    assert "Not compared with the last run" in err
    (tmp_path / "file").write_text("")
    code, _, err = davy("check", tiny, "--model", model, "--out", tmp_path / "file")
    assert code == 2
    assert "is a file. Give a folder to write into." in err
