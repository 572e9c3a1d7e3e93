"""From a CSV to a calibrated, checked, exported detector: docs/start's notebook, and the same in ten shell lines."""

import json
import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from davy.detectors import folder as folders
from davy.shell.app import run
from tiny_encoder import make_tiny_encoder

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from run_notebook import run_cells

START = Path(__file__).parents[2] / "docs" / "start"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a tiny encoder, which stands for MiniLM."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    make_tiny_encoder(tmp_path / "minilm")
    return tmp_path


def sources(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_runs_from_top_to_bottom(place):
    notebook = json.loads((START / "from-csv.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    # The tiny encoder starts from nothing, so it takes larger steps than MiniLM.
    for cell in notebook["cells"]:
        cell["source"] = [line.replace("rate=1e-4", "rate=5e-3") for line in cell["source"]]
    shown = run_cells(notebook)
    assert "davy.calibrate" in " ".join(sources(shown))
    assert "temperature" in json.dumps(shown["cells"])
    last = shown["cells"][-1]["outputs"][-1]["data"]
    assert "hate.label" in "".join(last["text/plain"])
    assert "text/html" in last  # pandas came out
    assert folders.read(place / "mine").thresholds["hate"] > 0


def test_ten_shell_lines_do_the_same(place, capsys):
    page = (START / "from-csv.md").read_text(encoding="utf-8")
    lines = re.search(r"^```\n(.*?)^```", page, re.M | re.S)[1].splitlines()
    assert len(lines) == 10
    suite, gate = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    Path("suite.yaml").write_text(suite)
    Path("gate.yaml").write_text(gate)
    notebook = json.loads((START / "from-csv.ipynb").read_text(encoding="utf-8"))
    exec(sources(notebook)[0], {})  # noqa: S102 — makes posts.csv
    pd.DataFrame({"text": ["the wuzzle came by", "a letter from a friend"]}).to_csv("new.csv", index=False)
    for line in lines:
        words = [word.replace("rate=1e-4", "rate=5e-3") for word in shlex.split(line)]
        assert words[0] == "davy"
        assert run(words[1:]) == 0, line
    assert pl.read_csv("scored.csv")["hate"].is_between(0, 1).all()
    assert folders.read(place / "linear").thresholds["hate"] > 0
    assert (place / "report" / "errors.csv").is_file()
    assert "version" in capsys.readouterr().out
