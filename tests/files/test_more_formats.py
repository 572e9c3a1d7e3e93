"""Text, JSON, spreadsheets, Arrow, folders, patterns and saved datasets: every command opens them as tables."""

import json
from pathlib import Path

import polars as pl
import pytest

from davy.core import UserError
from davy.files import tables
from davy.files.data_hash import file_hash

TEXTS = ["Good morning", "Guten Tag 🙂", 'said "no", twice']
SHEET = Path(__file__).parent.parent / "scoring" / "posts.xlsx"


def texts(path, **options):
    with tables.open_table(path, **options) as table:
        frame = table.frame.collect()
        assert table.rows == len(frame)
        return frame["text"].to_list()


def write(folder, kind):
    frame = pl.DataFrame({"text": TEXTS})
    path = folder / f"posts.{kind}"
    if kind == "txt":
        path.write_text("\n".join([*TEXTS, "", "  "]) + "\n", "utf-8")
    elif kind == "json":
        path.write_text(json.dumps({"rows": frame.to_dicts()}), "utf-8")
    elif kind == "feather":
        frame.write_ipc(path)
    elif kind == "arrow":
        frame.write_ipc_stream(path)
    return path


@pytest.mark.parametrize("kind", ["txt", "json", "feather", "arrow"])
def test_a_file_that_is_read_whole_is_a_table_like_any_other(tmp_path, kind):
    assert texts(write(tmp_path, kind)) == TEXTS


def test_a_blank_line_of_a_text_file_is_a_post_without_text_so_that_rows_are_lines(tmp_path):
    (tmp_path / "lines.txt").write_text("one\n\n  \nfour \n\n", "utf-8")
    assert texts(tmp_path / "lines.txt") == ["one", None, None, "four "]
    assert tables.read_posts(tmp_path / "lines.txt")["id"].to_list() == ["lines-1", "lines-2", "lines-3", "lines-4"]


def test_a_spreadsheet_is_its_first_sheet_as_pandas_style_readers_see_it():
    import fastexcel

    sheet = fastexcel.read_excel(SHEET).load_sheet(0).to_polars()
    with tables.open_table(SHEET) as table:
        assert table.frame.collect().equals(sheet)


def test_packed_text_and_text_in_another_encoding(tmp_path):
    import gzip

    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress("\n".join(TEXTS).encode()))
    assert texts(packed) == TEXTS
    old = tmp_path / "b.txt"
    old.write_bytes("Grüße".encode("cp1252"))
    assert texts(old, encoding="cp1252") == ["Grüße"]
    with pytest.raises(UserError, match="Name its encoding"):
        texts(old)


def test_a_folder_and_a_pattern_are_all_their_files_in_order(tmp_path):
    (tmp_path / "parts").mkdir()
    pl.DataFrame({"text": ["a", "b"], "n": [1, 2]}).write_parquet(tmp_path / "parts" / "1.parquet")
    pl.DataFrame({"text": ["c"]}).write_parquet(tmp_path / "parts" / "2.parquet")
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    (tmp_path / "parts" / ".3.csv").write_text("text\nhidden\n")
    with tables.open_table(tmp_path / "parts") as table:
        assert table.frame.collect().rows() == [("a", 1), ("b", 2), ("c", None)]
    assert texts(str(tmp_path / "parts" / "2*")) == ["c"]
    assert len(file_hash(tmp_path / "parts")) == 64
    with pytest.raises(UserError, match="No file matches"):
        texts(str(tmp_path / "*.tsv"))
    (tmp_path / "parts" / "words.txt").write_text("d")
    with pytest.raises(UserError, match=r"several formats: parquet, txt.*pattern"):
        texts(tmp_path / "parts")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no file of posts"):
        texts(tmp_path / "empty")


def test_a_dataset_that_hugging_face_saved_is_read_with_its_splits(tmp_path):
    for split, words in (("train", ["a", "b"]), ("test", ["c"])):
        folder = tmp_path / "saved" / split
        folder.mkdir(parents=True)
        pl.DataFrame({"text": words}).write_ipc_stream(folder / "data-00000-of-00001.arrow")
        pl.DataFrame({"text": ["cached"]}).write_ipc_stream(folder / "cache-1.arrow")
        (folder / "state.json").write_text("{}")
        (folder / "dataset_info.json").write_text("{}")
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with tables.open_table(tmp_path / "saved") as table:
        assert set(table.frame.collect().rows()) == {("a", "train"), ("b", "train"), ("c", "test")}
    assert texts(tmp_path / "saved" / "train") == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"a": 1}', "must hold a list of objects"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.xlsx", b"PK but no", "no spreadsheet"),
        ("a.arrow", b"ARROW1 but no", "no Arrow file"),
        ("a.txt", b"\n\n", "has no rows"),
        ("a.txt.gz", b"no gzip", "gz"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        texts(path)


def test_what_is_only_read_is_not_written(tmp_path):
    with pytest.raises(UserError, match=r"reads \.xlsx but does not write it"):
        tables.convert(write(tmp_path, "txt"), tmp_path / "out.xlsx")


def test_only_ends_of_lines_cut_a_text_file(tmp_path):
    path = tmp_path / "posts.txt"
    path.write_bytes("one\u2028still one\r\ntwo\x0cstill two\rthree\n".encode())
    assert tables.read_posts(path)["text"].to_list() == ["one\u2028still one", "two\x0cstill two", "three"]
