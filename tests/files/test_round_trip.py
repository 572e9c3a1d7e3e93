"""Nothing is lost on the way through the formats, and the files read well elsewhere."""

import csv
import gzip
import io
import json
import os
from datetime import UTC, date, datetime

import polars as pl
import pytest

from davy.core import UserError
from davy.files import jsonl, tables

TEXTS = [
    "plain",
    "",
    None,
    "null",
    "12",
    "007",
    "true",
    " spaces ",
    'say "hi", twice ""',
    "a,b;c\td",
    "two\nlines",
    "bare\rCR",
    "windows\r\nend\r\n",
    "\r",
    "\n",
    '"',
    "👩‍👧 family, ❤️ with selector, ❤ without",
    "\ufeffstarts with a BOM",
    "nul\x00inside, escape \x1b",
    "line\u2028separator \x85 next",
    "back\\slash \\n not a line",
    "[1, 2]",
    '{"a": 1}',
    "=SUM(A1)",
    "Grüße – ﷽ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
]
METAS = [
    {"z": 1, "a": {"deep": [1, None, {"k": 'v\n\t"\\\x01'}]}, "empty": {}, "none": None},
    None,
    {},
    {"big": 123456789012345678901234567890, "small": 1e-7, "one": 1.0, "flag": True},
    [1, "two"],
    "a text",
    {f"key{i * 7919 % 97}": i for i in range(60)},
]


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


@pytest.fixture
def posts(tmp_path):
    rows = [
        {
            "id": f"{i:04}",
            "text": text,
            "meta": METAS[i % len(METAS)],
            "likes": [None, 0, -5, 2**60][i % 4],
            "share": [0.1, None, 1e22, -0.0, 5e-324][i % 5],
            "seen": [True, False, None][i % 3],
            "number as text": str(i),
            "labels": [["x", "y"], [], None][i % 3],
            "mixed": ["7", 7, 7.5, True, {"a": 1}, None, "[1]"][i % 7],
            "hate.gold": ["hateful", "not hateful", None][i % 3],
            "target.gold": ["women|muslims", None][i % 2],
            "nothing": None,
            'odd\nname, "quoted"': "x",
        }
        for i, text in enumerate(TEXTS)
    ]
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_jsonl_to_parquet_to_csv_to_jsonl_gives_the_same_rows(posts, tmp_path):
    tables.convert(posts, tmp_path / "a.parquet")
    tables.convert(tmp_path / "a.parquet", tmp_path / "b.csv")
    tables.convert(tmp_path / "b.csv", tmp_path / "c.jsonl")
    before, after = lines_of(posts), lines_of(tmp_path / "c.jsonl")
    assert after == before
    assert [list(row) for row in after] == [list(row) for row in before]
    for one, two in zip(before, after, strict=True):
        assert [type(v) for v in one.values()] == [type(v) for v in two.values()]
        assert json.dumps(one["meta"]) == json.dumps(two["meta"])


@pytest.mark.parametrize("ending", ["tsv", "csv.gz", "tsv.xz", "jsonl.bz2", "ndjson", "pq"])
def test_every_format_gives_back_what_it_got(posts, tmp_path, ending):
    middle = tmp_path / f"middle.{ending}"
    tables.convert(posts, middle)
    tables.convert(middle, tmp_path / "back.jsonl")
    assert lines_of(tmp_path / "back.jsonl") == lines_of(posts)


def test_the_csv_reads_the_same_with_pythons_own_reader(posts, tmp_path):
    tables.convert(posts, tmp_path / "a.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_bytes().decode(), newline="")))
    assert [row["text"] for row in rows] == [text or "" for text in TEXTS]
    assert [json.loads(row["meta"]) if row["meta"] else None for row in rows] == [r["meta"] for r in lines_of(posts)]
    assert json.loads(rows[0]["labels:json"]) == ["x", "y"]


def test_the_parquet_reads_the_same_with_pyarrow(posts, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    tables.convert(posts, tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table["text"].to_pylist() == TEXTS
    assert [str(table.schema.field(name).type) for name in ("likes", "share", "seen")] == ["int64", "double", "bool"]


def test_null_is_nothing_between_commas_and_empty_text_is_two_quotes(tmp_path):
    frame = pl.DataFrame({"id": ["1", "2"], "text": ["", None], "likes": [None, 3], "seen": [True, None]})
    tables.write(frame.lazy(), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == 'id,text,likes,seen\n"1","",,true\n"2",,3,\n'


def test_a_text_column_of_digits_stays_text_and_a_foreign_number_column_becomes_numbers(tmp_path):
    (tmp_path / "a.csv").write_text(
        'id,zip,n,x,code,long\n1,"01",2,0.50,007,12345678901234567890\n2,"3",-4,1e-07,1,2\n'
    )
    frame = tables.scan(tmp_path / "a.csv").collect()
    assert [str(dtype) for dtype in frame.dtypes] == ["String", "String", "Int64", "Float64", "String", "String"]
    assert frame["x"].to_list() == [0.5, 1e-07]
    assert frame["code"].to_list() == ["007", "1"]


def test_a_kind_that_only_shows_in_the_last_row_is_kept(tmp_path):
    rows = [{"id": str(i), "text": "quiet", "score": None} for i in range(30_000)]
    rows.append({"id": "last", "text": "quiet", "score": 5, "extra": [1]})
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tables.convert(tmp_path / "a.jsonl", tmp_path / "b.csv")
    tables.convert(tmp_path / "b.csv", tmp_path / "c.jsonl")
    after = lines_of(tmp_path / "c.jsonl")
    assert after[-1] == rows[-1]
    assert after[0] == {**rows[0], "extra": None}


def test_types_that_json_lacks_are_spelt_as_iso_text(tmp_path):
    frame = pl.DataFrame(
        {
            "id": ["1"],
            "day": [date(2024, 2, 29)],
            "at": [datetime(2024, 2, 29, 12, 0, 0, 500, tzinfo=UTC)],
            "tags": [["a", "b"]],
            "inner": [{"x": 1, "y": None}],
            "kind": pl.Series(["k"], dtype=pl.Categorical),
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    for name in ("b.jsonl", "c.csv"):
        tables.convert(tmp_path / "a.parquet", tmp_path / name)
    tables.convert(tmp_path / "c.csv", tmp_path / "d.jsonl")
    wanted = {
        "id": "1",
        "day": "2024-02-29",
        "at": "2024-02-29T12:00:00.000500+00:00",
        "tags": ["a", "b"],
        "inner": {"x": 1, "y": None},
        "kind": "k",
    }
    assert lines_of(tmp_path / "b.jsonl") == [wanted]
    assert lines_of(tmp_path / "d.jsonl") == [wanted]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"], ids=lambda e: f"{e} by itself"
)
def test_unicode_encodings_are_found_out(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes('id,text\r\n1,"Grüße 🙂\rCR"\r\n2,zwei\r\n'.encode(encoding))
    frame = tables.scan(tmp_path / "a.csv").collect()
    assert frame.to_dict(as_series=False) == {"id": ["1", "2"], "text": ["Grüße 🙂\rCR", "zwei"]}


def test_an_encoding_can_be_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("id,text\n1,Straße – „so“\n".encode("cp1252"))
    assert tables.scan(tmp_path / "a.csv", encoding="cp1252").collect()["text"].to_list() == ["Straße – „so“"]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("id,text\r1,one\r2,two\r", [("1", "one"), ("2", "two")]),
        ("id;text\n1;a,b\n2;c\n", [("1", "a,b"), ("2", "c")]),
        ("id,text\n1,one\n\n2,two\n\n\n", [("1", "one"), ("2", "two")]),
        ("id,text\n1,one\n2,two", [("1", "one"), ("2", "two")]),
        ("id,text\n1,bare\rCR\n2,", [("1", "bare\rCR"), ("2", None)]),
        ('id,"te\nxt"\n1,one\n', [("1", "one")]),
        ('"id","text"\n"1","one, ""two"""\n', [("1", 'one, "two"')]),
    ],
)
def test_odd_line_ends_and_separators_are_read(tmp_path, content, rows):
    (tmp_path / "a.csv").write_bytes(content.encode())
    assert tables.scan(tmp_path / "a.csv").collect().rows() == rows


def test_a_tsv_without_quoting_keeps_its_quotes(tmp_path):
    (tmp_path / "a.tsv").write_text('id\ttext\n1\tthe "quiet" one\n2\ta lone " mark\n')
    assert tables.scan(tmp_path / "a.tsv").collect()["text"].to_list() == ['the "quiet" one', 'a lone " mark']


def test_batches_come_in_order_and_columns_can_be_chosen(tmp_path):
    frame = pl.DataFrame({"id": [str(i) for i in range(25_000)], "text": ["t"] * 25_000})
    tables.write(iter([frame[:7], frame[7:]]), tmp_path / "a.csv")
    parts = list(tables.batches(tmp_path / "a.csv", 4_000, ["id"]))
    assert max(map(len, parts)) <= 4_000
    assert pl.concat(parts)["id"].to_list() == frame["id"].to_list()
    with pytest.raises(UserError, match=r"has no column 'txt'; it has id, text\. Did you mean 'text'\?"):
        list(tables.batches(tmp_path / "a.csv", columns=["txt"]))


def test_gzip_output_is_gzip(tmp_path):
    tables.write(pl.LazyFrame({"id": ["1"], "text": ["x"]}), tmp_path / "a.csv.gz")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).decode() == 'id,text\n"1","x"\n'


def test_a_file_read_by_several_processes_is_the_same_and_errors_name_the_line_in_the_file(tmp_path, monkeypatch):
    rows = [{"id": str(i), "text": f"wörds {i}", "meta": {"n": i}, "late": None} for i in range(5_000)]
    rows[-1]["late"], rows[2_500]["late"] = 5, "five"
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(jsonl, "PART", path.stat().st_size // 3 - 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(3))
    tables.convert(path, tmp_path / "b.csv")
    tables.convert(tmp_path / "b.csv", tmp_path / "c.jsonl")
    assert lines_of(tmp_path / "c.jsonl") == rows
    with path.open("a") as file:
        file.write("{oh\n")
    with pytest.raises(UserError, match="line 5001 is not JSON"):
        tables.scan(path)
