"""The interval of a share by template, written out in plain numpy for tests to compare with."""

import numpy as np
from scipy import stats


def clustered_interval(right, clusters):
    """Return the interval of a share by template, written out in numpy (see tests/measure/test_clusters.py)."""
    right, clusters = np.array(right, dtype=float), np.array(clusters)
    sizes = np.array([(clusters == name).sum() for name in np.unique(clusters)])
    hits = np.array([right[clusters == name].sum() for name in np.unique(clusters)])
    n, p, groups = len(right), right.mean(), len(sizes)
    full, mixed = (sizes**2).sum() / n, min((hits > 0).sum(), (hits < sizes).sum())
    effect = full
    if mixed:
        seen = groups / (groups - 1) * (((hits - p * sizes) / n) ** 2).sum() / (p * (1 - p) / n)
        effect = (mixed * seen + 2 * full) / (mixed + 2)
    z = 1.959963984540054
    m = min(n, max(1, n / effect * (z / stats.t.ppf(0.975, groups - 1)) ** 2))
    middle, half = (
        (p + z * z / 2 / m) / (1 + z * z / m),
        z / (1 + z * z / m) * np.sqrt(p * (1 - p) / m + (z / 2 / m) ** 2),
    )
    return min(p, middle - half), max(p, middle + half)
