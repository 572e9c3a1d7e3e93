"""`davy agree` as its user meets it: files in every shape, tables, JSON, and mistakes."""

import csv
import json

import krippendorff
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from davy.shell.app import run


@pytest.fixture
def davy(capsys):
    """Runs a command line; gives back its exit code, stdout and stderr."""

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def answers():
    """Six people in three phases, in GMHP7k's columns: (item, hs, m_hs, annotator, phase)."""
    rng = np.random.default_rng(0)
    rows = []
    for phase, items in ((2.1, 46), (2.2, 43), (2.3, 46)):
        for i in range(items):
            hate = rng.random() < 0.4
            for person in range(1, 7):
                said = hate ^ (rng.random() < 0.12)
                rows.append((f"{phase}-{i}", int(said), int(said and i % 3 == 0), person, phase))
    return rows


@pytest.fixture
def long_file(tmp_path, answers):
    path = tmp_path / "phases.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("tweet_id", "hs", "m_hs", "annotator_name", "phase"), *answers])
    return path


def matrix(answers, phase, column=1):
    return np.array([row[column] for row in answers if row[4] == phase]).reshape(-1, 6)


def coefficients(study):
    return {metric["name"]: metric["value"] for metric in study["coefficients"]}


def test_phases_and_leave_one_out_have_the_shape_of_gmhp7ks_table_4(davy, long_file, answers):
    code, out, _ = davy("agree", long_file, "--gold", "hs", "--gold", "m_hs", "--by", "phase", "--json")
    studies = json.loads(out)["studies"]
    assert code == 0
    assert [(s["question"], s["group"], s["items"]) for s in studies[:3]] == [
        ("hs", "2.1", 46),
        ("hs", "2.2", 43),
        ("hs", "2.3", 46),
    ]
    for study in studies:
        codes = matrix(answers, float(study["group"]), 1 if study["question"] == "hs" else 2)
        assert coefficients(study)["fleiss"] == pytest.approx(fleiss_kappa(aggregate_raters(codes)[0]), abs=1e-9)
        assert coefficients(study)["alpha"] == pytest.approx(
            krippendorff.alpha(codes.T, level_of_measurement="nominal"), abs=1e-9
        )
        for place, panel in enumerate(study["leave_one_out"]):
            rest = aggregate_raters(np.delete(codes, place, axis=1))[0]
            assert panel["without"] == [str(place + 1)]
            assert coefficients(panel)["fleiss"] == pytest.approx(fleiss_kappa(rest), abs=1e-9)


def test_the_table_names_both_scales_and_the_interval(davy, long_file):
    code, out, err = davy("agree", long_file, "--gold", "hs", "--by", "phase", "--seed", 3)
    assert code == 0
    for words in ("Landis & Koch", "McHugh", "Fleiss' κ", "Gwet's AC1", "without 6", "hs, 2.2: 43 items, 6 annotators"):
        assert words in out
    assert "percentile bootstrap over items, 1000 resamples, seed 3" in err
    assert "each pair" not in out
    assert "each pair" in davy("agree", long_file, "--gold", "hs", "--by", "phase", "--pairs")[1]


def test_the_same_seed_prints_the_same_and_the_order_of_rows_does_not_matter(davy, long_file, tmp_path):
    first = davy("agree", long_file, "--gold", "hs", "--json", "--seed", 1)
    assert davy("agree", long_file, "--gold", "hs", "--json", "--seed", 1) == first
    shuffled = tmp_path / "shuffled.parquet"
    pl.read_csv(long_file).sample(fraction=1, shuffle=True, seed=1).write_parquet(shuffled)
    other = json.loads(davy("agree", shuffled, "--gold", "hs", "--json", "--seed", 1)[1])
    assert other["studies"] == json.loads(first[1])["studies"]


def test_a_wide_file_gives_what_the_long_one_gives(davy, long_file, answers, tmp_path):
    wide = tmp_path / "wide.tsv"
    codes = matrix(answers, 2.1)
    people = ["ann", "ben", "cay", "dan", "eve", "fay"]
    rows = [("id", "text", *people), *((i, f"post {i}", *row) for i, row in enumerate(codes.tolist()))]
    wide.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    chosen = [part for person in people for part in ("--annotator-column", person)]
    study = json.loads(davy("agree", wide, "--wide", *chosen, "--gold", "hs", "--json")[1])["studies"][0]
    long = json.loads(davy("agree", long_file, "--gold", "hs", "--by", "phase", "--json")[1])["studies"][0]
    assert study["question"] == "hs"
    assert study["coefficients"] == long["coefficients"]
    assert study["pairs"][0]["annotators"] == ["ann", "ben"]
    assert study["pairs"][0]["value"] == pytest.approx(cohen_kappa_score(codes[:, 0], codes[:, 1]), abs=1e-9)
    code, _, err = davy("agree", wide, "--wide")
    assert code == 2
    assert "Column 'text'" in err
    assert "Name the annotators' columns with --annotator-column" in err


def test_numbers_in_columns_of_two_types_are_the_same_labels(davy, tmp_path):
    path = tmp_path / "wide.csv"
    ann, ben = [1, 2, 3, 1, 2, 3, 1, 2, 3, 1], ["1.0", "2.0", "3.0", "1.0", "2.5", "3.0", "NA", "2.0", "3.0", "1.0"]
    path.write_text("id,ann,ben\n" + "".join(f"{i},{a},{b}\n" for i, (a, b) in enumerate(zip(ann, ben, strict=True))))
    command = [
        "agree",
        path,
        "--wide",
        "--annotator-column",
        "ann",
        "--annotator-column",
        "ben",
        "--missing",
        "NA",
        "--json",
    ]
    found = json.loads(davy(*command)[1])["studies"][0]["coefficients"]
    assert next(it["value"] for it in found if it["name"] == "percent") == pytest.approx(8 / 9)


def test_wide_columns_named_question_and_annotator_are_several_questions(davy, tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("id,hate.ann,hate.ben,kind.ann,kind.ben\n1,y,y,a|b,b|a\n2,n,y,NA,a\n3,n,n,b,b\n")
    code, out, _ = davy("agree", path, "--wide", "--gold", "hate", "--gold", "kind", "--missing", "NA", "--json")
    hate, kind = json.loads(out)["studies"]
    assert code == 0
    assert coefficients(hate)["percent"] == pytest.approx(2 / 3)
    assert (coefficients(kind)["percent"], kind["items_with_one_answer"]) == (1, 1)
    assert [(entry["label"], entry["answers"]) for entry in kind["labels"]] == [("a", 3), ("b", 4)]


def test_a_scheme_knows_spellings_order_and_where_a_question_does_not_apply(davy, tmp_path):
    path = tmp_path / "edos.csv"
    path.write_text(
        "rewire_id,annotator,label_sexist,label_category\n"
        "p1,1,sexist,2. derogation\np1,2,sexist,2. derogation\np1,3,not sexist,none\n"
        "p2,1,not sexist,none\np2,2,not sexist,none\np2,3,not sexist,none\n"
        "p3,1,sexist,3. animosity\np3,2,sexist,2. derogation\np3,3,sexist,3. animosity\n"
    )
    line = ["agree", path, "--scheme", "edos", "--gold", "sexist=label_sexist", "--gold", "category=label_category"]
    code, out, err = davy(*line, "--json")
    assert code == 0, err
    sexist, category = json.loads(out)["studies"]
    assert (sexist["answers"], category["answers"]) == (9, 5)
    assert len(category["labels"]) == 4, "all of the scheme's categories could have been chosen"
    assert coefficients(category)["randolph"] == pytest.approx(((1 + 1 / 3) / 2 - 1 / 4) / (3 / 4))


def test_lists_of_labels_in_jsonl_are_sets_and_an_empty_one_is_an_answer(davy, tmp_path):
    path = tmp_path / "sets.jsonl"
    cells = [["x", "y"], ["y", "x"], ["x"], [], None]
    rows = [{"item": f"{i // 2}", "annotator": "ab"[i % 2], "label": cell} for i, cell in enumerate(cells)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = davy("agree", path, "--json")
    assert code == 0, err
    study = json.loads(out)["studies"][0]
    assert (study["answers"], coefficients(study)["percent"]) == (4, 0.5)
    assert {entry["label"]: entry["answers"] for entry in study["labels"]} == {"none": 1, "x": 3, "y": 2}


def test_missing_numbers_that_pandas_wrote_are_missing_answers(davy, tmp_path):
    path = tmp_path / "pandas.parquet"
    pl.DataFrame(
        {"item": [1, 1, 2, 2], "annotator": ["a", "b"] * 2, "label": [1.0, 1.0, float("nan"), 0.0]}
    ).write_parquet(path)
    study = json.loads(davy("agree", path, "--json")[1])["studies"][0]
    assert (study["answers"], [entry["label"] for entry in study["labels"]]) == (3, ["0", "1"])


def test_ratings_on_a_scale_get_ordinal_and_interval_alpha(davy, tmp_path):
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, (40, 1))
    codes = np.clip(truth + rng.integers(-1, 2, (40, 3)), 1, 5)
    path = tmp_path / "scale.csv"
    rows = "".join(f"{i},{a},{codes[i, a]}\n" for i in range(40) for a in range(3))
    path.write_text(f"item,annotator,label\n{rows}")
    values = coefficients(json.loads(davy("agree", path, "--json", "--resamples", 0)[1])["studies"][0])
    for name, level in (("alpha.ordinal", "ordinal"), ("alpha.interval", "interval")):
        assert values[name] == pytest.approx(krippendorff.alpha(codes.T, level_of_measurement=level), abs=1e-9)


def test_named_labels_in_order_get_ordinal_alpha(davy, tmp_path):
    path = tmp_path / "scale.csv"
    path.write_text("item,annotator,label\n1,a,low\n1,b,mid\n2,a,high\n2,b,high\n3,a,mid\n3,b,mid\n")
    out = davy("agree", path, "--order", "low,mid,high", "--json")[1]
    theirs = krippendorff.alpha([[0, 2, 1], [1, 2, 1]], level_of_measurement="ordinal")
    assert coefficients(json.loads(out)["studies"][0])["alpha.ordinal"] == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl", "parquet"])
def test_out_writes_every_figure(davy, long_file, tmp_path, ending):
    out = tmp_path / f"figures.{ending}"
    code, _, err = davy("agree", long_file, "--gold", "hs", "--out", out, "--subsets")
    assert code == 0
    assert f"Wrote {out}" in err
    if ending == "json":
        assert len(json.loads(out.read_text())["studies"][0]["subsets"]) == 57
        return
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    frame = read(out)
    parts = dict(frame.group_by("part").len().rows())
    assert parts == {"all": 6, "label": 10, "without": 30, "subset": 285, "pair": 15}
    assert frame.filter(pl.col("value").is_not_null(), pl.col("low").is_null(), pl.col("note").is_null()).is_empty()


def test_repeated_answers_are_refused_or_settled_by_choice(davy, tmp_path):
    path = tmp_path / "again.csv"
    path.write_text("item,annotator,label\n1,a,x\n1,b,y\n1,a,y\n2,a,x\n2,b,x\n")
    code, _, err = davy("agree", path)
    assert code == 2
    assert "1 of 4 answers are given twice by one person, first annotator 'a' on item '1'" in err
    percents = [
        coefficients(json.loads(davy("agree", path, "--repeats", which, "--json")[1])["studies"][0])["percent"]
        for which in ("first", "last")
    ]
    assert percents == [0.5, 1.0]


def test_one_answer_an_item_says_that_there_is_nothing_to_measure(davy, tmp_path):
    path = tmp_path / "single.csv"
    path.write_text("item,annotator,label\n1,a,x\n2,b,y\n")
    code, out, _ = davy("agree", path)
    assert code == 0
    assert "No item has two answers, so agreement can't be measured" in out


def test_everybody_saying_the_same_is_said_in_words(davy, tmp_path):
    path = tmp_path / "same.csv"
    path.write_text("item,annotator,label\n" + "".join(f"{i},{a},no\n" for i in range(5) for a in "ab"))
    code, out, _ = davy("agree", path)
    assert code == 0
    assert "not defined: every answer is the same label" in out
    assert "nan" not in out


GOOD = "item,annotator,label\n1,a,x\n1,b,y\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            GOOD,
            ["--gold", "lable"],
            "has no column 'lable' (--gold); it has item, annotator, label. Did you mean 'label'?",
        ),
        (GOOD, ["--by", "phase"], "has no column 'phase' (--by)"),
        ("a,b\n1,2\n", [], "has no column that looks like the item (the post that was labelled); it has a, b."),
        (
            "item,b\n1,2\n",
            [],
            "has no column that looks like the annotator; it has item, b. Name it with --annotator-column",
        ),
        ("item,annotator,b\n1,2,3\n", [], "has no column that looks like a label; it has item, annotator, b."),
        (GOOD, ["--annotator-column", "annotator", "--annotator-column", "label"], "one --annotator-column"),
        (GOOD, ["--repeats", "never"], "--repeats 'never' is not known"),
        (GOOD, ["--coefficient", "fleis"], "Did you mean 'fleiss'?"),
        (GOOD, ["--interval", "t"], "Interval method 't' is unknown"),
        (GOOD, ["--resamples", "-1"], "-1 resamples can't be drawn"),
        (GOOD, ["--order", "x"], "must list two or more different labels"),
        (GOOD, ["--order", "x,z"], "Label 'y' is not among the labels given: x, z"),
        (GOOD, ["--scheme", "hate"], "Scheme 'hate' has no question 'label'"),
        (GOOD, ["--scheme", "hate", "--gold", "hate=label"], "'x' in column 'label' is not a label of 'hate'"),
        (f"item,annotator,label\n1,a,{'long ' * 20}\n", ["--order", "x,y"], "Label of 99 characters is not among"),
        (GOOD, ["--out", "no/folder/f.csv"], "The folder no/folder does not exist"),
        (GOOD, ["--out", "figures.xls"], "the extension does not say which format"),
        ("item,annotator,label\n1,,x\n", [], "1 rows have nothing in column 'annotator'"),
        ("item,annotator,label\n1,a,\n2,b, \n", [], "Column 'label' has no answers"),
        ("item,annotator,label\n", [], "no rows"),
        ("item,annotator,label\n" + "".join(f"{i},a,post {i}\n" for i in range(300)), [], "has 300 different answers"),
        ("", [], "is empty"),
    ],
)
def test_bad_input_is_one_clear_line(davy, tmp_path, monkeypatch, text, options, message):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "answers.csv"
    path.write_text(text)
    code, out, err = davy("agree", path, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["answers.csv"]


def test_with_a_scheme_an_unasked_yes_or_no_question_counts_as_no(davy, tmp_path):
    asked, filled = tmp_path / "asked.csv", tmp_path / "filled.csv"
    said = ["hateful,misogynistic", "hateful,not misogynistic", "not hateful,"]
    rows = [(f"p{i}", who, said[(i * (who + 1)) % 5 % 3]) for i in range(12) for who in range(3)]
    header = "id,annotator,hate,misogynistic\n"
    asked.write_text(header + "".join(f"{item},{who},{cells}\n" for item, who, cells in rows))
    filled.write_text(asked.read_text().replace("not hateful,\n", "not hateful,not misogynistic\n"))
    line = ["--scheme", "gmhp7k", "--gold", "misogynistic", "--gold", "hate", "--json"]
    ours, theirs = (json.loads(davy("agree", path, *line)[1])["studies"] for path in (asked, filled))
    assert ours == theirs
    assert ours[0]["answers"] == 36
    alone = json.loads(davy("agree", asked, *line[:4], "--json")[1])["studies"][0]
    assert alone["answers"] < 36


@pytest.mark.parametrize("ending", ["html", "svg", "png"])
def test_every_combination_of_annotators_is_drawn(davy, long_file, tmp_path, ending):
    out = tmp_path / f"figure.{ending}"
    given = ("agree", long_file, "--gold", "hs", "--by", "phase", "--resamples", "0")
    code, printed, _ = davy(*given, "--subsets", "--out", out)
    assert code == 0
    assert out.stat().st_size > 2_000
    assert ["2.2", "43", "258", "6", "43"] in [row.split() for row in printed.splitlines()]  # as in GMHP7k's Table 5
    code, _, err = davy(*given, "--out", tmp_path / f"other.{ending}")
    assert (code, "Add --subsets" in err) == (2, True)


MARKED = """item,annotator,hate,rationale,text
1,ann,hateful,0-9,your lamp is dim
1,ben,hateful,5-9,your lamp is dim
2,ann,hateful,0-2|3-7,go away
2,ben,hateful,3-7,go away
3,ann,not hateful,,fine
3,ben,not hateful,,fine
"""


def test_marked_words_are_measured_word_by_word(davy, tmp_path):
    file = tmp_path / "marks.csv"
    file.write_text(MARKED, encoding="utf-8")
    found = json.loads(davy("agree", file, "--scheme", "hate-rationales", "--resamples", 0, "--json")[1])
    marks = next(study for study in found["studies"] if study["question"] == "rationale")
    values = {metric["name"]: metric["value"] for metric in marks["coefficients"]}
    # Four words and two; ann marked 2 and 2, ben 1 and 1 of them: 4 of 6 words alike, F1 2/3 each, IoU 1/2 each.
    assert (marks["items"], marks["posts"]) == (6, 2)
    assert values["percent"] == pytest.approx(4 / 6)
    assert (values["token_f1"], values["iou_f1"]) == (pytest.approx(2 / 3), pytest.approx(1.0))
    assert "6 words of 2 posts" in davy("agree", file, "--scheme", "hate-rationales", "--resamples", 0)[1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0-9", "lamp", "spans such as 12-17"),
        ("0-9", "9-0", "spans such as 12-17"),
        (",text", ",words", "--text"),
    ],
)
def test_bad_marks_are_one_clear_line(davy, tmp_path, old, new, said):
    file = tmp_path / "marks.csv"
    file.write_text(MARKED.replace(old, new), encoding="utf-8")
    code, _, told = davy("agree", file, "--scheme", "hate-rationales")
    assert code == 2
    assert said in told
    assert told.count("\n") == 1


def test_marks_need_a_row_an_answer(davy, tmp_path):
    file = tmp_path / "marks.csv"
    file.write_text("item,rationale.ann,rationale.ben\n1,0-4,0-4\n", encoding="utf-8")
    code, _, told = davy("agree", file, "--scheme", "hate-rationales", "--wide", "--gold", "rationale")
    assert code == 2
    assert "without --wide" in told
