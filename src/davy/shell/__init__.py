"""The shell door: `davy VERB`. Each command lives in the module of its name."""

import sys


def main() -> None:
    """Run the command line; a `UserError` becomes one line on stderr and exit code 2."""
    import gc
    import os

    gc.disable()  # until the command is loaded: imports leave no garbage, and the search takes a tenth of the time
    from davy.shell.app import run
    from davy.shell.interrupts import INTERRUPTED, end_at_sigterm, ending

    end_at_sigterm()
    code = run(sys.argv[1:])
    if code == INTERRUPTED:  # threads that are still inside a library are not waited for
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ending.code)
    sys.exit(code)
