"""`import davy` and `davy --help` answer at once because they load nothing heavy."""

import subprocess
import sys

import pytest

HEAVY = [
    "torch",
    "transformers",
    "pandas",
    "sklearn",
    "scipy",
    "polars",
    "numpy",
    "altair",
    "sqlalchemy",
    "fastapi",
    "onnxruntime",
    "PIL",
]

SCRIPTS = {
    "import davy": "import davy",
    "davy --help": "import sys; from davy.shell.app import run; assert run(['--help']) == 0",
    "davy --version": "import sys; from davy.shell.app import run; assert run(['--version']) == 0",
    "davy scheme list": "import sys; from davy.shell.app import run; assert run(['scheme', 'list']) == 0",
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_start_up_loads_nothing_heavy(what):
    script = SCRIPTS[what] + f"\nimport sys; print('LOADED', [m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("LOADED []"), done.stdout[-500:]
