"""`davy evaluate`, as typed."""

import json

import pytest

from davy.shell.app import run

ROWS = """id,text,hate.gold,split
1,you grumblefop,hateful,dev
2,hello there,not hateful,dev
3,grumblefop again,hateful,dev
4,a fine day,not hateful,dev
5,quiet grumbling,hateful,dev
6,an old one,hateful,train
"""
EDOS = """rewire_id,text,label_sexist,label_category,label_vector,split
e1,one grumblefop,sexist,2. derogation,2.1 descriptive attacks,dev
e2,two,not sexist,none,none,dev
e3,three,not sexist,none,none,train
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "posts.csv").write_text(ROWS)
    (tmp_path / "words.txt").write_text("grumblefop\n")
    (tmp_path / "edos_labelled_aggregated.csv").write_text(EDOS)
    return tmp_path


def evaluated(capsys, *arguments):
    assert run(["evaluate", *arguments, "--json", "--resamples", "100"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    assert run(["evaluate", *arguments]) == 2
    shown = capsys.readouterr()
    lines = [line for line in shown.err.splitlines() if line.startswith("davy: ")]
    assert len(lines) == 1
    return lines[0]


def test_two_models_are_measured_in_one_run(folder, capsys):
    found = evaluated(capsys, "posts.csv", "--split", "dev", "--model", "keywords:words.txt", "--model", "majority")
    hate = found["questions"]["hate"]
    assert hate["n"] == 5
    words = hate["models"]["keywords:words.txt"]["figures"]
    assert words["accuracy"]["value"] == 0.8
    assert words["recall.hateful"] == {
        "value": pytest.approx(2 / 3), "low": pytest.approx(0.2077, abs=1e-3), "high": pytest.approx(0.9385, abs=1e-3),
        "level": 0.95, "n": 3, "name": "recall.hateful", "note": None,
    }  # fmt: skip
    assert hate["models"]["keywords:words.txt"]["confusion"]["counts"] == [[2, 0], [1, 2]]
    assert [pair["test"] for pair in hate["pairs"]] == ["paired bootstrap", "McNemar, exact"]
    assert found["settings"] == {"file": "posts.csv", "scheme": "hate 1", "split": "dev"}
    assert len(found["data"]) == 16


def test_tables_in_the_shell_and_a_report_in_a_folder(folder, capsys):
    command = ["evaluate", "posts.csv", "--split", "dev", "-m", "keywords:words.txt", "--out", "made/report"]
    assert run([*command, "--resamples", "100"]) == 0
    shown = capsys.readouterr()
    assert "hate (n = 5)" in shown.out
    assert "gold ↓ predicted →" in shown.out
    assert "Scheme: hate (guessed" in shown.err
    made = sorted(path.name for path in (folder / "made/report").iterdir())
    assert made == ["errors.csv", "figures.csv", "report.html", "results.json"]
    html = (folder / "made/report/report.html").read_text()
    assert html.count("<figure>") == 4
    assert "grumblefop" not in html


def test_predictions_from_a_file_equal_the_model_that_made_them(folder, capsys):
    assert run(["score", "posts.csv", "--model", "keywords:words.txt", "--out", "scored.csv"]) == 0
    capsys.readouterr()
    found = evaluated(capsys, "posts.csv", "--predictions", "scored.csv", "--model", "keywords:words.txt")
    models = found["questions"]["hate"]["models"]
    assert models["scored.csv"]["figures"] == models["keywords:words.txt"]["figures"]
    assert found["questions"]["hate"]["n"] == 6


def test_a_public_corpus_is_read_by_its_real_columns(folder, capsys):
    found = evaluated(capsys, ".", "--corpus", "edos", "--split", "dev", "--model", "majority@edos")
    assert {name: it["n"] for name, it in found["questions"].items()} == {"sexist": 2, "category": 1, "vector": 1}
    assert found["settings"]["scheme"].startswith("edos ")


def test_gold_in_a_column_of_any_name(folder, capsys):
    text = ROWS.replace("hate.gold", "label").replace("not hateful", "0").replace("hateful", "1")
    (folder / "other.csv").write_text(text)
    found = evaluated(capsys, "other.csv", "--scheme", "hate", "--gold", "label", "--model", "keywords:words.txt")
    assert found["questions"]["hate"]["gold"] == {"not hateful": 2, "hateful": 4}
    again = evaluated(capsys, "other.csv", "--scheme", "hate", "--gold", "hate=label", "--model", "keywords:words.txt")
    assert again["questions"] == found["questions"]


def test_a_column_of_answers_is_named_guessed_or_suggested(folder, capsys):
    file = "edos_labelled_aggregated.csv"
    for given in (["--gold", "label_sexist"], ["--gold", "sexist=label_sexist"]):
        found = evaluated(capsys, file, *given, "-m", "majority@edos")
        assert found["questions"]["sexist"]["gold"] == {"not sexist": 2, "sexist": 1}
    assert "--gold sexist=label_sexist" in refused(capsys, file, "-m", "majority@edos")
    assert "--gold sexist=label_sexist" in refused(capsys, file, "-m", "majority@edos", "--scheme", "edos")
    assert "no question 'sexism'; the questions are sexist" in refused(
        capsys, file, "-m", "majority@edos", "--scheme", "edos", "--gold", "sexism=label_sexist"
    )


@pytest.mark.parametrize("command", ["evaluate", "describe", "train"])
def test_a_file_of_peoples_answers_is_no_corpus(folder, capsys, command):
    rows = [f"p{post},a{who},hateful,a day" for post in range(4) for who in range(3)]
    (folder / "long.csv").write_text("\n".join(["item,annotator,hate.gold,text", *rows]) + "\n")
    more = {"train": ["--kind", "tfidf", "--out", "run"], "evaluate": ["-m", "majority"], "describe": []}[command]
    assert run([command, "long.csv", *more]) == 2
    said = capsys.readouterr().err
    assert "12 rows about 4 posts" in said
    assert "davy project corpus" in said


def test_all_splits_together_are_said_to_be_so(folder, capsys):
    assert run(["evaluate", "posts.csv", "--model", "majority", "--resamples", "0"]) == 0
    assert "all splits together (dev 5, train 1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["posts.csv"], "Say what to measure"),
        (["posts.csv", "-m", "majority", "-m", "majority"], "named twice"),
        (["gone.csv", "-m", "majority"], "gone.csv"),
        (["posts.csv", "-m", "majority", "--split", "test"], "no split 'test' in column 'split'; it has dev, train"),
        (["posts.csv", "-m", "majority", "--split", "fold=1"], "no column 'fold'"),
        (["posts.csv", "-m", "majority", "--question", "hat"], "Did you mean 'hate'"),
        (["posts.csv", "-m", "majority", "--gold", "lable"], "no column 'lable'"),
        (["posts.csv", "-m", "majority", "--scheme", "edos"], "no settled answers"),
        (["posts.csv", "-m", "majority", "--scheme", "hate", "--gold", "split"], "row 1, column 'split' has 'dev'"),
        (
            ["posts.csv", "-m", "majority@edos"],
            "majority@edos answers sexist, category, vector; scheme 'hate' asks hate.",
        ),
        (["posts.csv", "--predictions", "posts.csv"], "Q.label"),
        (["posts.csv", "-m", "majority", "--out", "words.txt"], "words.txt is a file"),
        (["posts.csv", "-m", "majority", "--out", "/proc/nowhere/report"], "Can't"),
        (["posts.csv", "-m", "majority", "--corpus", "edos", "--id-column", "id"], "leave out"),
        ([".", "-m", "majority"], "several formats"),
        (["posts.csv", "-m", "majority", "--resamples", "-1"], "-1 resamples"),
    ],
)
def test_what_can_be_fixed_is_said_in_one_line(folder, capsys, arguments, words):
    assert words in refused(capsys, *arguments)
    assert sorted(path.suffix for path in folder.iterdir()) == [".csv", ".csv", ".txt"]


def test_predictions_for_other_posts_are_refused(folder, capsys):
    (folder / "mine.csv").write_text("id,hate.label\n1,hateful\n77,hateful\n")
    assert "1 ids that posts.csv does not have, such as '77'" in refused(
        capsys, "posts.csv", "--predictions", "mine.csv"
    )
    (folder / "mine.csv").write_text("id,hate.label\n1,hateful\n")
    assert "no prediction for 4 of 5 posts" in refused(
        capsys, "posts.csv", "--predictions", "mine.csv", "--split", "dev"
    )


def test_a_model_that_answers_nothing_of_the_scheme_is_named_before_any_other_reads_the_posts(
    folder, capsys, monkeypatch
):
    from davy.evaluation import evaluate_detectors

    read = []
    monkeypatch.setattr(evaluate_detectors, "score_posts", lambda _, scorer, *__: read.append(scorer.name))
    said = refused(capsys, "posts.csv", "--split", "dev", "-m", "keywords:words.txt", "-m", "majority@edos")
    assert "majority@edos answers sexist" in said
    assert read == []


TARGETED = """id,text,hate.gold,target
1,you grumblefop,hateful,bakers
2,hello baker,not hateful,bakers
3,a kind grumblefop,not hateful,bakers
4,cooks burn it all,hateful,cooks
5,grumblefop cooks,hateful,cooks|bakers
6,a quiet cook,not hateful,cooks
7,about nobody,not hateful,
"""


def test_by_gives_rates_by_group_and_the_ratios_between_them(folder, capsys):
    (folder / "targeted.csv").write_text(TARGETED)
    found = evaluated(capsys, "targeted.csv", "--model", "keywords:words.txt", "--by", "target")
    groups = found["questions"]["hate"]["models"]["keywords:words.txt"]["groups"]
    rates = {name: {key: figure["value"] for key, figure in each.items()} for name, each in groups["rates"].items()}
    # Bakers: 1, 2, 3 and 5, of which 1, 3 and 5 are flagged. Cooks: 4, 5 and 6, of which 5 is.
    assert (rates["bakers"]["selection_rate"], rates["bakers"]["recall"], rates["bakers"]["fpr"]) == (0.75, 1.0, 0.5)
    assert (rates["cooks"]["selection_rate"], rates["cooks"]["recall"], rates["cooks"]["fpr"]) == (
        pytest.approx(1 / 3), 0.5, 0.0,
    )  # fmt: skip
    assert groups["between"]["demographic_parity_ratio"]["value"] == pytest.approx((1 / 3) / 0.75)
    assert groups["between"]["equalised_odds_ratio"]["value"] == 0, "no cook is flagged without cause, bakers are"


def test_by_an_unknown_column_is_one_clear_line(folder, capsys):
    (folder / "targeted.csv").write_text(TARGETED)
    line = refused(capsys, "targeted.csv", "--model", "majority", "--by", "targets")
    assert "There is no column 'targets' to group by; the columns are id, text" in line
    assert "Did you mean 'target'" in line


@pytest.mark.parametrize("model", ["majority", "uniform", "keywords:words.txt"])
def test_a_baseline_that_answers_another_scheme_says_how_to_name_it(folder, capsys, model):
    said = refused(capsys, ".", "--corpus", "edos", "--split", "dev", "--model", model)
    assert said.endswith(f": {model}@edos")
    found = evaluated(capsys, ".", "--corpus", "edos", "--split", "dev", "--model", f"{model}@edos")
    assert "sexist" in found["questions"]


def test_an_original_and_all_that_was_derived_from_it_have_to_be_right_together(folder, capsys):
    (folder / "pairs.csv").write_text(
        "id,text,parent,hate.gold\na,one,,yes\nb,two,a,no\nc,three,,yes\nd,four,c,no\ne,alone,,no\n"
    )
    (folder / "said.csv").write_text("id,hate.label\na,yes\nb,no\nc,yes\nd,yes\ne,yes\n")
    found = evaluated(capsys, "pairs.csv", "--predictions", "said.csv")
    whole = found["questions"]["hate"]["models"]["said.csv"]["figures"]["families_right"]
    assert (whole["value"], whole["n"]) == (0.5, 2)
    assert run(["evaluate", "pairs.csv", "--predictions", "said.csv", "--resamples", "10"]) == 0
    assert "right in 0.500" in capsys.readouterr().out
    found = evaluated(capsys, "posts.csv", "--model", "keywords:words.txt", "--split", "dev")
    assert "families_right" not in found["questions"]["hate"]["models"]["keywords:words.txt"]["figures"]
