"""Every example of docs/start/library.md runs, from top to bottom, on small data made here."""

import re
from pathlib import Path

import pytest
from library_folder import fill

PAGE = Path(__file__).parents[2] / "docs" / "start" / "library.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with all that the page names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    fill(tmp_path)
    return tmp_path


def test_every_example_of_the_page_runs(folder):
    assert len(BLOCKS) > 10
    names: dict = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    assert names["check"].passed
    assert (folder / "report" / "report.html").is_file()
    assert set(names["result"].frame["model"]) == {"mine", "toxic-bert"}
    assert names["mine"].calibration.thresholds.keys() == {"sexist"}
