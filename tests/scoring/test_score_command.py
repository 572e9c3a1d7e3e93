"""`davy score` and `davy model`, as typed."""

import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from davy.files import tables
from davy.shell.app import run

ROWS = 'id,tweet,label\n7,hello there,0\n8,"you GRUMBLEFOP, you",1\n9,,0\n10,hello there,1\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "posts.csv").write_text(ROWS)
    (tmp_path / "words.txt").write_text("grumblefop\n")
    (tmp_path / "empty.csv").write_text("id,text\n")
    return tmp_path


def test_a_file_keeps_its_columns_and_gains_scores(folder, capsys):
    assert run(["score", "posts.csv", "--model", "keywords:words.txt", "--out", "out.parquet"]) == 0
    out = pl.read_parquet("out.parquet")
    assert out.columns == ["id", "tweet", "label", "hate", "hate.label", "verdict"]
    assert out["verdict"].to_list() == ["none", "hateful", None, "none"]
    shown = capsys.readouterr()
    assert "hateful" in shown.out
    assert "4 posts scored by keywords:words.txt" in shown.err
    assert sorted(path.name for path in folder.iterdir()) == ["empty.csv", "out.parquet", "posts.csv", "words.txt"]


def test_the_column_of_ids_is_named_and_its_values_are_what_others_match_by(folder, capsys):
    (folder / "own.csv").write_text("nummer,text,hate.gold\n0071,hello there,no\n0072,you grumblefop,yes\n")
    command = ["score", "own.csv", "--model", "keywords:words.txt", "--id-column"]
    assert run([*command, "nummer", "--out", "out.csv"]) == 0
    assert pl.read_csv("out.csv", infer_schema=False)["id"].to_list() == ["0071", "0072"]
    capsys.readouterr()
    evaluate = ["evaluate", "own.csv", "--id-column", "nummer", "--predictions", "out.csv", "--resamples", "10"]
    assert run([*evaluate, "--json"]) == 0
    (measured,) = json.loads(capsys.readouterr().out)["questions"]["hate"]["models"].values()
    assert measured["figures"]["accuracy"]["value"] == 1.0
    assert run([*command, "number", "--out", "two.csv"]) == 2
    assert "no column 'number'" in capsys.readouterr().err
    assert run(["score", "posts.csv", "--model", "uniform", "--id-column", "tweet", "--out", "two.csv"]) == 2
    assert "Rename one" in capsys.readouterr().err


def test_the_summary_as_json(folder, capsys):
    assert run(["score", "posts.csv", "--model", "keywords:words.txt@edos", "--out", "out.csv", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["posts"] == 4
    assert record["without_score"] == 1
    assert record["verdicts"] == {"none": 2, "sexist": 1}
    assert record["model"]["name"] == "keywords:words.txt@edos"


def test_a_second_model_beside_the_first(folder):
    assert run(["score", "posts.csv", "--model", "uniform", "--out", "one.csv"]) == 0
    assert run(["score", "one.csv", "--model", "keywords:words.txt", "--out", "two.csv"]) == 2
    assert not (folder / "two.csv").exists()
    assert run(["score", "one.csv", "--model", "keywords:words.txt", "--prefix", "words", "--out", "two.csv"]) == 0
    assert pl.read_csv("two.csv").columns[-6:] == [
        "hate", "hate.label", "verdict", "words.hate", "words.hate.label", "words.verdict",
    ]  # fmt: skip


def columns_of(file):
    with tables.open_table(file) as table:
        return table.columns


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_another_models_scores_replace_all_of_the_first_and_their_reasons(folder, capsys, ending):
    one, two = f"one.{ending}", f"two.{ending}"
    first = ["score", "posts.csv", "--model", "keywords:words.txt@edos", "--explain", "--out", one]
    assert run(first) == 0
    again = ["score", one, "--model", "keywords:words.txt", "--out", two]
    assert run([*again, "--replace"]) == 0
    assert "Left out, as an earlier run wrote them and keywords:words.txt does not: sexist" in capsys.readouterr().err
    assert columns_of(two) == ["id", "tweet", "label", "hate", "hate.label", "verdict"]
    assert run([*again, "--replace", "--explain"]) == 0
    assert columns_of(two) == ["id", "tweet", "label", "hate", "hate.label", "verdict", "why"]


def test_reasons_are_written_over_only_where_that_was_said(folder, capsys):
    (folder / "why.csv").write_text("text,why\nyou grumblefop,because\n")
    given = ["score", "why.csv", "--model", "keywords:words.txt", "--explain", "--out", "out.csv"]
    assert run(given) == 2
    assert "Write over it with --replace" in capsys.readouterr().err
    assert run([*given, "--replace"]) == 0
    assert columns_of("out.csv").count("why") == 1
    assert "because" not in (folder / "out.csv").read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["posts.csv", "--lang", "de", "--out", "out.csv"], "--lang goes with --text or --image"),
        (["--text", "a", "--text-column", "tweet"], "--text-column goes with a file"),
        (["--text", "a", "--prefix", "z"], "--prefix goes with a file"),
        (["--text", "a", "--replace"], "--replace goes with a file"),
        (["--text", "a", "--fresh"], "--resume goes with a file"),
        (["--text", "a", "--batch", "3"], "--batch goes with a file"),
        (["--text", "a", "--engine", "ray"], "--engine goes with a file"),
    ],
)
def test_an_option_that_would_be_passed_over_is_refused(folder, capsys, given, said):
    assert run(["score", "--model", "keywords:words.txt", *given]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_explaining_a_file_adds_the_words_that_carried_each_decision(folder):
    assert run(["score", "posts.csv", "--model", "keywords:words.txt", "--explain", "--out", "out.jsonl"]) == 0
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert rows[1]["why"] == [["GRUMBLEFOP", 1.0]]
    assert rows[2]["why"] is None


def test_one_text_shows_verdict_bars_and_reasons(folder, capsys):
    assert run(["score", "--text", "you grumblefop", "--model", "keywords:words.txt", "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "hateful"
    assert "████████████████████ 1.000  hateful" in lines[1]
    assert "[grumblefop +1.00]" in lines[2]
    assert lines[3].startswith("keywords:words.txt (version ")


@pytest.mark.parametrize("seed", range(4))
def test_one_text_as_json_leaves_out_the_questions_that_are_not_asked(capsys, seed):
    asked = ["score", "--text", "a nice day", "--model", f"uniform:{seed}@edos"]
    assert run([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert run(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert set(told["questions"]) == {line.split()[0] for line in lines[1:4] if "not asked" not in line}
    assert told["path"] == ([] if told["verdict"] == "none" else [told["verdict"].split(" > ")])


@pytest.mark.parametrize("text", ["", "\x00", "\udce4 lone \ud83d", "🦞", "\u202e", "word " * 200_000])
def test_odd_texts_are_scored(folder, capsys, text):
    assert run(["score", "--text", text, "--model", "keywords:words.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "none"


BAD = {
    "no file and no text": (["score"], "Give a file, or --text or --image"),
    "both": (["score", "posts.csv", "--text", "x", "--model", "majority"], "Give a file, or --text or --image"),
    "no out": (["score", "posts.csv", "--model", "majority"], "--out"),
    "no such file": (["score", "nope.csv", "--model", "majority", "--out", "o.csv"], "nope.csv"),
    "no such column": (
        ["score", "posts.csv", "--model", "majority", "--text-column", "twet", "--out", "o.csv"],
        "Did you mean 'tweet'",
    ),
    "no such model": (["score", "posts.csv", "--model", "majorty", "--out", "o.csv"], "Did you mean 'majority'"),
    "no such scheme": (["score", "posts.csv", "--model", "majority@eods", "--out", "o.csv"], "edos"),
    "no such list": (["score", "posts.csv", "--model", "keywords:no.txt", "--out", "o.csv"], "no.txt"),
    "no such folder": (["score", "posts.csv", "--model", "./gone", "--out", "o.csv"], "no model folder"),
    "odd seed": (["score", "posts.csv", "--model", "uniform:x", "--out", "o.csv"], "whole number"),
    "nothing to resume": (
        ["score", "posts.csv", "--model", "majority", "--resume", "--out", "o.csv"],
        "nothing to resume",
    ),
    "no weights": (["score", "posts.csv", "--model", "embedded-xx", "--out", "o.csv"], "Did you mean 'embedded"),
    "odd format": (["score", "posts.csv", "--model", "majority", "--out", "o.doc"], "o.doc"),
    "no rows": (["score", "empty.csv", "--model", "majority", "--out", "o.csv"], "no rows"),
    "over the input": (["score", "posts.csv", "--model", "majority", "--out", "./posts.csv"], "is the input"),
    "nobody answers": (
        ["score", "posts.csv", "--model", "url:http://127.0.0.1:9/elsewhere", "--out", "o.csv"],
        "does not say what it speaks",
    ),
    "no batch": (["score", "posts.csv", "--model", "majority", "--batch", "0", "--out", "o.csv"], "at least one"),
    "folder of out": (["score", "posts.csv", "--model", "majority", "--out", "gone/o.csv"], "gone"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_what_the_user_can_fix_is_one_line_and_leaves_nothing(folder, capsys, arguments, message):
    before = sorted(folder.iterdir())
    assert run(arguments) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.strip().splitlines()) == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been_killed(folder, capsys):
    texts = [f"text {i} " + "grumblefop" * (i % 3 == 0) for i in range(20_000)]
    pl.DataFrame({"id": range(20_000), "text": texts}).write_parquet("many.parquet")
    command = ["score", "many.parquet", "--model", "keywords:words.txt", "--batch", "8", "--out", "out.parquet"]
    first = subprocess.Popen([sys.executable, "-m", "davy", *command], stderr=subprocess.DEVNULL, cwd=folder)
    state = folder / "out.parquet.parts" / "state.json"
    try:
        deadline = time.monotonic() + 180
        while not (state.exists() and json.loads(state.read_text())["rows"]) and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    assert state.exists()
    assert not (folder / "out.parquet").exists()
    assert run(command) == 0
    assert "Going on after" in capsys.readouterr().err
    assert run([*command[:-1], "whole.parquet"]) == 0
    assert pl.read_parquet("out.parquet").equals(pl.read_parquet("whole.parquet"))


def test_a_resumed_run_ends_as_an_uninterrupted_one_does(folder, capsys):
    from davy.files.data_hash import file_hash
    from davy.files.run_folder import open_run_folder

    texts = [f"text {i % 900} " + "grumblefop" * (i % 7 == 0) for i in range(30_000)]
    pl.DataFrame({"id": [str(i) for i in range(30_000)], "text": texts}).write_parquet("many.parquet")
    command = ["score", "many.parquet", "--model", "keywords:words.txt"]
    assert run([*command, "--out", "whole.parquet"]) == 0
    whole = pl.read_parquet("whole.parquet")
    from davy.detectors.load import load

    scorer = load("keywords:words.txt")
    state = {
        "input": file_hash(folder / "many.parquet"),
        "model": scorer.name,
        "version": scorer.version,
        "columns": ["text", "", False, None],
    }
    with open_run_folder(folder / "again.parquet", state) as parts:
        parts.add(whole[:8192])
        parts.add(whole[8192:11_111])
        parts.save()
    capsys.readouterr()
    assert run([*command, "--out", "again.parquet", "--resume"]) == 0
    assert "Going on after 11,111 posts" in capsys.readouterr().err
    assert pl.read_parquet("again.parquet").equals(whole)
    assert not (folder / "again.parquet.parts").exists()


def test_models_are_listed_and_shown(folder, capsys):
    assert run(["model", "list", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert "embedded" in names
    assert "keywords:FILE" in names
    assert run(["model", "list"]) == 0
    capsys.readouterr()
    assert run(["model", "show", "majority@gmhp7k", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [question["name"] for question in record["questions"]][:2] == ["hate", "misogynistic"]
    assert run(["model", "show", "uniform"]) == 0
    assert "hateful" in capsys.readouterr().out


def test_a_file_in_another_encoding_is_read_when_it_is_named(folder, capsys):
    (folder / "old.csv").write_bytes("text\nschön you grumblefop\n".encode("cp1252"))
    command = ["score", "old.csv", "--model", "keywords:words.txt", "--out", "out.csv"]
    assert run(command) == 2
    assert "--encoding cp1252" in capsys.readouterr().err
    assert run([*command, "--encoding", "cp1252"]) == 0
    assert pl.read_csv("out.csv")["hate.label"].to_list() == ["hateful"]


def test_reasons_are_the_whole_detectors_and_not_its_screens(folder):
    """Of a cleared post and the same without a word, one may have the screen's probability and one the encoder's."""
    pl.DataFrame({"text": ["hello a", "what a nice day at the office", "the train was late again"]}).write_csv("p.csv")
    command = ["score", "p.csv", "--model", "embedded-en", "--explain", "--out"]
    assert run([*command, "quick.parquet"]) == 0
    assert run([*command, "whole.parquet", "--no-cascade"]) == 0
    quick, whole = pl.read_parquet("quick.parquet"), pl.read_parquet("whole.parquet")
    assert quick["cleared"].any()
    assert quick["why"].to_list() == whole["why"].to_list()
