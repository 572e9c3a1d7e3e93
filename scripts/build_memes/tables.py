"""Write the tables and the picture of docs/detectors/memes.md from what collect.py gathered.

    python tables.py --results FILE [--results LATER] --benchmark DIR --harmeme DIR --pairs pairs.csv --picture FILE.svg

Figures are means over three seeds with their standard deviation; intervals in brackets are over memes (2,000 resamples,
the same for all seeds). `pairs.csv` names memes of HarMeme's val that have a near copy in train, as for choose.py.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import numpy as np
from choose import difference, figure

from davy.evaluation.reproduce.memes_table import HEADINGS, ROWS, MemeRun, mean_draws
from davy.evaluation.reproduce.paper_table import load_published
from davy.measure.intervals import Bootstrap
from davy.memes.meme_data import load_memes
from davy.memes.reproduce import read_results
from davy.report.plots import Plot

PAPER = load_published("hateful-memes")
TITLES = {"benchmark": "our benchmark (test, 4,000 memes)", "harmeme": "HarMeme (val, 177 memes)"}
Runs = dict[str, list[MemeRun]]


def mean_sd(runs: Sequence[MemeRun], part: str, name: str) -> str:
    """Return a figure's mean over seeds, on test with its standard deviation."""
    values = [run.figures[part][name] for run in runs]
    spread = f" ± {np.std(values, ddof=1):.3f}" if part == "test" else ""
    return f"{np.mean(values):.3f}{spread}"


def accuracy_interval(labels: np.ndarray, logits: list[np.ndarray]) -> str:
    """Return the interval of the mean accuracy."""
    low, high = np.percentile(mean_draws("accuracy", labels, logits, Bootstrap(2000)), [2.5, 97.5])
    return f"[{low:.3f}, {high:.3f}]"


def print_table(columns: Sequence[str], rows: dict[str, list[str]]) -> None:
    """Print a table in Markdown, rows under the paper's headings."""
    print(f"\n| | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}")
    for heading, names in HEADINGS.items():
        print(f"| **{heading}** |{' |' * len(columns)}")
        for name in names:
            print(f"| {ROWS[name]} | {' | '.join(rows[name])} |")


def published(row: str) -> list[str]:
    """Return the paper's AUROC and accuracy on its test set."""
    cells = []
    for name in ("auroc", "accuracy"):
        value, sd = (PAPER.figure(ROWS[row], "test", key) for key in (name, f"{name}_sd"))
        cells.append(f"{value:.3f} ± {sd:.3f}")
    return cells


def benchmark_table(runs: Runs) -> None:
    """Print validation and test beside the paper's."""
    pairs = [("dev", "auroc"), ("dev", "accuracy"), ("test", "auroc"), ("test", "accuracy")]
    cells = {row: [mean_sd(found, *pair) for pair in pairs] + published(row) for row, found in runs.items()}
    print_table(("dev AUROC", "dev accuracy", "test AUROC", "test accuracy", "paper: AUROC", "paper: accuracy"), cells)


def harmeme_tables(runs: Runs, labels: np.ndarray, clean: np.ndarray) -> None:
    """Print validation and val with intervals, then what lies between a row and Text, with and without near copies."""
    logits = {row: [run.logits["test"] for run in found] for row, found in runs.items()}
    first, second = {}, {}
    for row, found in runs.items():
        interval = figure(labels, logits[row]).split(" ", 1)[1]
        accuracy = f"{mean_sd(found, 'test', 'accuracy')} {accuracy_interval(labels, logits[row])}"
        first[row] = [mean_sd(found, "dev", "auroc"), mean_sd(found, "dev", "accuracy"),
                      f"{mean_sd(found, 'test', 'auroc')} {interval}", accuracy, *published(row)]  # fmt: skip
        some = [one[clean] for one in logits[row]]
        second[row] = [figure(labels, logits[row]), "", figure(labels[clean], some), ""]
        if row != "text":
            second[row][1] = difference(labels, logits[row], logits["text"])
            second[row][3] = difference(labels[clean], some, [one[clean] for one in logits["text"]])
    print_table(("dev AUROC", "dev accuracy", "val AUROC", "val accuracy", "paper: AUROC", "paper: accuracy"), first)
    print(f"\nval {len(labels)} memes, {labels.sum()} harmful; without near copies {len(clean)}, {labels[clean].sum()}")
    print_table(("val AUROC", "above Text", "without near copies", "above Text"), second)


def draw_seeds(runs: dict[str, Runs]) -> Plot:
    """Return each row's AUROC on both data sets: a dot a seed, a tick for the mean."""
    charts = []
    for data, of_row in runs.items():
        rows = [
            {"row": ROWS[row], "auroc": run.figures["test"]["auroc"]} for row in ROWS for run in of_row.get(row, [])
        ]
        base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[attr-defined]
            y=alt.Y("row:N", sort=list(ROWS.values()), title=None, axis=alt.Axis(grid=True))
        )
        scale, axis = alt.Scale(domain=[0.45, 1.0], zero=False), alt.Axis(tickCount=6, format=".1f")
        x, middle = (alt.X(f"{name}:Q", title="AUROC", scale=scale, axis=axis) for name in ("auroc", "mean(auroc)"))
        dots = base.mark_point(filled=True, size=70, color="$amber", opacity=0.9).encode(x=x)
        mean = base.mark_tick(thickness=2.5, height=18, color="$ink").encode(x=middle)
        charts.append(alt.layer(mean, dots).properties(width=300, height=26 * len(ROWS), title=TITLES[data]))
    return Plot(alt.hconcat(*charts, spacing=30).to_dict(validate=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, action="append", required=True)
    for name in ("benchmark", "harmeme", "pairs", "picture"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    found: dict[str, Runs] = {}
    for data in TITLES:
        memes = load_memes(getattr(args, data))
        runs, labels = read_results(args.results, memes)
        found[data] = {row: [run for run in runs if run.row == row] for row in ROWS}
    benchmark_table(found["benchmark"])
    with args.pairs.open() as file:
        copied = {row[end] for row in csv.DictReader(file) for end in ("one", "other")}
    clean = np.flatnonzero([name not in copied for name in memes.parts["test"]["id"]])
    harmeme_tables(found["harmeme"], labels["test"], clean)
    draw_seeds(found).write(args.picture)


if __name__ == "__main__":
    main()
