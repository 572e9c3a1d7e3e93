"""The shell door: `davy VERB`. Each command lives in the module of its name."""

import sys


def main() -> None:
    """Run the command line; a `UserError` becomes one line on stderr and exit code 2."""
    from davy.cli.app import run

    sys.exit(run(sys.argv[1:]))
