"""Dawid and Skene's model of annotators: how each one errs, and what each item's true label probably is.

Ratings in; for every item the probability of each label, for every annotator a confusion matrix, out. Found by EM from
the share of votes as a start, as in the 1979 paper. The one thing to know: the model reads a label that is rarely
given by careful people as more telling than a majority of careless ones, so it may doubt a majority's verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from davy.core import UserError
from davy.measure.intervals import Floats
from davy.measure.ratings import Ratings

_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """A fitted model. Rows follow the ratings' `items`, `annotators` and `labels`."""

    ratings: Ratings
    probability: Floats
    """Items × labels: the probability that a label is an item's true one."""
    prior: Floats
    """How common each label is."""
    confusion: Floats
    """Annotators × true labels × given labels; each row sums to 1."""
    likelihood: tuple[float, ...]
    """What EM maximised, after each round: the log-likelihood, with smoothing also the log of its prior on errors."""
    converged: bool

    @property
    def best(self) -> list[str]:
        """The most probable label of each item."""
        return [self.ratings.labels[place] for place in self.probability.argmax(axis=1)]

    def accuracy(self) -> Floats:
        """Return how often each annotator gives the true label, were labels as common as `prior` says."""
        right = np.diagonal(self.confusion, axis1=1, axis2=2)
        return np.asarray(right @ self.prior, dtype=np.float64)


def dawid_skene(ratings: Ratings, *, rounds: int = 500, tolerance: float = 1e-8, smoothing: float = 0.0) -> DawidSkene:
    """Return the model of these ratings, fitted until a round gains less than `tolerance` an answer.

    `smoothing` is a number of imagined answers in each cell of a confusion matrix: above 0, people with few
    answers are not taken for perfect. An annotator may rate one item more than once.
    """
    if not len(ratings) or rounds < 1:
        raise UserError("There are no answers to model, or no rounds to model them in.")
    if smoothing < 0:
        raise UserError(f"Smoothing is {smoothing}; it can't be below 0.")
    votes = ratings.counts().astype(np.float64)
    belief = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0)
    belief[votes.sum(axis=1) == 0] = 1.0 / len(ratings.labels)
    gained: list[float] = []
    converged = False
    while not converged and len(gained) < rounds:
        prior, confusion = _maximise(ratings, belief, smoothing)
        belief, likelihood = _expect(ratings, prior, confusion)
        if smoothing:
            likelihood += smoothing * float(np.log(np.maximum(confusion, _TINY)).sum())
        converged = bool(gained) and likelihood - gained[-1] < tolerance * len(ratings)
        gained.append(likelihood)
    return DawidSkene(ratings, belief, prior, confusion, tuple(gained), converged)


def _maximise(ratings: Ratings, belief: Floats, smoothing: float) -> tuple[Floats, Floats]:
    """Return how common labels are and how annotators err, given what is believed of the items."""
    people, width = len(ratings.annotators), len(ratings.labels)
    cell = ratings.annotator * width + ratings.code
    seen = np.stack(
        [np.bincount(cell, weights=belief[ratings.item, true], minlength=people * width) for true in range(width)]
    )
    given = seen.reshape(width, people, width).transpose(1, 0, 2) + smoothing
    total = given.sum(axis=2, keepdims=True)
    # Of a true label that somebody never met, nothing is known: all answers are alike.
    confusion = np.where(total > 0, given / np.maximum(total, _TINY), 1.0 / width)
    return belief.mean(axis=0), confusion


def _expect(ratings: Ratings, prior: Floats, confusion: Floats) -> tuple[Floats, float]:
    """Return what is believed of the items, and the log-likelihood of all answers."""
    log_confusion = np.log(np.maximum(confusion, _TINY))
    log_likelihood = np.stack(
        [
            np.bincount(
                ratings.item,
                weights=log_confusion[ratings.annotator, true, ratings.code],
                minlength=len(ratings.items),
            )
            for true in range(len(ratings.labels))
        ],
        axis=1,
    )
    joint = log_likelihood + np.log(np.maximum(prior, _TINY))
    highest = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - highest)
    total = shares.sum(axis=1, keepdims=True)
    return shares / total, float((highest + np.log(total)).sum())
