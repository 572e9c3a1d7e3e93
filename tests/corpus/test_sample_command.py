"""`davy sample` as its user types it, with columns and detectors as judges."""

import json

import polars as pl
import pytest

from davy.shell.app import run

PLAN = """
name: small
by: platform
judges: {one: column:tox}
samplers:
  - deciles: {name: tenths, judge: one, n: 20}
  - uncertainty: {name: unsure, judge: two, n: 5}
  - random: {n: 1000}
"""


@pytest.fixture
def posts(tmp_path):
    n = 400
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "text": [f"text number {i}" for i in range(n)],
            "platform": ["gab", "reddit"] * (n // 2),
            "tox": [(i * 37 % 1000) / 1000 for i in range(n)],
            "meta": ['{"a": 1}'] * n,
        }
    )
    frame.write_parquet(tmp_path / "posts.parquet")
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    return tmp_path / "posts.parquet"


def sample(posts, name, *more):
    plan = str(posts.parent / "plan.yaml")
    return run(["sample", str(posts), "--plan", plan, "--out", str(posts.parent / name), *more])


def test_a_plan_is_run_with_a_column_and_a_detector_as_judges(posts, capsys):
    assert sample(posts, "s.jsonl", "--judge", "two=uniform#hate") == 0
    said = capsys.readouterr().err
    assert "Shortfall: gab, random: 175 of 1,000" in said
    rows = [json.loads(line) for line in (posts.parent / "s.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len({row["id"] for row in rows}) == 400
    assert sum(row["sampler"] == "tenths" for row in rows) == 40
    assert rows[0]["meta"] == {"a": 1}
    assert all(row["judge.one"] == row["tox"] for row in rows if row["sampler"] == "tenths")
    report = json.loads((posts.parent / "s.sample.json").read_text(encoding="utf-8"))
    assert report["judges"] == {"one": "column:tox", "two": "uniform#hate"}
    assert report["taken"] == 400


def test_a_sample_of_a_sample_says_which_columns_it_would_write_over(posts, capsys):
    assert sample(posts, "first.csv", "--judge", "two=uniform#hate") == 0
    again = posts.with_name("first.csv")
    assert sample(again, "second.csv", "--judge", "two=uniform#hate") == 2
    assert "has a column 'sampler' already" in capsys.readouterr().err
    assert sample(again, "second.csv", "--judge", "two=uniform#hate", "--replace") == 0


def test_the_same_seed_writes_the_same_bytes(posts):
    for name, seed in (("a", "4"), ("b", "4"), ("c", "5")):
        assert sample(posts, f"{name}.csv", "--judge", "two=uniform#hate", "--seed", seed) == 0
    read = {name: (posts.parent / f"{name}.csv").read_bytes() for name in "abc"}
    assert read["a"] == read["b"] != read["c"]


def test_show_prints_the_plan_and_no_hurtful_word_but_in_names_of_boards(capsys):
    from davy.corpus.sample import plan as plans
    from davy.text.mask import mask

    assert run(["sample", "--plan", "edos", "--show"]) == 0
    said = capsys.readouterr().out
    assert "sexist-en" in said
    for boards in plans.load("edos").pools["reddit"].categories.values():
        for board in boards:
            said = said.replace(board, "board")
    assert mask(said) == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "The plan asks the judge 'two'"),
        (["--judge", "two"], "write NAME=MODEL#QUESTION or NAME=column:C"),
        (["--judge", "two=uniform#haet"], "has no yes/no question 'haet'"),
        (["--judge", "two=column:nosuch"], "has no column 'nosuch'"),
        (["--judge", "two=nosuchmodel"], "There is no model 'nosuchmodel'"),
        (["--judge", "two=column:text"], "Column 'text' holds no numbers"),
        (["--judge", "two=column:tox", "--judge", "tow=column:tox"], "the plan has no judge 'tow'; it asks one, two."),
        (["--judge", "two=column:tox", "--pool-size", "0"], "--pool-size is 0"),
        (["--judge", "two=column:tox", "--seed", "-1"], "--seed is -1"),
        (["--judge", "two=column:tox", "--plan", "edoss"], "There is no plan 'edoss'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_writes_nothing(posts, capsys, arguments, said):
    before = sorted(posts.parent.iterdir())
    assert sample(posts, "s.csv", *arguments) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
    assert sorted(posts.parent.iterdir()) == before


def test_a_score_that_is_no_number_is_named_by_its_post(posts, capsys):
    frame = pl.read_parquet(posts).with_columns(tox=pl.when(pl.col("id") == "p6").then(float("nan")).otherwise("tox"))
    frame.write_parquet(posts)
    assert sample(posts, "s.csv", "--judge", "two=uniform#hate") == 2
    assert "Judge 'one' gave nan to post 'p6'" in capsys.readouterr().err


def test_a_pool_can_be_asked_for_where_the_plan_has_none(posts, capsys):
    plan = posts.parent / "two.yaml"
    plan.write_text("name: two\nsamplers:\n  - random: {n: 10}\n", encoding="utf-8")
    out = posts.parent / "out.parquet"
    assert run(["sample", str(posts), "--plan", str(plan), "--pool-size", "50", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pools"]["all"] == {"posts": 400, "pool": 50, "notes": []}


def test_a_switch_is_shown_without_a_value(capsys):
    run(["sample", "--help"])
    assert "<bool>" not in capsys.readouterr().out


def test_a_file_without_the_plans_column_hears_of_by(tmp_path, capsys):
    rows = pl.DataFrame({"id": ["1"], "text": ["tea"], "tox": [0.1], "board": ["x"]})
    rows.write_parquet(tmp_path / "p.parquet")
    assert run(["sample", str(tmp_path / "p.parquet"), "--plan", "edos", "--out", str(tmp_path / "s.parquet")]) == 2
    said = capsys.readouterr().err
    assert "no column 'platform'" in said
    assert "id, text, tox, board" in said
    assert "`by:`" in said
