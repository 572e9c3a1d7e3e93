"""A CSV file is looked at in chunks side by side; where they are cut must not matter."""

import csv
import io
import random

import pytest

from davy.core import UserError
from davy.files import csv_scan, tables

PIECES = ['"', '""', ",", "\n", "\r\n", "\r", "word", " ", "ß", "🙂", "12"]


def written(rows):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["id", "text", "n"], *rows])
    return out.getvalue().encode()


@pytest.mark.parametrize("size", [16, 61, 256, 4096])
def test_rows_are_those_of_pythons_own_reader_wherever_the_chunks_end(tmp_path, monkeypatch, size):
    monkeypatch.setattr(csv_scan, "_BLOCK", size)
    chance = random.Random(size)
    rows = [(str(i), "".join(chance.choices(PIECES, k=chance.randint(1, 30))), str(i)) for i in range(300)]
    (tmp_path / "a.csv").write_bytes(written(rows))
    with tables.open_table(tmp_path / "a.csv") as table:
        assert table.rows == len(rows)
        assert table.frame.collect().rows() == rows


@pytest.mark.parametrize("size", [16, 256, 4096])
@pytest.mark.parametrize(
    ("late", "says"),
    [
        ("9,nine,9,more\n", "line 303 has 4 fields, but the header has 3"),
        ("9,nine\n", "line 303 has 2 fields, but the header has 3"),
        ('9,"nine,9\n', r"a quote \(\"\) in the row that starts at line 303 is never closed"),
    ],
)
def test_a_late_row_that_is_wrong_is_named_by_its_line(tmp_path, monkeypatch, size, late, says):
    monkeypatch.setattr(csv_scan, "_BLOCK", size)
    rows = "".join(f'{i},"two\nlines",{i}\n' for i in range(150))
    (tmp_path / "a.csv").write_text(f"id,text,n\n{rows}\n{late}1,one,1\n")
    with pytest.raises(UserError, match=says):
        tables.scan(tmp_path / "a.csv")


def test_a_cell_in_the_last_chunk_decides_the_type_of_its_column(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_scan, "_BLOCK", 64)
    rows = "".join(f"{i},{i},{i}.5,true,{i}\n" for i in range(200))
    for last, wanted in (
        ("9,9,9.5,false,9", ["String", "Int64", "Float64", "Boolean", "Int64"]),
        ('9,"9",9,,', ["String", "String", "Float64", "Boolean", "Int64"]),
        ("9,x,007,yes,0.5", ["String", "String", "String", "String", "Float64"]),
    ):
        (tmp_path / "a.csv").write_text(f"id,a,b,c,d\n{rows}\n{last}\n")
        frame = tables.scan(tmp_path / "a.csv").collect()
        assert [str(dtype) for dtype in frame.dtypes] == wanted
        assert len(frame) == 201
