"""Tables in a pipe: wide enough for their figures, unless COLUMNS says how wide a line may be."""

import polars as pl
import pytest

from davy.shell.app import run


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    pl.DataFrame({"text": [f"post {i}" for i in range(40)], "hate.gold": ["hateful", "not hateful"] * 20}).write_csv(
        "p.csv"
    )
    return ["evaluate", "p.csv", "-m", "uniform:1", "-m", "uniform:2", "--errors", "0", "--resamples", "50"]


def test_no_interval_is_cut_in_two(labelled, capsys, monkeypatch):
    assert run(labelled) == 0
    lines = capsys.readouterr().out.splitlines()
    opened = [line for line in lines if line.count("[") != line.count("]")]
    assert any("[" in line for line in lines)
    assert opened == []
    monkeypatch.setenv("COLUMNS", "60")
    assert run(labelled) == 0
    assert max(map(len, capsys.readouterr().out.splitlines()[:-1])) <= 60


def test_describe_names_only_what_it_wrote(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"text": [f"post {i}" for i in range(9)]}).write_csv("p.csv")
    assert run(["describe", "p.csv", "--out", "about"]) == 0
    assert "words.csv" not in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "about/words.csv").exists()
