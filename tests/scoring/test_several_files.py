"""Several files, folders and patterns in one command: read as one table, whatever their formats."""

import json

import polars as pl
import pytest

from davy.scoring.scorers import load_scorer
from davy.shell.app import run

WORDS = ("grumblefop", "lovely")


@pytest.fixture
def halves(tmp_path, monkeypatch):
    """Two files of labelled posts in two formats, both as one file, and a model of them."""
    monkeypatch.chdir(tmp_path)
    texts = [f"{WORDS[i % 2]} post number {i}, which goes on for a while" for i in range(40)]
    posts = pl.DataFrame({"text": texts, "label": [1 - i % 2 for i in range(40)]})
    posts[:25].write_csv("first.csv")
    posts[25:].write_ndjson("second.jsonl")
    posts.write_csv("whole.csv")
    assert run(["train", "whole.csv", "--kind", "tfidf", "--out", "run"]) == 0
    return "run/seed-1/model"


@pytest.mark.parametrize(
    "command",
    [
        ["score", "--model", "MODEL", "--out", "OUT.csv"],
        ["clean", "--recipe", "recipe.yaml", "--out", "OUT.csv"],
        ["convert", "--out", "OUT.csv"],
        ["split", "--plan", "80/20", "--out", "OUT.csv"],
        ["sample", "--plan", "plan.yaml", "--out", "OUT.csv"],
    ],
    ids=lambda command: command[0],
)
def test_what_is_written_is_the_same_as_from_one_file(halves, command, tmp_path):
    (tmp_path / "recipe.yaml").write_text("name: mine\nversion: 1\nsteps:\n  - drop-duplicates: {by: text}\n")
    (tmp_path / "plan.yaml").write_text("name: two\nversion: 1\nsamplers:\n  - random: {n: 10}\n")
    name, *options = [word.replace("MODEL", halves) for word in command]
    for called, files in (
        ("one", ["whole.csv"]),
        ("two", ["first.csv", "second.jsonl"]),
        ("some", ["fir*.csv", "s*l"]),
    ):
        assert run([name, *files, *(word.replace("OUT", called) for word in options)]) == 0
    # Made ids begin with the first file's name; all else is the same.
    one, two, some = (pl.read_csv(f"{called}.csv").drop("id", strict=False) for called in ("one", "two", "some"))
    assert two.equals(one)
    assert some.equals(one)


@pytest.mark.parametrize(
    "command",
    [["evaluate", "-m", "MODEL"], ["describe"], ["calibrate", "--out", "OUT"]],
    ids=lambda command: command[0],
)
def test_what_is_measured_is_the_same_as_on_one_file(halves, command, capsys):
    name, *options = [word.replace("MODEL", halves) for word in command]
    first = [halves] if name == "calibrate" else []
    found = []
    for files in (["first.csv", "second.jsonl"], ["whole.csv"]):
        capsys.readouterr()
        assert run([name, *first, *files, *(word.replace("OUT", files[0][:3]) for word in options), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    several, one = found
    kept = [place for place in ("data", "posts", "before", "after") if place in one]
    assert kept
    assert [several[place] for place in kept] == [one[place] for place in kept]


def test_answers_of_two_files_are_one_study(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [{"post": str(i), "who": who, "hate": str((i + at) % 2)} for i in range(9) for at, who in enumerate("ab")]
    pl.DataFrame(rows[:8]).write_csv("a.csv")
    pl.DataFrame(rows[8:]).write_csv("b.csv")
    pl.DataFrame(rows).write_csv("all.csv")
    found = []
    for files in (["a.csv", "b.csv"], ["all.csv"]):
        assert run(["agree", *files, "--gold", "hate", "--json", "--resamples", "0"]) == 0
        found.append(json.loads(capsys.readouterr().out)["studies"])
    assert found[0] == found[1]


def test_what_does_not_go_together_is_one_line(halves, capsys):
    for files, message in ((["-", "first.csv"], "stdin"), (["first.csv", "gone.csv"], "gone.csv does not exist")):
        assert run(["convert", *files, "--out", "out.csv"]) == 2
        assert message in capsys.readouterr().err
    pl.DataFrame({"id": ["1", "2"], "text": ["a", "b"]}).write_csv("ids.csv")
    assert run(["convert", "ids.csv", "first.csv", "--out", "ids.csv"]) == 2
    assert "is the input" in capsys.readouterr().err
    assert run(["evaluate", "ids.csv", "ids.csv", "-m", "majority"]) == 2
    assert "ids.csv, ids.csv" in capsys.readouterr().err


def test_a_file_that_calls_its_text_otherwise_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"id": ["1"], "text": ["a day"]}).write_csv("january.csv")
    pl.DataFrame({"id": ["2"], "comment": ["a night"]}).write_csv("february.csv")
    assert run(["score", "january.csv", "february.csv", "-m", "majority", "--out", "out.csv"]) == 2
    assert "february.csv has no column 'text'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["describe", "old.csv", "--out", "out"],
        ["split", "old.csv", "--plan", "80/20", "--out", "out.csv"],
        ["sample", "old.csv", "--plan", "ten.yaml", "--out", "out.csv"],
        ["calibrate", "mine", "old.csv", "--out", "out"],
        ["compare", "old.csv", "-p", "said.csv", "--resamples", "20"],
    ],
    ids=lambda command: command[0],
)
def test_what_is_advised_about_an_encoding_can_be_done(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    labels = ["hateful" if i % 3 == 0 else "not hateful" for i in range(60)]
    texts = [f"{'du grumblefop' if i % 3 == 0 else 'schöne Grüße'} {i}" for i in range(60)]
    posts = pl.DataFrame({"id": [str(i) for i in range(60)], "text": texts, "hate.gold": labels})
    (tmp_path / "old.csv").write_bytes(posts.write_csv().encode("cp1252"))
    posts.write_csv("posts.csv")
    posts.select("id", pl.col("hate.gold").alias("hate.label")).write_csv("said.csv")
    load_scorer("tfidf:posts.csv").save(tmp_path / "mine")
    (tmp_path / "ten.yaml").write_text("name: ten\nsamplers: [random: {n: 10}]\n")
    assert run(command) == 2
    assert "--encoding cp1252" in capsys.readouterr().err
    assert run([*command, "--encoding", "cp1252"]) == 0, capsys.readouterr().err
