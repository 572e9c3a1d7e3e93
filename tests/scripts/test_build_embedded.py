"""The English detectors' whole way, from corpora to card, on made-up posts and tiny encoders; stopped, it goes on."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from davy.models.load import load

BUILD = Path(__file__).parents[2] / "scripts/build_embedded"


def run(out: Path, what: str = "tiny") -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "OUT": str(out), "PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    return subprocess.run([BUILD / "run.sh", what], capture_output=True, text=True, check=False, env=given)


@pytest.mark.slow
def test_one_command_makes_a_detector_with_its_card_and_goes_on_where_it_stopped(tmp_path):
    first = run(tmp_path)
    assert first.returncode == 0, first.stderr[-2000:]
    folder = tmp_path / "built/embedded-en"
    detector = load(str(folder))
    assert detector.score(pl.DataFrame({"text": ["bakers are lovely today"]})).columns()["hate"][0] is not None
    card = (folder / "card.md").read_text("utf-8")
    assert "| hate, dynahate, macro-F1 |" in card
    assert str(tmp_path / "prepared") in card, "the card says where the run's figures lie"

    weights = (folder / "model.onnx").stat().st_mtime_ns
    (tmp_path / "done/card-embedded-en").unlink()
    again = run(tmp_path)
    assert again.returncode == 0, again.stderr[-2000:]
    assert [line for line in again.stdout.splitlines() if line.startswith("== card")] == ["== card-embedded-en"]
    assert "== finish-embedded-en" not in again.stdout
    assert (folder / "model.onnx").stat().st_mtime_ns == weights, "what was done is not done again"


def test_an_unknown_way_is_one_clear_line(tmp_path):
    done = run(tmp_path, "french")
    assert done.returncode == 2
    assert done.stderr.strip() == "run.sh english, german or tiny: say which"
