"""How long `import davy` and `davy --help` take, beside a bare interpreter. Aim: under 0.5 s of CPU."""

import os
import statistics
import subprocess
import sys

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import davy": [sys.executable, "-c", "import davy"],
    "davy --help": [sys.executable, "-m", "davy", "--help"],
    "davy scheme list": [sys.executable, "-m", "davy", "scheme", "list"],
    "import pandas": [sys.executable, "-c", "import pandas"],
}


def cpu_seconds(command: list[str]) -> float:
    """Return the CPU time that one run of a command took."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(runs: int = 7) -> None:
    """Print a row a command: the median CPU time and its ratio to a bare interpreter."""
    medians = {name: statistics.median(cpu_seconds(command) for _ in range(runs)) for name, command in COMMANDS.items()}
    bare = medians["python -c pass"]
    for name, seconds in medians.items():
        print(f"{name:20} {seconds:6.3f} s CPU   {seconds / bare:5.1f} × a bare interpreter")


if __name__ == "__main__":
    main()
