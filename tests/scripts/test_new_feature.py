"""What the scaffold makes runs: its own tests and the contract pass in a copy of the source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import new_feature  # noqa: E402

pytestmark = pytest.mark.slow


def test_a_new_feature_passes_its_tests_and_the_contract(tmp_path):
    left_out = shutil.ignore_patterns("*.onnx", "*.pyc", "__pycache__", "weights")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=left_out)
    (tmp_path / "tests").mkdir()
    for path in (ROOT / "tests").glob("*.py"):
        shutil.copy(path, tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert new_feature.main(["kettle", "kettles", "--root", str(tmp_path)]) == 0
    tests = ["tests/kettles", "tests/test_contract.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not postgres", *tests],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_name_that_exists_is_refused(tmp_path):
    (tmp_path / "src/davy/rounds").mkdir(parents=True)
    with pytest.raises(SystemExit, match="src/davy/rounds exists"):
        new_feature.new_feature(tmp_path, "round", "rounds")
    with pytest.raises(SystemExit, match="is not a name"):
        new_feature.new_feature(tmp_path, "Round!", "rounds")
