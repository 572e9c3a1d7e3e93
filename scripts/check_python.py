"""Stop `make` with one clear line where Python is too old or lacks venv."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the point is to say so on an older one
    sys.exit(f"Davy needs Python 3.11 or newer; this is {sys.version.split()[0]}. Try: make PYTHON=python3.11 start")
try:
    import ensurepip  # noqa: F401
    import venv  # noqa: F401
except ImportError:
    sys.exit("This Python has no venv. On Debian: apt-get install python3-venv. Then run make again.")
