"""`davy clean` as its user types it."""

import json

import polars as pl
import pytest

from davy.shell.app import run

TEXTS = ["see https://a.example/b now", "", "😀", "hello there, my friends", "hello there, my friends", "and\tone more"]


@pytest.fixture
def posts(tmp_path):
    path = tmp_path / "posts.csv"
    pl.DataFrame({"post_id": list("abcdef"), "tweet": TEXTS, "likes": range(6)}).write_csv(path)
    return path


def test_posts_are_cleaned_and_the_funnel_is_printed_saved_and_drawn(posts, tmp_path, capsys):
    assert run(["clean", str(posts), "--recipe", "edos", "--out", str(tmp_path / "clean.jsonl")]) == 0
    said = capsys.readouterr()
    assert "drop-duplicates" in said.out
    assert "3 of 6 posts" in said.err
    left = pl.read_ndjson(tmp_path / "clean.jsonl")
    assert left["id"].to_list() == ["a", "d", "f"]
    assert left["likes"].to_list() == [0, 3, 5]
    saved = json.loads((tmp_path / "clean.funnel.json").read_text(encoding="utf-8"))
    assert saved["in"] == 6
    assert saved["out"] == 3 == saved["steps"][-1]["out"]
    assert "<svg" in (tmp_path / "clean.funnel.svg").read_text(encoding="utf-8")


def test_json_prints_the_funnel(posts, tmp_path, capsys):
    assert run(["clean", str(posts), "--out", str(tmp_path / "c.parquet"), "--near-duplicates", "0.8", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert [step["step"] for step in value["steps"]][-1] == "drop-near-duplicates"
    assert value["in"] - sum(step["dropped"] for step in value["steps"]) == value["out"]


def test_cleaned_posts_go_to_stdout_and_the_funnel_does_not(posts, capfd):
    assert run(["clean", str(posts), "--out", "-", "--format", "jsonl"]) == 0
    said = capfd.readouterr()
    assert [json.loads(line)["id"] for line in said.out.splitlines()] == ["a", "d", "f"]
    assert "drop-empty" in said.err


def test_show_prints_a_recipe_that_can_be_read_again(tmp_path, posts, capsys):
    assert run(["clean", "--recipe", "gmhp7k", "--show"]) == 0
    (tmp_path / "mine.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert run(["clean", str(posts), "--recipe", str(tmp_path / "mine.yaml"), "--out", str(tmp_path / "c.csv")]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--recipe", "edoss"], "There is no recipe 'edoss'"),
        (["--recipe", "nosuch.yaml"], "There is no file nosuch.yaml"),
        (["--near-duplicates", "7"], "--near-duplicates: threshold is 7.0"),
        (["--workers", "0"], "--workers is 0"),
        (["--text-column", "txet"], "has no column 'txet'"),
        (["--out", "posts.xyz"], "does not say which format"),
        (["--out", "nosuch/c.csv"], "The folder nosuch does not exist"),
        (["--funnel", "nosuch/f.json"], "The folder nosuch does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_writes_nothing(posts, tmp_path, capsys, arguments, said):
    out = tmp_path / "out" / "c.csv"
    out.parent.mkdir()
    assert run(["clean", str(posts), "--out", str(out), *arguments]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
    assert not list(out.parent.iterdir())


def test_a_recipe_that_leaves_nothing_says_so_and_writes_nothing(posts, tmp_path, capsys):
    recipe = tmp_path / "all.yaml"
    recipe.write_text("steps: [drop-length: {min: 1000}]", encoding="utf-8")
    assert run(["clean", str(posts), "--recipe", str(recipe), "--out", str(tmp_path / "c.csv")]) == 2
    assert "leaves none of 6 posts" in capsys.readouterr().err
    assert not (tmp_path / "c.csv").exists()


def test_a_file_that_is_not_there_is_named(tmp_path, capsys):
    (tmp_path / "c.csv").write_text("an older output", encoding="utf-8")
    assert run(["clean", str(tmp_path / "nosuch.csv"), "--replace", "--out", str(tmp_path / "c.csv")]) == 2
    assert "nosuch.csv" in capsys.readouterr().err
    assert (tmp_path / "c.csv").read_text(encoding="utf-8") == "an older output"


def test_the_input_is_never_written_over(posts, capsys):
    before = posts.read_bytes()
    assert run(["clean", str(posts), "--out", str(posts)]) == 2
    assert "is the input" in capsys.readouterr().err
    assert posts.read_bytes() == before


def test_repeated_ids_are_named(tmp_path, capsys):
    path = tmp_path / "twice.csv"
    path.write_text("id,text\na,one thing\na,another thing\n", encoding="utf-8")
    assert run(["clean", str(path), "--out", str(tmp_path / "c.csv")]) == 2
    assert "is there twice, in rows 1 and 2" in capsys.readouterr().err
