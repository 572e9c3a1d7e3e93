"""The detectors' whole ways, from corpora to card, on made-up posts and tiny encoders; stopped, they go on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from davy.detectors.load import load

BUILD = Path(__file__).parents[2] / "scripts/build_embedded"


def run(out: Path, what: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "OUT": str(out), "PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    return subprocess.run([BUILD / "run.sh", what], capture_output=True, text=True, check=False, env=given)


def steps(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the steps of run.sh that were taken; those of its GPU part begin with the time of day."""
    lines = [line.removeprefix("== ") for line in done.stdout.splitlines() if line.startswith("== ")]
    return [line for line in lines if not line[0].isdigit()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "name", "card_step", "text", "row", "log"),
    [
        ("tiny", "embedded-en", "card-embedded-en", "bakers are lovely", "| hate, dynahate, macro-F1 |", "prepared"),
        ("tiny-german", "embedded-de", "card", "Bäcker sind lieb", "| hate | GMHP7k, two folds |", "german.log"),
    ],
)
def test_one_command_makes_a_detector_with_its_card_and_goes_on_where_it_stopped(
    tmp_path, way, name, card_step, text, row, log
):
    first = run(tmp_path, way)
    assert first.returncode == 0, first.stdout[-1000:] + first.stderr[-2000:]
    folder = tmp_path / "built" / name
    detector = load(str(folder))
    assert detector.score(pl.DataFrame({"text": [text]})).columns()["hate"][0] is not None
    card = (folder / "card.md").read_text("utf-8")
    assert row in card
    assert log in card, "the card says where the run's figures lie"
    assert "nan" not in card.split()
    if name == "embedded-de":
        judged = json.loads((tmp_path / "built/correction.json").read_text())["out of fold"]["gmhp7k hate"]
        assert f"{row} {judged['n']} | {judged['macro_f1']:.3f} [" in card, "figures are those after the correction"

    weights = (folder / "model.onnx").stat().st_mtime_ns
    (tmp_path / "done" / card_step).unlink()
    again = run(tmp_path, way)
    assert again.returncode == 0, again.stderr[-2000:]
    assert steps(again) == [card_step]
    assert (folder / "model.onnx").stat().st_mtime_ns == weights, "what was done is not done again"


def test_an_unknown_way_is_one_clear_line(tmp_path):
    done = run(tmp_path, "french")
    assert done.returncode == 2
    assert done.stderr.strip() == "run.sh english, german, tiny or tiny-german: say which"
