"""`davy suite` as its user meets it: output, exit codes, files."""

import json

import polars as pl
import pytest

from davy.shell import console
from davy.shell.app import run
from davy.testing import suites

MINE = """\
# My suite; this comment stays.
name: mine
version: 1
counts: {cases: 3, templates: 1}

lexicons:
  group:
    - {text: bakers, target: bakers}
    - {text: cooks, target: cooks}
functionalities:
  - name: praise
    label: not hateful
    templates:
      - id: p-1
        text: "{Group} are fine"  # and this one
        polarity: "Chairs are awful"

  - name: other
    label: hateful
    templates:
      - {id: o-1, text: "Away with ants"}
"""


@pytest.fixture
def davy(capsys):
    """Runs a command line; gives back its exit code, stdout and stderr."""

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    yield call
    console.settings.plain = False


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.replace("cases: 3, templates: 1", "cases: 4, templates: 2"), encoding="utf-8")
    return path


def test_counts_prints_every_cell(davy):
    code, out, _ = davy("suite", "show", "emoji-en", "--counts")
    assert code == 0
    lines = {
        line.split("  ")[0].strip(): [int(cell) for cell in line.split() if cell.isdigit()] for line in out.splitlines()
    }
    assert lines["F1 Verb swap"][-5:] == [300, 50, 60, 60, 470]
    assert lines["F7 Emoji leetspeak"][-5:] == [430, 45, 430, 140, 1045]
    assert lines["all"] == [2126, 314, 902, 588, 3930]
    assert "hateful 2,654, not hateful 1,276" in out
    _, out, _ = davy("suite", "show", "emoji-en", "--counts", "--json")
    assert json.loads(out)["cells"]["append"] == {"original": 288, "identity": 48, "polarity": 60, "no emoji": 60}


def test_list_names_every_suite(davy):
    code, out, _ = davy("suite", "list", "--json")
    assert code == 0
    assert [suite["name"] for suite in json.loads(out)] == suites.names()
    assert "emoji-en" in davy("suite", "list")[1]


def test_cases_are_shown_masked_unless_plain_is_asked_for(davy):
    wanted = (
        "suite",
        "show",
        "emoji-en",
        "--functionality",
        "positive_confounder",
        "--case-set",
        "no emoji",
        "--identity",
        "women",
    )
    _, out, _ = davy(*wanted, "--json", "--most", 500)
    shown = {case["text"] for case in json.loads(out) if case["template"] == "smile-13"}
    assert len(shown) == 3
    assert all("*" in text for text in shown)
    _, out, _ = davy("--plain", *wanted, "--json", "--most", 500)
    plain = {case["text"] for case in json.loads(out) if case["template"] == "smile-13"}
    assert not any("*" in text for text in plain)


def test_build_writes_the_released_columns_and_reads_back_as_a_suite(davy, tmp_path):
    out = tmp_path / "cases.csv"
    assert davy("suite", "build", "emoji-en", "--out", out)[0] == 0
    table = pl.read_csv(out)
    assert len(table) == 3930
    assert table["text"].n_unique() == 3930
    code, printed, _ = davy("suite", "show", out, "--counts", "--json")
    assert code == 0
    ours = suites.counts(suites.load("emoji-en"))
    again = json.loads(printed)
    assert again["cells"] == ours["cells"]
    assert again["targets"] == ours["targets"]
    assert again["labels"] == ours["labels"]


def test_an_unknown_functionality_lists_those_there_are(davy):
    code, _, err = davy("suite", "show", "emoji-en", "--functionality", "verb_swop")
    assert code == 2
    assert "Did you mean 'verb_swap'?" in err


def test_validate_prints_problems_with_lines_and_exits_2(davy, mine):
    assert davy("suite", "validate", mine, "emoji-en")[0] == 0
    mine.write_text(mine.read_text().replace("{Group}", "{Grop}"), encoding="utf-8")
    code, out, err = davy("suite", "validate", mine)
    assert code == 2
    assert f"{mine}:15: template 'p-1' has the slot {{grop}}" in out
    assert "problems. Mend and check again." in err


def test_add_keeps_comments_and_ids_and_brings_the_counts_up_to_date(davy, mine):
    before = {case.id: case.text for case in suites.load(mine).cases}
    code, _, err = davy(
        *("suite", "add", mine, "--functionality", "praise", "--id", "p-2"),
        *("--template", "I like {group}", "--perturbation", "polarity=I fear {group}"),
    )
    assert code == 0, err
    assert "4 cases more, 8 in all" in err
    text = mine.read_text("utf-8")
    assert "# My suite; this comment stays." in text
    assert "# and this one" in text
    assert text.index("p-2") < text.index("name: other")
    reading = suites.read(mine)
    assert not reading.problems
    after = {case.id: case.text for case in reading.suite.cases}
    assert before.items() <= after.items()


def test_add_refuses_what_does_not_fit_and_changes_nothing(davy, mine):
    before = mine.read_bytes()
    for wrong, said in (
        (("--functionality", "prase", "--id", "p-2", "--template", "x"), "Did you mean 'praise'?"),
        (("--functionality", "praise", "--id", "p-1", "--template", "x"), "Two templates have the id 'p-1'"),
        (("--functionality", "praise", "--id", "p-2", "--template", "{nobody}"), "no lexicon of that name"),
        (("--functionality", "praise", "--id", "p-2", "--template", "x", "--perturbation", "y"), "must be SET=TEXT"),
    ):
        code, _, err = davy("suite", "add", mine, *wrong)
        assert code == 2
        assert said in err
        assert mine.read_bytes() == before
    assert davy("suite", "add", "emoji-en", "--functionality", "append", "--id", "x", "--template", "x")[0] == 2


def test_copy_takes_the_word_lists_along(davy, tmp_path):
    out = tmp_path / "own.yaml"
    assert davy("suite", "copy", "emoji-en", "--out", out)[0] == 0
    assert suites.load(out).digest == suites.load("emoji-en").digest
    assert davy("suite", "copy", "emoji-en", "--out", out, "--as", "own", "--replace")[0] == 0
    assert suites.load(out).name == "own"
    assert davy("suite", "copy", "emoji-en", "--out", out, "--as", "emoji-de", "--replace")[0] == 2
    code, _, err = davy("suite", "copy", "emoji-en", "--out", out)
    assert code == 2
    assert "Write over it with --replace" in err


def test_a_table_that_is_no_suite_says_what_it_wants(davy, tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text("id,text\n1,hello\n")
    code, _, err = davy("suite", "show", path)
    assert code == 2
    assert "label_gold" in err
    assert "hello" not in err


def test_hatecheck_and_its_multilingual_sisters_load_from_a_path(davy, tmp_path):
    english = tmp_path / "hatecheck.csv"
    english.write_text(
        "functionality,case_id,test_case,label_gold,target_ident,ref_case_id,templ_id\n"
        "derog_neg_emote_h,1,I loathe bakers.,hateful,bakers,,1\n"
        "negate_neg_nh,2,I do not loathe bakers.,non-hateful,bakers,1,2\n"
    )
    code, out, err = davy("suite", "show", f"hatecheck:{english}", "--counts", "--json")
    assert code == 0, err
    assert json.loads(out)["labels"] == {"hateful": 1, "not hateful": 1}
    german = tmp_path / "hatecheck_cases_final_german.csv"
    german.write_text(
        "mhc_case_id,functionality,test_case,label_gold,target_ident,ref_case_id,templ_id\n"
        "German-1,derog_neg_emote_h,Bäcker sind furchtbar.,hateful,Bäcker,,1\n"
    )
    _, out, _ = davy("suite", "show", german, "--json")
    assert json.loads(out)[0]["target"] == "bäcker"


def test_a_suite_is_validated_with_people_in_rounds(davy, mine, tmp_path):
    people = [part for who in ("ann", "ben", "cay") for part in ("--annotator", who)]
    assert davy("suite", "issue", mine, *people, "--out", tmp_path / "r1")[0] == 0
    gold = {case.id: case.expected for case in suites.load(mine).cases}
    for who in ("ann", "ben", "cay"):
        rows = pl.read_csv(tmp_path / "r1" / f"{who}.csv", infer_schema=False)
        labels = [gold[case] if who != "ben" or "o-1" not in case else "not hateful" for case in rows["case_id"]]
        rows.with_columns(label=pl.Series(labels)).write_csv(tmp_path / "r1" / f"{who}.csv")
    answers = sorted((tmp_path / "r1").glob("*.csv"))
    code, out, _ = davy("suite", "review", mine, *answers, "--out", tmp_path / "review.csv")
    assert code == 0
    assert "1 cases to look at, 1 of them undecided" in out
    assert "Randolph's κ 0.667" in out, "4 cases, one of them 2 to 1: observed 1/4 · (3 + 1/3), chance 1/2"
    rows = pl.read_csv(tmp_path / "review.csv", infer_schema=False).with_columns(fault=pl.lit("case"))
    rows.write_csv(tmp_path / "review.csv")
    _, out, _ = davy("suite", "review", mine, *answers, "--decisions", tmp_path / "review.csv")
    assert "replace o-1: 1 cases at fault" in out
    code, _, err = davy("suite", "issue", mine, "--annotator", "ann", "--out", tmp_path / "r1")
    assert code == 2
    assert "may hold answers" in err
