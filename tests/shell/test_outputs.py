"""What exists is written over only with --replace: every command that writes, and the folders that it replaces."""

import json
import os
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import option_table

from davy.shell.app import run
from davy.shell.outputs import FINISHED, NEW_FOLDERS, OWN_RULE, WRITTEN

USES = option_table.uses()
WRITERS = sorted({use.command for name in WRITTEN for use in USES[name]} - set(OWN_RULE))
POSTS = {"id": ["1", "2", "3"], "text": ["a grumblefop", "a nice day", "tea"], "hate.gold": ["yes", "no", "no"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(POSTS).write_csv("posts.csv")
    Path("words.txt").write_text("grumblefop\t0.9\n")
    return tmp_path


def arguments_of(command):
    """The fewest arguments that a command's parser accepts, with --out being what exists."""
    needed = {
        use.name: use.value for uses in USES.values() for use in uses if use.command == command and use.is_required
    }
    return [part for name in needed if name != "--out" for part in (name, "1")]


@pytest.mark.parametrize("command", WRITERS)
def test_an_output_that_exists_is_refused_before_any_work(command, folder, capsys):
    out = folder / "old"
    is_folder = any(use.command == command and use.value in ("DIR", "FOLDER") for use in USES["--out"])
    kept = out / (FINISHED.get(command) or ["report.html"])[0] if is_folder else out
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("kept")
    places = ["posts.csv"] * option_table.arguments_needed(command)
    assert run([*command.split(), *places, *arguments_of(command), "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"davy: {out} exists. Write over it with --replace, or give another --out.\n"
    assert kept.read_text() == "kept"


def test_replace_is_the_only_word_for_writing_over():
    assert {use.command for use in USES["--replace"]} >= set(WRITERS)
    assert not {"--force", "--overwrite", "--no-resume"} & set(USES)
    assert set(OWN_RULE) | set(FINISHED) | set(NEW_FOLDERS) <= {use.command for use in USES["--out"]}


def test_a_report_is_not_written_over_another_commands(folder, capsys):
    measure = ["evaluate", "posts.csv", "--model", "keywords:words.txt", "--resamples", "0", "--out", "report"]
    assert run(measure) == 0
    before = Path("report/report.html").read_bytes()
    assert run(["describe", "posts.csv", "--out", "report"]) == 2
    assert "report exists. Write over it with --replace" in capsys.readouterr().err
    assert Path("report/report.html").read_bytes() == before
    assert run(["describe", "posts.csv", "--out", "report", "--replace"]) == 0
    assert Path("report/report.html").read_bytes() != before
    assert run([*measure, "--replace"]) == 0


def test_stdout_and_an_empty_folder_are_no_output_that_exists(folder, capsys):
    score = ["score", "posts.csv", "--model", "keywords:words.txt", "--format", "csv", "--out"]
    assert run([*score, "-"]) == 0
    Path("empty").mkdir()
    assert run(["describe", "posts.csv", "--out", "empty"]) == 0
    assert run([*score, "scored.csv"]) == 0
    assert run([*score, "scored.csv"]) == 2
    assert run([*score, "scored.csv", "--replace"]) == 0
    os.mkfifo("pipe")
    assert run([*score, "pipe"]) == 2
    assert "pipe is a device" in capsys.readouterr().err
    assert not Path("pipe").is_file()


def test_a_model_folder_is_replaced_whole_or_stays(folder, capsys):
    train = ["train", "posts.csv", "--kind", "tfidf", "--out"]
    assert run([*train, "mine"]) == 0
    calibrate = ["calibrate", "mine/seed-1/model", "posts.csv", "--out", "better"]
    assert run(calibrate) == 0
    Path("better/mark").touch()
    assert run(calibrate) == 2
    assert run(["calibrate", "mine/seed-1/model", "gone.csv", "--out", "better", "--replace"]) == 2
    assert Path("better/mark").exists(), "a failed run put back what it would have replaced"
    assert run([*calibrate, "--replace"]) == 0
    assert not Path("better/mark").exists()
    assert json.loads(Path("better/manifest.json").read_text())["format"]
    assert not list(folder.glob(".better*"))


def test_a_folder_that_the_command_did_not_write_or_reads_from_is_never_deleted(folder, capsys):
    assert run(["train", "posts.csv", "--kind", "tfidf", "--out", "mine"]) == 0
    calibrate = ["calibrate", "mine/seed-1/model", "posts.csv", "--replace", "--out"]
    Path("diary").mkdir()
    Path("diary/today.txt").write_text("tea")
    assert run([*calibrate, "diary"]) == 2
    assert "diary was not written by this command" in capsys.readouterr().err
    assert Path("diary/today.txt").read_text() == "tea"
    assert run([*calibrate, "mine/seed-1/model"]) == 2
    assert "is read by this command, too" in capsys.readouterr().err
    assert Path("mine/seed-1/model/manifest.json").is_file()
