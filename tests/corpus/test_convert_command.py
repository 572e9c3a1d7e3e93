"""`davy convert` and `davy corpus` as their users meet them: one clear line, and no file that is half there."""

import gzip
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from davy.shell.app import run

GOOD = 'id,text\n"1","one"\n"2","two"\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(GOOD)
    return tmp_path


def parquet(path):
    pl.DataFrame({"id": [str(i) for i in range(5000)], "text": ["word"] * 5000}).write_parquet(path)
    return path.read_bytes()


def truncated_parquet(path):
    path.write_bytes(parquet(path)[:-200])


def damaged_parquet(path):
    data = bytearray(parquet(path))
    data[4:400] = b"\xff" * 396
    path.write_bytes(bytes(data))


def huge_line(path):
    with path.open("wb") as file:
        file.write(b'{"id": "1", "text": "')
        file.truncate(2 * 1024**3)  # a sparse file: 2 GB without a line end, nothing on disk


def written(content, encoding="utf-8"):
    return lambda path: path.write_bytes(content.encode(encoding) if isinstance(content, str) else content)


BAD = {
    "missing file": ("god.csv", None, "god.csv does not exist. Did you mean 'good.csv'?"),
    "missing folder": ("no/such.csv", None, "no/such.csv does not exist. Its folder no does not exist either."),
    "a folder": ("folder.csv", lambda path: path.mkdir(), "The folder folder.csv holds no file of posts"),
    "unknown extension": ("posts.cvs", written(GOOD), "the extension does not say which format it is"),
    "empty file": ("a.csv", written(""), "a.csv is empty"),
    "empty JSONL": ("a.jsonl", written("\n\n"), "a.jsonl has no rows"),
    "empty gzip": ("a.csv.gz", written(gzip.compress(b"")), "a.csv.gz is empty"),
    "header only": ("a.csv", written("id,text\n"), "a.csv has a header but no rows"),
    "blank first line": ("a.csv", written("\nid,text\n"), "a.csv has no header line"),
    "Parquet without rows": (
        "a.parquet",
        lambda path: pl.DataFrame({"id": [], "text": []}).write_parquet(path),
        "a.parquet has 2 columns but no rows",
    ),
    "wrong encoding": ("a.csv", written("id,text\n1,Straße\n", "cp1252"), "a.csv is not UTF-8: byte 14 is 0xdf"),
    "wrong encoding in JSONL": ("a.jsonl", written('{"text": "é"}\n', "latin-1"), "is not UTF-8: byte 10 is 0xe9"),
    "half a UTF-16 character": ("a.csv", written("id,text\n1,a\n".encode("utf-16") + b"x"), "is not utf-16: byte 26"),
    "duplicate ids": ("a.csv", written("id,text\nx,1\ny,2\nz,3\ny,4\n"), "id 'y' is there twice, in rows 2 and 4"),
    "two columns of one name": ("a.csv", written("id,id\n1,2\n"), "a.csv has two columns of one name; it has id, id"),
    "no header": (
        "a.tsv",
        written("a post that is quite long and must not be shown in an error\tA\tA\nx\tA\tA\n"),
        "two columns of one name; it has (a name of 59 characters), A, A. Is there a header?",
    ),
    "a column named like a pattern": ("a.csv", written("id,^x$\n1,2\n"), "has a column called '^x$'"),
    "objects without fields": ("a.jsonl", written("{}\n{}\n"), "a.jsonl has 2 lines, but none has a field"),
    "too few fields": ("a.csv", written('id,text,n\n1,"a\nb",3\n2,b\n'), "line 4 has 2 fields, but the header has 3"),
    "too many fields": ("a.csv", written("id,text\n1,a\n2,b,c\n"), "line 3 has 3 fields, but the header has 2"),
    "open quote": ("a.csv", written('id,text\n1,a\n2,"b\n'), "in the row that starts at line 3 is never closed"),
    "text after a quote": ("a.csv", written('id,text\n1,"a"b\n'), "a.csv can't be read to its end"),
    "2 GB line": ("a.jsonl", huge_line, "a line that starts at byte 0 is longer than 64 MiB"),
    "2 GB line in a CSV": ("a.csv", huge_line, "a line that starts at byte 0 is longer than 64 MiB"),
    "malformed JSON": ("a.jsonl", written('{"id": "1"}\n\n{"id": }\n'), "a.jsonl: line 3 is not JSON"),
    "cut off JSON": ("a.jsonl", written('{"id": "1"}\n{"id": "2", "te'), "a.jsonl: line 2 is not JSON"),
    "a line that is a list": ("a.jsonl", written('{"id": "1"}\n[1]\n'), "line 2 is a JSON list, not an object"),
    "half a surrogate pair": ("a.jsonl", written('{"text": "\\ud83d"}\n'), "line 1 is not JSON"),
    "meta that is not JSON": ("a.csv", written('id,meta\n1,"{}"\n2,oh\n'), "row 2, column 'meta' is not JSON"),
    "meta that is empty": ("a.csv", written('id,meta\n1,"{}"\n2,""\n'), "row 2, column 'meta' is not JSON"),
    "truncated Parquet": ("a.parquet", truncated_parquet, "a.parquet is a truncated Parquet file"),
    "damaged Parquet": ("a.parquet", damaged_parquet, "a.parquet can't be read"),
    "CSV called Parquet": ("a.parquet", written(GOOD), "a.parquet is not a Parquet file"),
    "truncated gzip": ("a.csv.gz", written(gzip.compress(GOOD.encode() * 99)[:-9]), "is not a whole .gz file"),
    "CSV called gzip": ("a.csv.gz", written(GOOD), "a.csv.gz is not a whole .gz file"),
    "compressed Parquet": ("a.parquet.gz", written(b"x"), "Parquet is compressed inside"),
}


@pytest.mark.parametrize(("name", "make", "says"), BAD.values(), ids=BAD.keys())
def test_bad_input_gets_one_clear_line_exit_2_and_no_output(here, capfd, name, make, says):
    if make:
        make(here / name)
    before = sorted(here.iterdir())
    for out in ("out.parquet", "out.jsonl"):
        assert run(["convert", name, "--out", out]) == 2
        shown = capfd.readouterr()
        assert shown.out == ""
        assert shown.err.startswith("davy: ")
        assert shown.err.count("\n") == 1
        assert says in shown.err
    assert sorted(here.iterdir()) == before


def test_reading_a_2_gb_line_holds_only_a_little_of_it(here):
    huge_line(here / "a.jsonl")
    code = "import sys; from davy.shell.app import run; sys.exit(run(['convert', 'a.jsonl', '--out', 'b.csv']))"
    limit = lambda: resource.setrlimit(resource.RLIMIT_DATA, (1024**3, 1024**3))  # noqa: E731
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, preexec_fn=limit, check=False)
    assert done.returncode == 2, done.stderr
    assert b"longer than 64 MiB" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["good.csv", "--out", "no/out.csv"], "The folder no does not exist. Make it first: mkdir -p no"),
        (["good.csv", "--out", "good.csv"], "good.csv is the input. Write to another file"),
        (["good.csv", "--out", "link.csv"], "link.csv is the input"),
        (["good.csv", "--out", ".", "--replace"], "the extension does not say"),
        (["good.csv", "--out", "folder.csv"], "folder.csv is a folder. Name the file to write in it."),
        (["good.csv", "--out", "out.xlsx"], "reads .xlsx but does not write it"),
        (
            ["good.csv", "--out", "o.csv", "--text-column", "txt"],
            "no column 'txt'; it has id, text. Did you mean 'text'?",
        ),
        (["good.csv", "--out", "o.csv", "--id-column", "nr"], "has no column 'nr'; it has id, text."),
        (["good.csv", "--out", "o.csv", "--encoding", "utf-9"], "Encoding 'utf-9' is not known"),
        (["good.csv", "--out", "o.csv", "--encoding", "utf-16"], "good.csv is not utf-16"),
        (["good.csv", "--out", "o.csv", "--format", "xml"], "Format 'xml' is not known"),
        (["good.csv", "--out", "-"], "'-' has no extension: say what it is with --format"),
        (["good.csv", "--out", "-", "--format", "csv", "--json"], "--json and --out - both want stdout"),
        (["good.csv", "--out", "o.csv", "--corpus", "edoss"], "There is no corpus 'edoss'; Davy reads"),
        (["good.csv", "--out", "o.csv", "--corpus", "edos"], "has no column 'label_sexist'; it has id, text."),
        (["good.csv", "--out", "o.csv", "--corpus", "edos", "--text-column", "text"], "leave out --text-column"),
        (["good.csv"], "Missing option '--out'"),
    ],
)
def test_options_that_can_not_be_met_are_named(here, capfd, arguments, says):
    (here / "link.csv").symlink_to(here / "good.csv")
    (here / "folder.csv").mkdir()
    before = sorted(here.iterdir())
    assert run(["convert", *arguments]) == 2
    assert says in capfd.readouterr().err
    assert sorted(here.iterdir()) == before
    assert (here / "good.csv").read_text() == GOOD


def test_an_output_that_was_there_stays_when_a_conversion_fails(here):
    (here / "out.csv").write_text("precious")
    (here / "bad.jsonl").write_text('{"id": "1"}\n{"id": "1"}\n')
    assert run(["convert", "bad.jsonl", "--out", "out.csv", "--replace"]) == 2
    assert (here / "out.csv").read_text() == "precious"
    assert run(["convert", "good.csv", "--out", "out.csv", "--replace"]) == 0
    assert (here / "out.csv").read_text() == GOOD


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line_and_leaves_nothing(here, capfd):
    rows = "".join(f'{{"id": "{i}", "text": "some words to fill it"}}\n' for i in range(20_000))
    (here / "big.jsonl").write_text(rows)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from davy.shell.app import run; import davy.files.tables;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000));"
        "sys.exit(run(['convert', 'big.jsonl', '--out', 'out.csv']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == ["big.jsonl", "good.csv"]


@pytest.mark.slow
def test_an_interrupted_conversion_leaves_no_output(here):
    with (here / "big.jsonl").open("w") as file:
        for i in range(400_000):
            file.write(json.dumps({"id": str(i), "text": "words " * 20, "meta": {"n": i}}) + "\n")
    (here / "scratch").mkdir()
    stopped = 0
    for wait in (0.0, 0.3, 0.7):
        command = [sys.executable, "-m", "davy", "convert", "big.jsonl", "--out", "out.csv"]
        child = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(here / "scratch")})
        while not list((here / "scratch").iterdir()) and child.poll() is None:
            time.sleep(0.01)  # until it has begun
        time.sleep(wait)
        child.send_signal(signal.SIGINT)
        code = child.wait(120)
        if (here / "out.csv").exists():  # it was done before the signal came: then it is whole
            assert (here / "out.csv").read_bytes().count(b"\n") == 400_001
            (here / "out.csv").unlink()
        else:
            assert code == 130
            stopped += 1
        assert sorted(path.name for path in here.iterdir()) == ["big.jsonl", "good.csv", "scratch"]
    assert stopped


def test_it_says_what_it_did(here, capfd):
    assert run(["convert", "good.csv", "--out", "out.jsonl", "--json"]) == 0
    shown = capfd.readouterr()
    told = json.loads(shown.out)
    assert (told["rows"], told["columns"], told["out"]) == (2, ["id", "text"], "out.jsonl")
    assert shown.err.startswith("2 rows in ")
    assert (here / "out.jsonl").read_text() == '{"id":"1","text":"one"}\n{"id":"2","text":"two"}\n'
    assert os.stat(here / "out.jsonl").st_mode & 0o044, "others may read it, as with any file that is made"


def test_stdin_and_stdout_carry_every_format(here, capfdbinary, monkeypatch):
    for name in ("jsonl", "parquet", "tsv"):
        assert run(["convert", "good.csv", "--out", "-", "--format", name]) == 0
        out = capfdbinary.readouterr().out
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(out)))
        assert run(["convert", "-", "--format", name, "--out", "back.csv", "--replace"]) == 0
        assert (here / "back.csv").read_text() == GOOD


def test_a_format_can_be_named_where_the_extension_misleads(here):
    (here / "posts.txt").write_text("id\ttext\n1\tone\n")
    assert run(["convert", "posts.txt", "--format", "tsv", "--out", "out.jsonl"]) == 0
    assert (here / "out.jsonl").read_text() == '{"id":"1","text":"one"}\n'


def test_naming_columns_makes_posts_and_missing_ids(here):
    (here / "tweets.csv").write_text("tweet,nr,likes\nhello,7,1\nagain,,2\n")
    assert run(["convert", "tweets.csv", "--text-column", "tweet", "--out", "a.jsonl"]) == 0
    assert [json.loads(line)["id"] for line in (here / "a.jsonl").read_text().splitlines()] == ["tweets-1", "tweets-2"]
    assert run(["convert", "tweets.csv", "--id-column", "nr", "--out", "b.jsonl"]) == 0
    assert [json.loads(line) for line in (here / "b.jsonl").read_text().splitlines()] == [
        {"id": "7", "text": "hello", "likes": 1},
        {"id": "tweets-2", "text": "again", "likes": 2},
    ]


def test_corpora_are_listed_and_shown(capfd):
    assert run(["corpus", "list", "--json"]) == 0
    names = [one["name"] for one in json.loads(capfd.readouterr().out)]
    assert {"edos", "hatemojibuild", "hatecheck", "gmhp7k", "hateful-memes"} <= set(names)
    assert run(["corpus", "show", "germeval2018"]) == 0
    assert "coarse → offensive.gold" in capfd.readouterr().out
    assert run(["corpus", "show", "edso"]) == 2
    assert "Did you mean 'edos'?" in capfd.readouterr().err
