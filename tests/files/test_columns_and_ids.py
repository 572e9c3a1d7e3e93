"""The text and id columns are found, ids are made where they are missing, and none is there twice."""

import polars as pl
import pytest

from davy.core import UserError
from davy.files import post_columns, tables
from davy.files.file_table import FileTable


def table(**values):
    frame = pl.DataFrame(values)
    return FileTable("posts.csv", frame.lazy(), frozenset(), len(frame))


@pytest.mark.parametrize("name", ["text", "tweet", "comment", "body", "test_case", "review_text", "Text"])
def test_the_usual_names_of_the_text_column_are_known(name):
    assert post_columns.text_column(table(nr=[1], **{name: ["x"]})) == name


def test_a_table_without_a_text_column_lists_what_it_has():
    with pytest.raises(
        UserError, match=r"posts\.csv has no column that looks like the text; it has a, b\. Name it with"
    ):
        post_columns.text_column(table(a=[1], b=[2]))


def test_a_column_that_would_get_a_name_twice_is_refused():
    with pytest.raises(UserError, match="has a column 'text' beside 'tweet'"):
        post_columns.as_posts(table(text=["x"], tweet=["y"]), text="tweet")


def test_ids_are_made_from_the_file_and_the_row_and_numbers_become_text():
    made = post_columns.as_posts(table(tweet=["a", "b"], likes=[1, 2])).frame.collect()
    assert made.rows() == [("posts-1", "a", 1), ("posts-2", "b", 2)]
    kept = post_columns.as_posts(table(body=["a", "b", "c"], tweet_id=[5, None, 7])).frame.collect()
    assert kept["id"].to_list() == ["5", "posts-2", "7"]


def test_the_first_repeated_id_is_named_with_both_rows(tmp_path):
    ids = [f"p{i}" for i in range(200_000)]
    ids[150_000], ids[199_999] = "p77", "p3"
    big = table(id=ids, text=["x"] * len(ids))
    with pytest.raises(UserError, match=r"id 'p77' is there twice, in rows 78 and 150001\."):
        post_columns.check_ids(big)
    with pytest.raises(UserError, match="id 'p77' is there twice"):
        tables.copy(big, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_missing_ids_are_no_repeats():
    assert post_columns.check_ids(table(id=["a", None, None], text=["x", "y", "z"])).rows == 3


def test_a_failing_stream_leaves_nothing_and_keeps_its_own_error(tmp_path):
    def frames():
        yield pl.DataFrame({"id": ["1"], "text": ["x"]})
        raise UserError("The detector went away. Start it again.")

    with pytest.raises(UserError, match="The detector went away"):
        tables.write(frames(), tmp_path / "out.csv")
    with pytest.raises(UserError, match="There is nothing to write"):
        tables.write(iter([]), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_bytes_are_refused_in_text_formats_and_kept_in_parquet(tmp_path):
    frame = pl.LazyFrame({"id": ["1"], "raw": [b"\x00\xff"]})
    with pytest.raises(UserError, match="Column 'raw' holds bytes, which only Parquet can keep"):
        tables.write(frame, tmp_path / "a.csv")
    tables.write(frame, tmp_path / "a.parquet")
    assert tables.scan(tmp_path / "a.parquet").collect()["raw"].to_list() == [b"\x00\xff"]
