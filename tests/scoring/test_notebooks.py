"""The short notebooks of docs/start run from top to bottom, and each shows what it promises."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from run_notebook import run_cells

START = Path(__file__).parents[2] / "docs" / "start"
SHOWN = {
    "score-and-explain": "background: rgba",
    "corpus-from-a-csv": "drop-duplicates",
    "agreement": "np.True_",
    "a-check-as-a-gate": "exclusion",
}
"""Notebook → a part of what it shows."""


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    notebook = json.loads((START / f"{name}.ipynb").read_text(encoding="utf-8"))
    kept = [len(cell["outputs"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = run_cells(notebook)
    assert SHOWN[name] in json.dumps([cell.get("outputs") for cell in shown["cells"]])
    assert kept == [len(cell["outputs"]) for cell in shown["cells"] if cell["cell_type"] == "code"]


def test_every_notebook_is_listed_and_tested():
    listed = (START.parent / "README.md").read_text(encoding="utf-8")
    names = {path.stem for path in START.glob("*.ipynb")}
    assert names == {*SHOWN, "from-csv"}
    assert all(f"start/{name}.ipynb" in listed for name in names)
