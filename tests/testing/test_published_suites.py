"""Files of the shape of HateCheck and HatemojiCheck, written here: rows, pairs, languages, intervals."""

import csv
import json

import pytest
from interval_by_hand import clustered_interval

from davy.core import UserError
from davy.shell.app import run
from davy.testing import metrics, suites
from davy.testing.run import run_suite
from davy.testing.suite_source import load_suite
from fake_detectors import Rule

ENGLISH = ("functionality", "case_id", "test_case", "label_gold", "target_ident", "ref_case_id", "templ_id")
MULTILINGUAL = ("mhc_case_id", *ENGLISH[:1], *ENGLISH[2:])
GROUPS = ("bakers", "cooks", "ushers")


def write(path, heads, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([heads, *rows])
    return path


def hatecheck_rows(before=""):
    """Return three functionalities of five templates: hate, its negation (refers to it), and a mixed one."""
    rows, number = [], 0
    first = {}
    for template in range(5):
        for group in GROUPS:
            number += 1
            first[template, group] = number
            text = f"I loathe {group} {'very ' * template}much."
            rows.append(("derog_neg_emote_h", f"{before}{number}", text, "hateful", group, "", template))
    for template in range(5):
        for group in GROUPS:
            number += 1
            text = f"I do not loathe {group} {'very ' * template}much."
            ref = f"{first[template, group]}.0"
            rows.append(("negate_neg_nh", f"{before}{number}", text, "non-hateful", group, ref, 10 + template))
    for template in range(4):  # two of four templates refer to another case
        number += 1
        ref = f"{first[template, 'bakers']}.0" if template % 2 else ""
        text = f"Loathing bakers {'so ' * template}is wrong."
        rows.append(("counter_ref_nh", f"{before}{number}", text, "non-hateful", "bakers", ref, 20 + template))
    return rows


@pytest.fixture
def english(tmp_path):
    return write(tmp_path / "cases.csv", ENGLISH, hatecheck_rows())


@pytest.fixture
def german(tmp_path):
    rows = [(case, functionality, *rest) for functionality, case, *rest in hatecheck_rows("german-")]
    return write(tmp_path / "multilingual.csv", MULTILINGUAL, rows)


def check(path, capsys, tmp_path, monkeypatch, *more):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.txt").write_text("loathe\n")
    code = run(["check", str(path), "--model", "keywords:w.txt", "--resamples", "20", *more])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_rows_of_hatecheck_show_all_cases_of_a_functionality_once(english, capsys, tmp_path, monkeypatch):
    out = check(f"hatecheck:{english}", capsys, tmp_path, monkeypatch)
    table = out[out.index("functionality") :].splitlines()
    rows = [line.split("  ")[0].strip() for line in table[2:] if "[" in line]
    assert rows[:3] == [
        "F1 Derogation: strong negative emotions",
        "F15 Negation: negated hateful statement, not hateful",
        "F21 Counter speech: refers to hate",
    ]
    counts = [int(line.split("[")[0].split()[-2]) for line in table[2:] if line.strip().startswith("F")]
    assert counts == [15, 15, 4]
    assert "set:" not in out, "there is one set, and the overall row shows it"
    assert "contrast" not in out


def test_the_page_shows_each_cell_once(english, capsys, tmp_path, monkeypatch):
    check(f"hatecheck:{english}", capsys, tmp_path, monkeypatch, "--out", str(tmp_path / "out"))
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    heat = html[html.index('class="table heat"') :]
    heat = heat[: heat.index("</table>")]
    assert heat.count("<button") == 4, "three functionalities and all"
    assert "F1 Derogation" in heat


@pytest.mark.parametrize("name", ["english", "german"])
def test_pairs_are_those_that_the_file_names(name, request):
    suite = load_suite(f"hatecheck:{request.getfixturevalue(name)}")
    before = "german-" if name == "german" else ""
    expected = {(f"{before}{i}", f"{before}{i + 15}") for i in range(1, 16)}
    expected |= {(f"{before}4", f"{before}32"), (f"{before}10", f"{before}34")}
    assert set(suite.links) == expected
    assert len(suite.links) == 17


def test_intervals_equal_a_computation_by_hand(german):
    suite = load_suite(f"hatecheck:{german}")
    found = run_suite(suite, Rule(lambda text: 0.9 if "loathe" in text and "very very" not in text else 0.1))
    right = {out.case: out.correct for out in found.outcomes}
    template = {case.id: case.template for case in suite.cases}
    whole = next(metrics.cells(suite, found, ())).accuracy
    low, high = clustered_interval([right[c.id] for c in suite.cases], [template[c.id] for c in suite.cases])
    assert whole.clusters == 14
    assert (whole.low, whole.high) == (pytest.approx(low, abs=1e-5), pytest.approx(high, abs=1e-5))
    pairs = metrics.pairs_right(suite, found)["all"]
    low, high = clustered_interval(
        [right[a] and right[b] for a, b in suite.links], [template[a] for a, _ in suite.links]
    )
    assert (pairs.low, pairs.high) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))


def test_the_language_comes_from_the_ids_a_column_or_the_option(english, german, tmp_path):
    assert load_suite(f"hatecheck:{german}").lang == "de", "the ids say german"
    assert load_suite(f"hatecheck:{english}").lang == "en"
    assert load_suite(f"hatecheck:{english}", lang="nl").lang == "nl"
    column = write(tmp_path / "a.csv", (*ENGLISH, "language"), [(*row, "French") for row in hatecheck_rows()])
    assert {case.lang for case in load_suite(f"hatecheck:{column}").cases} == {"fr"}
    named = write(tmp_path / "hatecheck_german.csv", ENGLISH, hatecheck_rows())
    assert load_suite(f"hatecheck:{named}").lang == "und", "a file's name alone is no evidence, for German or English"
    wrong = write(tmp_path / "spanish.csv", MULTILINGUAL, [(c, f, *r) for f, c, *r in hatecheck_rows("german-")])
    assert load_suite(f"hatecheck:{wrong}").lang == "de"
    with pytest.raises(UserError, match="says itself"):
        load_suite("emoji-en", lang="de")


EMOJI = ("case_id", "templ_id", "test_grp_id", "text", "target", "functionality", "set", "label_gold")
EMOJI = (*EMOJI, "unrealistic_flags", "included_in_test_suite")
CASES = [
    ("1", "1.0", "1", "Bakers came by 😡", "bakers", "append", "orig", 1, 0, 1),
    ("2", "1.0", "1", "Bakers came by 🤮", "bakers", "append", "orig", 1, 0, 1),
    ("3", "1.0", "1", "Cooks came by 😡", "cooks", "append", "orig", 1, 0, 1),
    ("4", "1.1", "1", "Parcels came by 😡", "none", "append", "identity_perturb", 0, 0, 1),
    ("5", "1.2", "1", "Bakers came by 😊", "bakers", "append", "polarity_perturb", 0, 0, 1),
    ("6", "1.3", "1", "Cooks came by", "cooks", "append", "no_emoji_perturb", 0, 0, 1),
    ("7", "1.2", "1", "Bakers stay away 😡", "bakers", "append", "polarity_perturb", 1, 0, 1),
    ("8", "1.0", "1", "Nobody keeps this one", "bakers", "append", "orig", 1, 3, 0),
    ("9", "2.0", "2", "I 🔪 the 👩‍🍳", "cooks", "double_swap", "orig", 1, 0, 1),
    ("10", "2.0", "2", "I 💣 the 👩‍🍳", "cooks", "double_swap", "orig", 1, 0, 1),
    ("11", "2.3", "2", "I stab the cook", "cooks", "double_swap", "no_emoji_perturb", 1, 0, 1),
    ("12", "2.1", "2", "I 🔪 the 🥔", "none", "double_swap", "identity_perturb", 0, 0, 1),
    ("13", "2.2", "2", "I ❤️ the 👩‍🍳", "cooks", "double_swap", "polarity_perturb", 0, 0, 1),
]


@pytest.fixture
def emoji(tmp_path):
    return write(tmp_path / "emoji.csv", EMOJI, CASES)


def test_a_pair_differs_in_identity_emoji_or_text_alone(emoji):
    suite = load_suite(f"hatemojicheck:{emoji}")
    assert sorted(suite.links, key=lambda link: (int(link[1]), int(link[0]))) == [
        ("1", "4"),  # another identity, the same emoji; not 2, whose emoji differs too
        ("3", "4"),
        ("1", "5"),  # another emoji
        ("2", "5"),
        ("3", "6"),  # the emoji is gone, about the same group
        ("1", "7"),  # other words, the same emoji
        ("9", "11"),  # both emoji are words
        ("10", "11"),
        ("9", "12"),  # another identity; 10 has another verb as well
        ("9", "13"),
        ("10", "13"),
    ]


def test_rows_that_are_not_in_the_suite_are_left_out_and_the_page_says_so(emoji):
    suite = load_suite(f"hatemojicheck:{emoji}")
    assert "8" not in {case.id for case in suite.cases}
    assert len(suite.cases) == 12
    assert suite.source == "1 rows with included_in_test_suite = 0 are left out"
    assert not suite.missing
    assert suite.titled("double_swap") == "F4 Double swap"


def test_pairs_read_from_our_own_suite_s_file_are_nearly_those_that_its_templates_make(tmp_path):
    suite = suites.load("emoji-en")
    suites.table(suite).write_csv(tmp_path / "own.csv")
    found, made = set(load_suite(f"hatemojicheck:{tmp_path / 'own.csv'}").links), set(suite.links)
    assert len(found & made) / len(found) > 0.95
    assert len({perturbed for _, perturbed in found}) > 1500, "of 1,804 perturbed cases"
    groups = {case.id: case.template for case in suite.cases}
    assert all(groups[a] == groups[b] for a, b in found)


def test_the_language_option_reaches_the_detector(english, capsys, tmp_path, monkeypatch):
    out = check(f"hatecheck:{english}", capsys, tmp_path, monkeypatch, "--lang", "de", "--json")
    assert json.loads(out)["suite"]["lang"] == "de"
