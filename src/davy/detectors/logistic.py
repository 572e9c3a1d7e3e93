"""Logistic regression in numpy, for installs without scikit-learn: the same minimum, found by L-BFGS.

A sparse table and labels in, weights and offsets out. The loss is scikit-learn's: each label counts alike
(`class_weight="balanced"`), `strength` is C, offsets are not penalised. A test compares the two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
MEMORY = 10
"""How many earlier steps shape the next one."""


@dataclass(frozen=True, slots=True)
class SparseTable:
    """The cells of a table that are not 0: row, column (`indices`, as scipy calls them) and value of each."""

    rows: Array
    indices: Array
    values: Array
    shape: tuple[int, int]

    def __getitem__(self, kept: Array) -> SparseTable:
        """Return the table with these rows, in their order."""
        places = np.full(self.shape[0], -1)
        places[kept] = np.arange(len(kept))
        moved = places[self.rows]
        present = moved >= 0
        return SparseTable(moved[present], self.indices[present], self.values[present], (len(kept), self.shape[1]))

    def times(self, weights: Array) -> Array:
        """Return the product with a matrix (columns × k)."""
        columns = [
            np.bincount(self.rows, self.values * weights[self.indices, k], self.shape[0])
            for k in range(weights.shape[1])
        ]
        return np.stack(columns, axis=1)

    def transposed_times(self, block: Array) -> Array:
        """Return the product of the transposed table with a matrix (rows × k)."""
        columns = [
            np.bincount(self.indices, self.values * block[self.rows, k], self.shape[1]) for k in range(block.shape[1])
        ]
        return np.stack(columns, axis=1)


def fit_logistic(
    table: SparseTable, labels: Array, strength: float, *, tolerance: float = 1e-4, most: int = 1000
) -> tuple[Array, Array]:
    """Return weights (columns × k) and k offsets: k is 1 for two labels (the second's log-odds), else their number."""
    classes = np.unique(labels)
    truth = (labels[:, None] == (classes[1:] if len(classes) == 2 else classes)).astype(np.float64)
    counts = np.array([(labels == each).sum() for each in classes])
    importance = (len(labels) / (len(classes) * counts))[np.searchsorted(classes, labels)]
    width, k = table.shape[1], truth.shape[1]

    def loss(point: Array) -> tuple[float, Array]:
        weights, offsets = point[: width * k].reshape(width, k), point[width * k :]
        logits = table.times(weights) + offsets
        if k == 1:
            errors = np.logaddexp(0, logits) - truth * logits
            slopes = 1 / (1 + np.exp(-np.clip(logits, -500, 500))) - truth
        else:
            highest = logits.max(axis=1, keepdims=True)
            total = highest + np.log(np.exp(logits - highest).sum(axis=1, keepdims=True))
            errors = ((total - logits) * truth).sum(axis=1, keepdims=True)
            slopes = np.exp(logits - total) - truth
        slopes = slopes * importance[:, None] * strength
        value = strength * float((errors.sum(axis=1) * importance).sum()) + 0.5 * float((weights**2).sum())
        gradient = np.concatenate([(table.transposed_times(slopes) + weights).ravel(), slopes.sum(axis=0)])
        return value, gradient

    point = minimise(loss, np.zeros(width * k + k), tolerance=tolerance, most=most)
    return point[: width * k].reshape(width, k), point[width * k :]


def minimise(loss: Callable[[Array], tuple[float, Array]], start: Array, *, tolerance: float, most: int) -> Array:
    """Return the point where a smooth convex loss is least, by L-BFGS with a line search that halves its step."""
    point = start
    value, gradient = loss(point)
    steps: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
    for _ in range(most):
        if np.abs(gradient).max() <= tolerance:
            break
        direction = -_curved(gradient, steps)
        slope = float(gradient @ direction)
        size = 1.0 if steps else min(1.0, 1 / float(np.abs(gradient).sum()))
        while size > 1e-12:
            further, new_gradient = loss(point + size * direction)
            if further <= value + 1e-4 * size * slope:
                break
            size /= 2
        else:
            break  # rounding leaves nothing to gain
        step, change = size * direction, new_gradient - gradient
        if (curvature := float(step @ change)) > 1e-12:
            steps.append((step, change, 1 / curvature))
        point, value, gradient = point + step, further, new_gradient
    return point


def _curved(gradient: Array, steps: deque[tuple[Array, Array, float]]) -> Array:
    """Return the gradient times the inverse curvature that the last steps showed."""
    result = gradient.copy()
    shares = []
    for step, change, inverse in reversed(steps):
        share = inverse * float(step @ result)
        shares.append(share)
        result -= share * change
    if steps:
        step, change, inverse = steps[-1]
        result *= 1 / (inverse * float(change @ change))
    for (step, change, inverse), share in zip(steps, reversed(shares), strict=True):
        result += (share - inverse * float(change @ result)) * step
    return result
