"""Bootstrap intervals for agreement: ours beside a loop over statsmodels, krippendorff and scikit-learn.

20,000 items × 3 annotators × 4 labels, 1,000 resamples. The loops are timed on a few resamples and scaled up: they are
linear in resamples, and nobody should wait for them. Both sides give the same coefficient on the same table first.
"""

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import krippendorff
import numpy as np
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from davy.measure.agreement import agreement, pairwise
from davy.measure.intervals import Bootstrap
from davy.measure.ratings import Ratings

ITEMS, PEOPLE, LABELS, RESAMPLES = 20_000, 3, 4, 1000
TRIED = {"Fleiss' κ": 60, "Krippendorff's α": 10, "Cohen's κ, mean of pairs": 4}


def answers(seed: int = 0) -> np.ndarray:
    """Return label codes with agreement in them: items × annotators."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, LABELS, (ITEMS, 1))
    noise = rng.integers(0, LABELS, (ITEMS, PEOPLE))
    return np.where(rng.random((ITEMS, PEOPLE)) < 0.7, truth, noise)


def mean_cohen(codes: np.ndarray) -> float:
    """Return the mean of scikit-learn's κ over all pairs of annotators."""
    return float(np.mean([cohen_kappa_score(codes[:, a], codes[:, b]) for a, b in combinations(range(PEOPLE), 2)]))


def looped(codes: np.ndarray, statistic: Callable[[np.ndarray], float], resamples: int) -> float:
    """Return the seconds that a thousand resamples would take, from the time of a few."""
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    for _ in range(resamples):
        statistic(codes[rng.integers(0, ITEMS, ITEMS)])
    return (time.perf_counter() - start) * RESAMPLES / resamples


def command(codes: np.ndarray) -> float:
    """Return the seconds that the whole of `davy agree` takes on a CSV file of the same answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        with path.open("w", newline="") as file:
            rows = ((i, a, codes[i, a]) for i in range(ITEMS) for a in range(PEOPLE))
            csv.writer(file).writerows([("item", "annotator", "label"), *rows])
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "davy", "agree", str(path)], check=True, capture_output=True)
        return time.perf_counter() - start


def main() -> None:
    """Print seconds and ratios."""
    codes = answers()
    ratings = Ratings.from_matrix(codes)
    counts = ratings.counts()
    bootstrap = Bootstrap(RESAMPLES)

    start = time.perf_counter()
    ours = {metric.name: metric.value for metric in agreement(counts, bootstrap=bootstrap)}
    from_counts = time.perf_counter() - start
    start = time.perf_counter()
    ours["cohen"] = pairwise(ratings, bootstrap=bootstrap).mean.value
    from_pairs = time.perf_counter() - start

    def table(drawn: np.ndarray) -> np.ndarray:
        return np.stack([(drawn == label).sum(axis=1) for label in range(LABELS)], axis=1)

    theirs: dict[str, tuple[str, Callable[[np.ndarray], float], float]] = {
        "Fleiss' κ": ("fleiss", lambda drawn: fleiss_kappa(table(drawn)), from_counts),
        "Krippendorff's α": (
            "alpha",
            lambda drawn: krippendorff.alpha(value_counts=table(drawn), level_of_measurement="nominal"),
            from_counts,
        ),
        "Cohen's κ, mean of pairs": ("cohen", mean_cohen, from_pairs),
    }
    print(f"{ITEMS:,} items × {PEOPLE} annotators, {RESAMPLES:,} resamples")
    print(f"ours, five coefficients at once: {from_counts:.3f} s; Cohen's κ of all pairs: {from_pairs:.3f} s")
    for name, (key, statistic, seconds) in theirs.items():
        assert abs(ours[key] - statistic(codes)) < 1e-9, f"{name} differs"
        loop = looped(codes, statistic, TRIED[name])
        print(f"{name:26} loop {loop:8.1f} s (scaled from {TRIED[name]} resamples)   {loop / seconds:8.0f} × ours")
    print(f"davy agree FILE, everything it prints, start-up included: {command(codes):.2f} s (aim: under 5 s)")


if __name__ == "__main__":
    main()
