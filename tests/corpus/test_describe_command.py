"""`davy describe` as its users meet it."""

import json

import pytest

from davy.shell.app import run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f'"{i}","tea number {i} {"fine" if i % 2 else "grumble"}","{"yes" if i % 2 else "no"}"' for i in range(40)]
    (tmp_path / "posts.csv").write_text("id,text,label\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_describe_writes_a_report_json_clouds_and_papers(here, capsys):
    assert run(["describe", "posts.csv", "--gold", "hate=label", "--out", "about"]) == 0
    for name in (
        "report.html",
        "description.json",
        "words.csv",
        "data_statement.md",
        "datasheet.md",
        "harm.md",
        "README.md",
    ):
        assert (here / "about" / name).stat().st_size > 50, name
    assert len(list((here / "about" / "clouds").iterdir())) == 4
    found = json.loads((here / "about" / "description.json").read_text())
    assert found["levels"][0]["labels"] == {"not hateful": 20, "hateful": 20}
    assert "open" in capsys.readouterr().err


def test_describe_prints_json(here, capsys):
    assert run(["describe", "posts.csv", "--gold", "label", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["posts"] == 40
    assert "purpose" in found["open_questions"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.csv"], "does not exist"),
        (["posts.csv", "--gold", "lable"], "label"),
        (["posts.csv", "--out", "posts.csv"], "is a file"),
        (["posts.csv", "--about", "gone.yaml"], "gone.yaml"),
        (["posts.csv", "--scheme", "nope"], "nope"),
        (["posts.csv", "--text-column", "txt"], "text"),
        (["nowhere", "--out", "x"], "nowhere"),
    ],
)
def test_what_the_user_can_fix_is_one_line(here, capsys, arguments, words):
    assert run(["describe", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_answers_that_a_shipped_scheme_knows_are_counted_by_its_rules(here, capsys):
    rows = ["1,a,not hateful,", "2,b,not hateful,", "3,c,hateful,misogynistic", "4,d,hateful,not misogynistic"]
    (here / "corpus.csv").write_text("id,text,hate.gold,misogynistic.gold\n" + "\n".join(rows) + "\n")
    assert run(["describe", "corpus.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # A question that was passed over is a no, so that three of all four posts are not misogynistic.
    assert (found["scheme"], found["levels"][1]["implied"]) == ("gmhp7k 1", 2)


def test_a_converted_corpus_keeps_the_splits_that_its_questions_have_of_their_own(here, capsys):
    parts = [("train", "train")] * 3 + [("train", "val")] * 3 + [("val", "val")] * 2
    rows = [f"{n},Guten Tag {n},{n % 2},0,3,0,x,{hate},{other}" for n, (hate, other) in enumerate(parts)]
    header = "tweet_id,review_text,hs,m_hs,phase,annotator_name,source,split_hs,split_m_hs"
    (here / "misogynistic_hatespeech_phase3.csv").write_text("\n".join([header, *rows]) + "\n")
    published = ["misogynistic_hatespeech_phase3.csv", "--corpus", "gmhp7k"]
    assert run(["convert", *published, "--out", "converted.csv"]) == 0
    found = {}
    for name, arguments in {"published": published, "converted": ["converted.csv"]}.items():
        capsys.readouterr()
        assert run(["describe", *arguments, "--json"]) == 0
        found[name] = json.loads(capsys.readouterr().out)["across"]
    assert "misogynistic by split_m_hs" in found["published"]
    assert found["converted"] == found["published"]
