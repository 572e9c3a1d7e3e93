"""Folders of shards: the same rows as one file, whatever the folder is and however often the run was stopped."""

import json
from pathlib import Path

import polars as pl
import pytest

from davy.core.errors import UserError
from davy.corpus.clean.clean import clean_file
from davy.corpus.clean.clean_shards import clean_shards
from davy.corpus.post_source import PostSource
from davy.engines.shards import hide_password, subfolder
from davy.engines.unit_work import result_of
from davy.scoring.score_file import score_file
from davy.scoring.score_shards import MANIFEST, score_shards
from davy.shell.app import run


@pytest.fixture
def words(tmp_path: Path) -> str:
    file = tmp_path / "words.txt"
    file.write_text("bad\nworse\n", encoding="utf-8")
    return f"keywords:{file}@hate"


@pytest.fixture
def posts(tmp_path: Path) -> pl.DataFrame:
    texts = [f"Post number {i} about {'bad ' if i % 7 == 0 else ''}weather and trains" for i in range(90)]
    texts[40] = texts[3]  # an exact duplicate in another shard
    texts[41] = "Post number 5 about weather and trains @somebody"
    frame = pl.DataFrame({"key": [f"k{i}" for i in range(90)], "body": [*texts[:88], None, "last one"]})
    folder = tmp_path / "in"
    folder.mkdir()
    for number, start in enumerate((0, 25, 60)):
        frame[start : (start + 35 if number else 25)].write_parquet(folder / f"part-{number:05}.parquet")
    pl.concat([pl.read_parquet(path) for path in sorted(folder.iterdir())]).write_parquet(tmp_path / "one.parquet")
    return pl.read_parquet(tmp_path / "one.parquet")


def together(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


@pytest.mark.parametrize("rows", [10, 1000])
def test_shards_are_scored_as_one_file_is_row_for_row(tmp_path, posts, words, rows):
    done = score_shards(PostSource(str(tmp_path / "in")), str(tmp_path / "out"), words, rows=rows)
    score_file(tmp_path / "one.parquet", tmp_path / "one-scored.parquet", words)
    assert together(tmp_path / "out").equals(pl.read_parquet(tmp_path / "one-scored.parquet"))
    assert done.posts == len(posts)
    assert done.without_score == 1
    assert not list((tmp_path / "out").glob("_*.parquet.json"))
    if rows == 1000:
        assert [path.name for path in sorted((tmp_path / "out").glob("*.parquet"))] == [
            f"part-{number:05}.parquet" for number in range(3)
        ]


@pytest.mark.parametrize("scheme", ["path", "file"])
def test_shards_are_cleaned_as_one_file_is_with_duplicates_across_shards(tmp_path, posts, scheme):
    prefix = "file://" if scheme == "file" else ""
    out = tmp_path / "out"
    source = PostSource(f"{prefix}{tmp_path / 'in'}", id="key", text="body")
    by_shards = clean_shards(source, f"{prefix}{out}", near=0.7, rows=12)
    one = PostSource(str(tmp_path / "one.parquet"), id="key", text="body")
    whole = clean_file(one, tmp_path / "one-clean.parquet", near=0.7)
    assert [row.left for row in by_shards.rows] == [row.left for row in whole.rows]
    assert together(out).equals(pl.read_parquet(tmp_path / "one-clean.parquet"))
    assert by_shards.left < len(posts) - 2
    assert not (out / "_scratch").exists()


def test_an_id_in_two_shards_is_refused_and_nothing_stays(tmp_path, posts):
    pl.DataFrame({"key": ["k3"], "body": ["one more post about something else"]}).write_parquet(
        tmp_path / "in" / "part-00009.parquet"
    )
    with pytest.raises(UserError, match=r"twice, in part-00000.* and part-00009"):
        clean_shards(PostSource(str(tmp_path / "in"), id="key", text="body"), str(tmp_path / "out"))
    assert not list((tmp_path / "out").glob("*"))


def test_a_stopped_run_goes_on_with_the_shards_that_are_missing(tmp_path, posts, words):
    out = tmp_path / "out"
    score_shards(PostSource(str(tmp_path / "in")), str(out), words, rows=10)
    whole = together(out)
    record = json.loads((out / MANIFEST).read_text())
    names = list(record["done"])
    for name in names[:3]:  # as a run leaves it that was stopped after three shards
        (out / f"_{name}.json").write_text(json.dumps(record["done"][name]))
    for name in names[3:]:
        (out / name).unlink()
    (out / MANIFEST).write_text(json.dumps({"run": record["run"], "done": {}}))
    before = {name: (out / name).stat().st_mtime_ns for name in names[:3]}
    done = score_shards(PostSource(str(tmp_path / "in")), str(out), words, rows=10)
    assert together(out).equals(whole)
    assert done.posts == len(posts)
    assert before == {name: (out / name).stat().st_mtime_ns for name in names[:3]}


def test_a_folder_of_another_run_or_of_somebody_elses_shards_is_not_written_over(tmp_path, posts, words):
    source = PostSource(str(tmp_path / "in"))
    score_shards(source, str(tmp_path / "out"), words)
    with pytest.raises(UserError, match="another run"):
        score_shards(source, str(tmp_path / "out"), words, rows=7)
    (tmp_path / "other").mkdir()
    posts.write_parquet(tmp_path / "other" / "x.parquet")
    with pytest.raises(UserError, match="no run of Davy"):
        score_shards(source, str(tmp_path / "other"), words)
    with pytest.raises(UserError, match="is the input"):
        score_shards(source, str(tmp_path / "in"), words)


def test_the_shell_takes_a_folder_and_says_what_does_not_fit(tmp_path, posts, words, capsys):
    assert run(["score", str(tmp_path / "in"), "--model", words, "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["posts"] == len(posts)
    for more, message in (
        (["--engine", "spark"], "no engine 'spark'"),
        (["--address", "auto"], "go with --engine ray"),
        (["--explain"], "go with one file"),
    ):
        assert run(["score", str(tmp_path / "in"), "--model", words, "--out", str(tmp_path / "o2"), *more]) == 2
        assert message in capsys.readouterr().err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(["clean", str(empty), "--out", str(tmp_path / "o3")]) == 2
    assert "holds no .parquet shard" in capsys.readouterr().err


def test_a_folder_that_is_written_to_one_file_is_one_table(tmp_path, posts, words):
    out = tmp_path / "all.parquet"
    assert run(["score", str(tmp_path / "in"), "--model", words, "--out", str(out)]) == 0
    assert out.is_file()
    assert pl.read_parquet(out).height == len(posts)


def test_a_damaged_shard_is_one_clear_line(tmp_path, posts, words, capsys):
    (tmp_path / "in" / "part-00001.parquet").write_bytes(b"PAR1 and then nothing")
    assert run(["score", str(tmp_path / "in"), "--model", words, "--out", str(tmp_path / "out")]) == 2
    assert "part-00001.parquet is no Parquet file" in capsys.readouterr().err


def test_a_worker_of_another_version_is_refused():
    with pytest.raises(UserError, match="Install the same version on every node"):
        result_of({"result": 1, "version": "0.0.1"}, "A node")


def test_keys_in_urls_are_not_shown():
    assert hide_password("s3://KEY:SECRET@bucket/a?endpoint_override=x") == "s3://bucket/a"
    assert subfolder("s3://bucket/a/?scheme=http", "_scratch") == "s3://bucket/a/_scratch?scheme=http"
