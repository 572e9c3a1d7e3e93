"""A JSONL file is read the quick way where its lines are alike; the line that is not alike is read no less exactly."""

import json

import polars as pl
import pytest

from davy.core import UserError
from davy.files import jsonl_columns, tables

ALIKE = [
    {
        "id": f"p{i}",
        "text": f"quiet words {i} 🙂",
        "n": i,
        "share": i / 7,
        "seen": i % 2 == 0,
        "none": None,
        "meta": {"i": i},
    }
    for i in range(4_000)
]
"""More than one block, so that what follows meets a reader that knows these keys and kinds."""


@pytest.fixture
def after(tmp_path):
    """Write lines after those that are alike, and return the file."""

    def write(*lines: str | bytes, ending: bytes = b"\n"):
        path = tmp_path / "a.jsonl"
        some = [line if isinstance(line, bytes) else line.encode() for line in lines]
        path.write_bytes(b"".join(line + ending for line in [*(json.dumps(row).encode() for row in ALIKE), *some]))
        assert path.stat().st_size > 1.5 * jsonl_columns._BLOCK
        return path

    return write


def back(path):
    """Return the rows of a file once it went through Parquet."""
    tables.convert(path, path.with_name("b.parquet"))
    tables.convert(path.with_name("b.parquet"), path.with_name("c.jsonl"))
    return [json.loads(line) for line in path.with_name("c.jsonl").read_bytes().decode().split("\n") if line]


@pytest.mark.parametrize(
    "row",
    [
        {"id": "x", "text": "a new key", "late": [1, {"a": None}]},
        {"text": "keys in another order", "id": "x"},
        {"id": "x", "text": 7},
        {"id": "x", "n": "a text among numbers"},
        {"id": "x", "n": 0.5},
        {"id": "x", "n": 2**53 + 1},
        {"id": "x", "n": 2**63},
        {"id": "x", "n": -(2**70)},
        {"id": "x", "share": 2**53 + 1},
        {"id": "x", "seen": "yes"},
        {"id": "x", "none": {"at": "last"}},
        {"id": "x", "text": {"nested": True}},
        {"id": "x", 'a "quoted" key\n': "and one more"},
        {"id": "x", "text": 'tab\t "quote" back\\slash \r\n nul\x00 👩‍👧', "meta": ["🙂", '"', "\\", "\n"]},
        {"id": "x", "meta": "a text"},
        {"id": "x", "meta": None},
        {"id": "x", "meta": {"deep": json.loads("[" * 150 + "]" * 150)}},
    ],
)
@pytest.mark.parametrize("ascii", [True, False], ids=["escaped", "as it is"])
def test_a_late_line_that_is_not_alike_comes_back_as_it_was(after, row, ascii):
    names = dict.fromkeys([*ALIKE[0], *row])
    wanted = [{name: one.get(name) for name in names} for one in [*ALIKE, row, {"id": "last"}]]
    found = back(after(json.dumps(row, ensure_ascii=ascii), '{"id": "last"}'))
    assert found == wanted
    assert [list(one) for one in found] == [list(one) for one in wanted]


def test_json_keeps_its_spelling_digits_and_all(after):
    spelt = [
        '{"z": 1.10000000000000000001, "a":[ ],"n": 123456789012345678901234567890}',
        '{"a": 1, "a": 2}',
        '"\\u00fc"',
        "1e400",
    ]
    path = after(*(f'{{"id": "x{i}", "meta": {text} }}' for i, text in enumerate(spelt)))
    assert tables.scan(path).collect()["meta"].to_list()[-4:] == spelt
    assert tables.scan(path).collect()["meta"].to_list()[0] == '{"i": 0}'


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("{oh", "line 4001 is not JSON"),
        ('{"id": "1"} {"id": "2"}', "line 4001 is not JSON"),
        ('{"id":\n"1"}', "line 4001 is not JSON"),
        ("[1, 2]", "line 4001 is a JSON list, not an object"),
        ("null", "line 4001 is a JSON NoneType, not an object"),
        ('{"id": "x", "meta": {"a": tru}}', "line 4001 is not JSON"),
        ('{"id": "x", "meta": "\\ud83d"}', "line 4001 is not JSON"),
        ('{"id": "x", "text": "\\ud83d"}', r"line 4001 is not JSON .half a surrogate pair, .ud83d"),
        ('{"id": "x", "text": "\\ud83d\\ude00 \\ude00"}', r"line 4001 is not JSON .half a surrogate pair, .ude00"),
        ('{"id": "x", "meta": "a\tb"}', "line 4001 is not JSON"),
        (b'{"id": "x", "meta": "\xff"}', r"is not UTF-8: byte \d+ is 0xff"),
        (b'{"id": "x", "text": "\xff"}', r"is not UTF-8: byte \d+ is 0xff"),
        ('{"id": "x", "meta": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 4001 is not JSON"),
    ],
    ids=range(13),
)
def test_a_late_line_that_is_wrong_is_named(after, bad, says):
    with pytest.raises(UserError, match=says):
        tables.scan(after(bad))


def test_blank_lines_between_are_passed_over_and_counted(after):
    path = after("", '{"id": "x"}', "   ", '{"id": "y"}', "")
    assert tables.scan(path).collect()["id"].to_list()[-2:] == ["x", "y"]
    with pytest.raises(UserError, match="line 4003 is not JSON"):
        tables.scan(after("", '{"id": "x"}', "{oh"))


@pytest.mark.parametrize("ending", [b"\r\n", b"\r"], ids=["CRLF", "CR"])
def test_other_line_ends_are_read(after, ending):
    frame = tables.scan(after('{"id": "x", "meta": {} }', ending=ending)).collect()
    assert frame.height == 4_001
    assert frame["meta"].to_list()[-1] == "{}"


def test_what_is_not_a_number_is_read_the_careful_way(after):
    path = after('{"id": "x", "share": NaN}', '{"id": "y", "share": 0.5}')
    assert str(tables.scan(path).collect()["share"].to_list()[-2:]) == "[nan, 0.5]"


def test_long_whole_numbers_keep_their_digits_when_a_fraction_follows_in_another_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl_columns, "_BLOCK", 512)
    monkeypatch.setattr(jsonl_columns, "_PIECE_ROWS", 10)
    rows = [{"id": str(i), "n": 2**60 + i} for i in range(200)] + [{"id": "last", "n": 0.5}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert back(tmp_path / "a.jsonl") == rows


def test_most_lines_go_the_quick_way(after, monkeypatch):
    seen = []
    careful = jsonl_columns._carefully

    def counted(lines, *rest):
        seen.append(len(lines))
        return careful(lines, *rest)

    monkeypatch.setattr(jsonl_columns, "_carefully", counted)
    frame = tables.scan(after()).collect()
    assert sum(seen) < len(ALIKE) / 2
    wanted = pl.DataFrame([{**row, "meta": json.dumps(row["meta"])} for row in ALIKE])
    assert frame.equals(wanted.with_columns(none=pl.lit(None, dtype=pl.String)))


def test_texts_beside_a_number_are_texts(tmp_path):
    path = tmp_path / "mixed.jsonl"
    lines = [{"id": 1, "text": "Hello,\nschöne Grüße"}, {"id": "2", "text": 12345}, {"id": 3, "text": None}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    posts = tables.read_posts(path)
    assert posts["text"].to_list() == ["Hello,\nschöne Grüße", "12345", None]
    assert posts["id"].to_list() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("jsonl", "".join(f'{{"k{i}": 1}}\n' for i in range(6_000))),
        ("jsonl", "".join(f'{{"key {i} of many": {i % 7}}}\n' for i in range(60_000))),
        ("json", "[" + ", ".join(f'{{"k{i}": 1}}' for i in range(6_000)) + "]"),
        ("csv", ",".join(f"c{i}" for i in range(6_000)) + "\n" + "," * 5_999),
        ("csv", '"a\n",' + ",".join(f"c{i}" for i in range(6_000)) + "\n" + "," * 6_000),
    ],
    ids=["one block", "many blocks", "a list", "a header", "a header of two lines"],
)
def test_more_columns_than_a_table_may_have_are_refused(tmp_path, ending, content):
    path = tmp_path / f"wide.{ending}"
    path.write_text(content)
    with pytest.raises(UserError, match=r"columns or more; at most 5,000\. Put what differs .* such as meta\.$"):
        tables.convert(path, tmp_path / "out.parquet")


@pytest.mark.parametrize("late", [False, True])
def test_lines_that_fill_few_of_many_columns_are_refused(tmp_path, late):
    path = tmp_path / "sparse.jsonl"
    keys = json.dumps({f"k{i}": i for i in range(2_000)})
    short = '{"k1": 1}\n' * 8_000
    path.write_text(f"{keys}\n" * (20 if late else 1) + short)
    with pytest.raises(UserError, match="2,000 different keys, but each line has only a few of them"):
        tables.convert(path, tmp_path / "out.parquet")
