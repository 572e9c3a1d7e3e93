"""One hash of a data set: the same posts with the same answers, wherever and however they are kept."""

import json

import polars as pl
import pytest

from davy.files import tables
from davy.files.data_hash import data_hash, rows_hash
from davy.shell.app import run

POSTS = pl.DataFrame(
    {
        "id": ["1", "2", "3"],
        "text": ["Grüße 🙂", "", "third"],
        "hate.gold": ["hateful", "not hateful", None],
        "target.gold": [None, None, None],
    },
    schema_overrides={"target.gold": pl.String},
)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_the_format_of_the_file_does_not_count(tmp_path, ending):
    path = tmp_path / f"posts.{ending}"
    tables.write(POSTS.lazy(), path)
    assert data_hash(tables.scan(path).collect()) == data_hash(POSTS)


@pytest.mark.parametrize(
    "same",
    [
        POSTS.reverse(),
        POSTS.select(reversed(POSTS.columns)),
        POSTS.drop("id"),
        POSTS.drop("target.gold"),
        POSTS.with_columns(split=pl.lit("train"), likes=pl.lit(3)),
    ],
    ids=["other order of rows", "other order of columns", "no ids", "no empty answers", "columns beside"],
)
def test_what_is_no_text_and_no_answer_does_not_count(same):
    assert data_hash(same) == data_hash(POSTS)


@pytest.mark.parametrize(
    "other",
    [
        POSTS.with_columns(pl.col("text").str.replace("third", "Third")),
        POSTS.with_columns(pl.col("hate.gold").fill_null("hateful")),
        POSTS[:2],
        pl.concat([POSTS, POSTS[:1]]),
        POSTS.with_columns(image=pl.lit("a")),
        POSTS.with_columns(text=pl.col("text").replace("", None)),
    ],
    ids=["text", "answer", "fewer", "one twice", "image", "empty text is not no text"],
)
def test_texts_images_answers_and_how_often_count(other):
    assert data_hash(other) != data_hash(POSTS)


def test_answers_under_another_name_are_the_same_answers():
    published = POSTS.rename({"hate.gold": "label"})
    assert data_hash(published, {"hate": "label"}) == data_hash(POSTS)
    assert data_hash(published) != data_hash(POSTS)


def test_the_order_counts_where_it_is_asked_for():
    assert rows_hash(POSTS, ordered=True) != rows_hash(POSTS.reverse(), ordered=True)
    assert rows_hash(POSTS, ordered=True) != rows_hash(POSTS)


def test_cells_do_not_run_into_each_other():
    assert rows_hash(pl.DataFrame({"a": ["x"], "b": ["yz"]})) != rows_hash(pl.DataFrame({"a": ["xy"], "b": ["z"]}))


def test_the_hash_is_what_it_was():
    """A value that moved would part old reports from new ones: say so in docs/errata.md."""
    assert data_hash(POSTS) == "57f43b1e4ae7fdfa"


def test_an_evaluation_and_a_description_name_one_hash(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    posts = pl.DataFrame({"text": [f"word{i} here" for i in range(20)], "hate.gold": ["hateful", "not hateful"] * 10})
    tables.write(posts.lazy(), "posts.csv")
    tables.write(posts.reverse().lazy(), "again.parquet")
    assert run(["evaluate", "posts.csv", "--model", "majority", "--scheme", "hate", "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert run(["describe", "again.parquet", "--out", "described"]) == 0
    described = json.loads((tmp_path / "described" / "description.json").read_text("utf-8"))
    assert evaluated["data"] == described["data"] == data_hash(posts)
