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


def test_garbage_is_collected_again_once_a_command_is_loaded():
    code = (
        "import gc, sys\nsys.argv = ['davy', 'convert', '--help']\nfrom davy.shell import main\n"
        "try: main()\nexcept SystemExit: print('on', gc.isenabled(), gc.get_freeze_count() > 1000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "on True True"
