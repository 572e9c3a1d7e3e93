"""Any label set: 0/1, a plain `text,label` CSV and labels of one's own in `train`, `tfidf:`, `describe`, `evaluate`."""

import json

import polars as pl
import pytest

from davy.core import Label, Question, UserError
from davy.corpus.gold import answer_columns, spell_gold, with_gold
from davy.shell.app import run

MOODS = ["joy", "anger", "fear"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [f"{'you grumblefop' if i % 3 == 0 else 'nice one'} {MOODS[i % 3]} {i}" for i in range(90)]
    frame = pl.DataFrame({"text": texts, "label": [int(i % 3 == 0) for i in range(90)]})
    frame.write_csv("plain.csv")
    moods = [MOODS[i % 3] for i in range(90)]
    frame.select(pl.col("text").alias("body"), pl.Series("mood", moods), pl.col("label").alias("spam")).write_csv(
        "moods.csv"
    )
    return tmp_path


def printed(capsys, *arguments):
    code = run([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out), err


@pytest.mark.parametrize("kind", ["tfidf", "xgboost"])
def test_a_plain_csv_of_text_and_label_goes_all_the_way(folder, capsys, kind):
    record, notes = printed(capsys, "train", "plain.csv", "--kind", kind, "--dev", "plain.csv", "--out", "run")
    assert "Column 'label' answers 'hate'" in notes
    assert record["config"]["scheme"] == "hate"
    found, _ = printed(
        capsys, "evaluate", "plain.csv", "-m", "run/seed-1/model", "-m", f"{kind}:plain.csv", "--resamples", "20"
    )
    figures = [model["figures"]["macro_f1"]["value"] for model in found["questions"]["hate"]["models"].values()]
    assert figures[0] == pytest.approx(figures[1])
    assert figures[0] > 0.95
    calibrated, _ = printed(capsys, "calibrate", "run/seed-1/model", "plain.csv", "--out", "better")
    assert list(calibrated["thresholds"]) == ["hate"]
    described, _ = printed(capsys, "describe", "plain.csv")
    assert described["levels"][0]["labels"] == {"not hateful": 60, "hateful": 30}


def test_labels_of_one_s_own_make_a_question(folder, capsys):
    where = ["--gold", "mood=mood", "--text-column", "body"]
    printed(capsys, "train", "moods.csv", "--kind", "tfidf", *where, "--out", "run")
    model = "run/seed-1/model"
    found, _ = printed(capsys, "evaluate", "moods.csv", *where, "-m", model, "--resamples", "20")
    assert found["questions"]["mood"]["gold"] == {"anger": 30, "fear": 30, "joy": 30}
    assert found["questions"]["mood"]["models"][model]["figures"]["accuracy"]["value"] > 0.95
    record, _ = printed(capsys, "score", "--text", "nice one anger", "-m", model)
    assert record["verdict"] == "anger"


def test_a_question_is_learnt_alone_and_0_and_1_get_names(folder, capsys):
    where = ["--gold", "mood=mood", "--gold", "spam=spam", "--text-column", "body"]
    printed(capsys, "train", "moods.csv", "--kind", "tfidf", *where, "--question", "spam", "--out", "run")
    answers, _ = printed(capsys, "score", "--text", "you grumblefop", "-m", "run/seed-1/model")
    assert list(answers["questions"]) == ["spam"]
    assert answers["verdict"] == "spam"
    frame = pl.DataFrame({"text": ["a", "b"], "x": [1.0, None], "spam.gold": ["1", "0"]})
    rules, columns = answer_columns(frame)
    assert spell_gold(with_gold(frame, columns), rules.questions)["spam.gold"].to_list() == ["spam", "not spam"]


def test_a_file_to_learn_from_fits_only_the_question_that_is_asked(folder):
    from davy.scoring.scorers import Learning, load_scorer

    both = load_scorer("tfidf:plain.csv", learning=Learning(["mood=label", "hate=label"]))
    assert {question.name for question in both.questions} == {"mood", "hate"}
    alone = load_scorer("tfidf:plain.csv", learning=Learning(["mood=label", "hate=label"], ["mood"]))
    assert [question.name for question in alone.questions] == ["mood"]


def test_what_holds_no_labels_is_one_line():
    with pytest.raises(UserError, match=r"300 different values.*--gold"):
        answer_columns(pl.DataFrame({"text": ["a"] * 300, "label": [i / 300 for i in range(300)]}))
    with pytest.raises(UserError, match="All answers to 'label' are 'x'"):
        answer_columns(pl.DataFrame({"text": ["a"], "label": ["x"]}))
    with pytest.raises(UserError, match="no column of settled answers"):
        answer_columns(pl.DataFrame({"text": ["a"]}))


def test_a_typing_error_in_a_known_question_is_no_new_label():
    frame = pl.DataFrame({"sexist.gold": ["sexist", "not sexist", "sexits"]})
    assert answer_columns(frame)[0].question("sexist").label_names == ("not sexist", "sexist")


def test_detectors_labels_win_over_a_scheme_that_has_others():
    own = Question("hate", (Label("fine"), Label("vile")), positive="vile")
    scheme, columns = answer_columns(pl.DataFrame({"label": [0, 1, 1]}), among=(own,))
    assert columns == {"hate": "label"}
    assert scheme.question("hate") == own


def test_a_file_in_another_encoding_is_learnt_from(folder, capsys):
    text = (folder / "plain.csv").read_text("utf-8").replace("nice one", "schöne Grüße")
    (folder / "old.csv").write_bytes(text.encode("cp1252"))
    learn = ["train", "old.csv", "--kind", "tfidf", "--dev", "old.csv", "--out", "run"]
    assert run(learn) == 2
    assert "UTF-8" in capsys.readouterr().err
    record, _ = printed(capsys, *learn, "--encoding", "cp1252")
    assert record["summary"]["score"]["mean"] > 0.95
