"""Uploads, attacked: every limit has a file that breaks it, and nothing is left behind."""

import gzip
import io
import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from davy.core import UserError
from davy.files.file_safety import UploadLimits, check_contents
from davy.files.unpacked_size import measure_table
from davy.web.uploads import Upload, receive, safe_name

SMALL = UploadLimits(
    size=3_000_000, unpacked=40_000_000, ratio=100, members=50, columns=100, cells=1_000_000, line=100_000
)


def chunks(data: bytes, size: int = 64_000) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def upload(data: bytes, folder: Path, name: str = "posts.csv", **options: object) -> Upload:
    return receive(chunks(data), name, limits=SMALL, folder=folder, **options)  # type: ignore[arg-type]


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def parquet(frame: pl.DataFrame) -> bytes:
    target = io.BytesIO()
    frame.write_parquet(target)
    return target.getvalue()


def png() -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (4, 4)).save(target, "PNG")
    return target.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "kind", "packed"),
    [
        (b"id,text\n1,hello\n", "a.csv", "csv", False),
        (b'\xef\xbb\xbfid,text\r\n1,"a\rb"\r\n', "a.csv", "csv", False),
        (b"id\ttext\n1\thello, you, there\n", "a.txt", "tsv", False),
        ('\n{"id": 1, "text": "ähm 👩‍🚀"}\n'.encode(), "a.csv", "jsonl", False),
        (b"text\ncaf\xe9\n", "latin1.csv", "csv", False),
        (gzip.compress(b"id,text\n1,hello\n"), "a.csv.gz", "csv", True),
        (parquet(pl.DataFrame({"id": [1]})), "lies.csv", "parquet", False),
        (zipped({"a.csv": b"id\n1\n", "img/b.png": png()}), "a.zip", "zip", False),
        (png(), "a.csv", "image", False),
        (b"only", "a.csv", "csv", False),
        (b"id,text\n1,a stray \x08 control byte, as real posts have\n", "a.csv", "csv", False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # packed bytes differ from run to run
)
def test_the_kind_is_what_the_content_says(data: bytes, name: str, kind: str, packed: bool, tmp_path: Path) -> None:
    got = upload(data, tmp_path, name)
    assert (got.kind, got.gzip, got.size) == (kind, packed, len(data))
    assert got.path.read_bytes() == data
    got.discard()
    got.discard()
    assert list(tmp_path.iterdir()) == []


def overlapping() -> bytes:
    """A zip whose directory lists one stored block forty times."""
    data = bytearray(zipped({"a": os.urandom(5000)}, zipfile.ZIP_STORED))
    end = data.rindex(b"PK\x05\x06")
    start = data.index(b"PK\x01\x02")
    directory = bytes(data[start:end]) * 40
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 40, 40, len(directory), start, 0)
    return bytes(data[:start]) + directory + tail


def link() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        member = zipfile.ZipInfo("link")
        member.external_attr = 0o120777 << 16
        archive.writestr(member, "/etc/passwd")
    return target.getvalue()


ATTACKS = {
    "nothing": (b"", 422, "empty"),
    "blank lines": (b"\n\n\r\n  ", 422, "blank"),
    "too large": (b"a,b\n" * 1_000_000, 413, "larger than 3 MB"),
    "gzip bomb": (gzip.compress(b"a,b\n" + (b"x" * 99_000 + b"\n") * 450), 413, "unpacks to more"),
    "gzip bomb of cells": (gzip.compress(b"a,b\n" * 9_000_000), 413, "more than 1,000,000 cells"),
    "gzip bomb of one line": (gzip.compress(b"\0" * 30_000_000), 415, "NUL"),
    "gzip cut short": (gzip.compress(os.urandom(999).hex().encode())[:-200], 422, "damaged"),
    "zip bomb": (zipped({"a.csv": b"0" * 60_000_000}), 413, "unpacks to more"),
    "zip bomb in many files": (zipped({f"{i}.csv": b"0" * 2_000_000 for i in range(30)}), 413, "unpacks to more"),
    "zip in a zip": (zipped({"b.zip": zipped({"a": b"x"})}), 415, "another archive"),
    "zip of overlapping files": (overlapping(), 413, "overlap"),
    "zip of too many files": (zipped({str(i): b"" for i in range(60)}), 413, "60 files"),
    "zip that climbs out": (zipped({"../../etc/cron.d/x": b"x"}), 400, "leads out"),
    "zip with a drive": (zipped({"C:\\x": b"x"}), 400, "leads out"),
    "zip with a link": (link(), 400, "symbolic link"),
    "zip cut short": (zipped({"a": b"x" * 999})[:-30], 422, "damaged"),
    "a million columns": (b",".join([b"c"] * 1_000_000), 413, "line longer"),
    "many columns": (b",".join([b"c"] * 20_000) + b"\n1", 413, "20,000 columns"),
    "many columns in parquet": (parquet(pl.DataFrame({f"c{i}": [1] for i in range(150)})), 413, "150 columns"),
    "many fields in jsonl": (b"{" + b",".join(b'"%d":1' % i for i in range(150)) + b"}\n", 413, "150 columns"),
    "many columns behind semicolons": (b";".join([b"c"] * 20_000) + b"\n1", 413, "20,000 columns"),
    "other keys on every line": (
        b"".join(b'{"k%d":1}\n' % i for i in range(3_000)),
        413,
        "different keys; at most 100",
    ),
    "other keys, ended by CR": (b"".join(b'{"k%d":1}\r' % i for i in range(3_000)), 413, "different keys; at most 100"),
    "other keys over two lines of an old Mac": (
        b'{"k":1}\n' + b"".join(b'{\r"k%d":1}\n' % i for i in range(3_000)),
        413,
        "different keys; at most 100",
    ),
    "other keys in another encoding": (
        b"".join(b'{"k%d":"caf\xe9"}\n' % i for i in range(3_000)),
        413,
        "different keys; at most 100",
    ),
    "few keys and many rows": (
        b"".join(b'{"k%d":1}\n' % (i % 100) for i in range(20_000)),
        413,
        "more than 1,000,000 cells",
    ),
    "a file of commas": (
        gzip.compress(b",".join(b"c%d" % i for i in range(100)) + (b"\n" + b"," * 99) * 20_000, 1),
        413,
        "more than 1,000,000 cells",
    ),
    "a file of tabs behind a quote": (
        b"a\t" + b"\t".join(b"c%d" % i for i in range(90)) + b'\n"' + (b"\t" * 90 + b"\n") * 20_000,
        413,
        "more than 1,000,000 cells",
    ),
    "deep json": (b'{"a":' + b"[" * 90_000 + b"\n", 422, "not a JSON object"),
    "a line without end": (b"id,text\n1," + b"x" * 200_000 + b"\n", 413, "line longer"),
    "NUL in a text": (b"id,text\n1,a\0b\n", 415, "NUL"),
    "control bytes": (b"id,text\n" + b"\x01\x02\x03" * 50, 415, "control"),
    "a program": (b"\x7fELF\x02\x01\x01\0\0\0", 415, "NUL"),
    "utf-16": ("id,text\n".encode("utf-16-le"), 415, "UTF-8"),
    "parquet cut short": (parquet(pl.DataFrame({"a": [1] * 99}))[:-20], 422, "cut short"),
    "parquet of junk": (b"PAR1" + b"x" * 50 + struct.pack("<I", 20) + b"PAR1", 422, "can't be read"),
    "image cut short": (png()[:40], 422, "damaged"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_in_one_line_and_leaves_nothing(attack: str, tmp_path: Path) -> None:
    data, status, message = ATTACKS[attack]
    with pytest.raises(UserError, match=message) as caught:
        upload(data, tmp_path)
    assert caught.value.status == status
    assert "\n" not in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_commas_and_line_ends_within_quotes_are_no_cells(tmp_path: Path) -> None:
    row = b'1,"' + b", and\n" * 150 + b'"\n'
    assert upload(b"id,text\n" + row * 3_000, tmp_path).kind == "csv"


def test_an_endless_stream_is_cut_at_the_limit(tmp_path: Path) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 100_000

    with pytest.raises(UserError, match="larger than 3 MB"):
        receive(endless(), "a.csv", limits=SMALL, folder=tmp_path)
    assert sent == 31
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_breaks_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"id,text\n1,he"
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        receive(broken(), "a.csv", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_kind_that_was_not_asked_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a csv file; expected image"):
        upload(b"a,b\n", tmp_path, kinds=("image",))


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("posts.csv", "posts.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\posts.csv", "posts.csv"),
        (".htaccess", "htaccess"),
        ("a\0b\r\n\x1b[31m.csv", "ab[31m.csv"),
        ("Übung 3 ☃.csv", "Übung 3 ☃.csv"),
        ("x\u202evsc.exe", "xvsc.exe"),
        ('<img src=x onerror="1">.csv', "img src=x onerror=1.csv"),
        ("", "upload"),
        ("..", "upload"),
        ("con.csv", "upload"),
        ("n" * 300 + ".parquet", "n" * 92 + ".parquet"),
    ],
)
def test_names_are_made_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert len(safe) <= 100


def repeated_parquet(path: Path, rows: int) -> Path:
    """Write a Parquet file of a few kilobytes in which one value is said once and repeated."""
    columns = (pl.repeat("x" * 100, rows).alias("text"), pl.repeat(1, rows).alias("id"))
    pl.select(columns).write_parquet(path, compression="zstd")
    assert path.stat().st_size < 200_000
    return path


def test_a_parquet_file_that_unpacks_to_far_more_is_refused(tmp_path):
    bomb = repeated_parquet(tmp_path / "bomb.parquet", 3_000_000)
    with pytest.raises(UserError, match=r"3,000,000 rows of 2 columns, more than 5,000,000 cells"):
        check_contents(bomb, bomb.name, UploadLimits(cells=5_000_000))
    with pytest.raises(UserError, match="unpacks to"):
        check_contents(bomb, bomb.name, UploadLimits(unpacked=100_000_000))
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w") as archive:
        archive.write(bomb, "default/train-00000.parquet")
    with pytest.raises(UserError, match="more than 5,000,000 cells"):
        check_contents(tmp_path / "bomb.zip", "bomb.zip", UploadLimits(cells=5_000_000))


def test_a_parquet_file_that_takes_too_much_memory_ends_its_reader_and_not_the_server(tmp_path):
    part = pl.select(pl.repeat("x" * 100, 1_000_000).alias("text"), pl.repeat(1, 1_000_000).alias("id"))
    bomb, ordinary = tmp_path / "bomb.parquet", tmp_path / "ordinary.parquet"
    pl.concat([part] * 140, rechunk=False).write_parquet(bomb, compression="zstd")  # a column alone takes over 2 GB
    part.head(1000).write_parquet(ordinary)
    assert measure_table(ordinary, most_cells=1_000_000_000, memory=2**31)["rows"] == 1000
    with pytest.raises(UserError, match=r"more than 2.0 GB of memory|can't be read"):
        measure_table(bomb, most_cells=1_000_000_000, memory=2**31)
