"""`davy split` as its user types it."""

import json

import polars as pl
import pytest

from davy.shell.app import run


@pytest.fixture
def posts(tmp_path):
    n = 100
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "text": [f"text number {i} of w{i * 7} and w{i * 13}" for i in range(n)],
            "parent": [f"p{i - 1}" if i % 2 else None for i in range(n)],
            "hate.gold": ["hateful" if i % 2 else "not hateful" for i in range(n)],
            "split": ["train" if i % 5 else "test" for i in range(n)],
        }
    )
    path = tmp_path / "posts.parquet"
    frame.write_parquet(path)
    return path


def test_posts_are_split_and_pairs_stay_together(posts, tmp_path, capsys):
    out = tmp_path / "split.csv"
    assert (
        run(
            [
                "split",
                str(posts),
                "--plan",
                "80/20",
                "--split-column",
                "mine",
                "--near-duplicates",
                "0",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert "no group crosses" in capsys.readouterr().err
    made = pl.read_csv(out)
    assert made["mine"].value_counts().sort("mine").rows() == [("test", 20), ("train", 80)]
    part = dict(zip(made["id"], made["mine"], strict=True))
    assert all(part[f"p{i}"] == part[f"p{i + 1}"] for i in range(0, 100, 2))


def test_the_same_seed_writes_the_same_bytes(posts, tmp_path):
    for name in ("one", "two"):
        assert run(["split", str(posts), "--seed", "5", "--replace", "--out", str(tmp_path / f"{name}.jsonl")]) == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_check_finds_the_pairs_that_straddle_and_strict_fails(posts, tmp_path, capsys):
    pairs = tmp_path / "pairs.csv"
    assert run(["split", str(posts), "--check", "--near-duplicates", "0", "--out", str(pairs), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["leakage"]
    assert (told["pairs"], told["straddling"]) == (50, 20)
    assert len(pl.read_csv(pairs)) == 20
    assert run(["split", str(posts), "--check", "--near-duplicates", "0", "--strict"]) == 1


def test_show_prints_a_plan(capsys):
    assert run(["split", "--plan", "memes", "--show"]) == 0
    assert "multimodal hate: 40" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plan", "80/20"], "has a column 'split' already"),
        (["--plan", "nosuch", "--replace"], "There is no plan 'nosuch'"),
        (["--plan", "80/20", "--replace", "--stratify", "hat"], "no column 'hat' to split by"),
        (["--plan", "80/20", "--replace", "--group", "thread"], "no column 'thread' to split by"),
        (["--plan", "80/20", "--replace", "--near-duplicates", "3"], "0.3 to 1, not 3"),
        (["--plan", "memes", "--replace"], "no column 'kind' to split by"),
        (["--check", "--split-column", "spilt"], "Did you mean 'split'?"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_writes_nothing(posts, tmp_path, capsys, arguments, said):
    out = tmp_path / "out" / "c.csv"
    out.parent.mkdir()
    assert run(["split", str(posts), "--out", str(out), *arguments]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
    assert not list(out.parent.iterdir())
