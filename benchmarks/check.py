"""How long `davy check emoji-en` takes, part by part, beside the detector alone on the same texts.

Aim: the 3,930 cases run through the embedded detector in under 15 s on 2 cores.

    python -m benchmarks.check [--model embedded] [--model keywords:en]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

GOAL = 15.0


def main() -> int:
    """Print a row for each part; return 1 where the embedded detector misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", action="append", help="a detector; default: embedded and keywords:en")
    names = parser.parse_args().model or ["embedded", "keywords:en"]

    import polars as pl

    from davy.core import UserError
    from davy.detectors.load import load
    from davy.testing import suites
    from davy.testing.metrics import measure_fairness
    from davy.testing.report.files import write_report
    from davy.testing.report.page import CheckReport
    from davy.testing.report.summary import summarise
    from davy.testing.run import run_suite

    start = time.perf_counter()
    suite = suites.load("emoji-en")
    print(f"make the suite's {len(suite.cases):,} cases: {time.perf_counter() - start:6.2f} s")
    posts = pl.DataFrame({"text": [case.text for case in suite.cases], "lang": [case.lang for case in suite.cases]})
    runs, missed = [], 0
    for name in names:
        try:
            scorer = load(name)
        except UserError as error:
            print(f"{name}: {error.message}")
            continue
        scorer.score(posts[:32])
        start = time.perf_counter()
        for part in posts.iter_slices(256):
            scorer.score(part)
        alone = time.perf_counter() - start
        found = run_suite(suite, scorer, name=name)
        runs.append(found)
        print(f"{name:20} alone {alone:6.2f} s   in the runner {found.seconds:6.2f} s   {found.seconds / alone:5.2f} ×")
        missed += name.startswith("embedded") and found.seconds > GOAL
    if not runs:
        return 1
    start = time.perf_counter()
    fair = [measure_fairness(suite, found) for found in runs]
    made = summarise(suite, runs, fair, {"seed": 0})
    print(f"all figures with intervals: {time.perf_counter() - start:6.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_report(CheckReport(suite, tuple(runs), tuple(fair), made), Path(folder))
        print(f"page, CSV, JSON, JUnit: {time.perf_counter() - start:6.2f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
