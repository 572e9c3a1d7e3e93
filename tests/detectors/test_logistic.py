"""Our own logistic regression against scikit-learn's, which minimises the same loss."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

from davy import schemes
from davy.detectors.logistic import SparseTable, fit_logistic
from davy.detectors.tfidf import Tfidf


@pytest.mark.parametrize("classes", [2, 3])
def test_the_weights_are_scikit_learns(classes):
    linear_model = pytest.importorskip("sklearn.linear_model")
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    table = sparse.random(300, 40, 0.2, format="coo", random_state=1)
    labels = (table @ rng.normal(size=(40, classes)) + rng.normal(size=(300, classes))).argmax(axis=1)
    theirs = linear_model.LogisticRegression(C=4.0, max_iter=5000, class_weight="balanced", tol=1e-8)
    theirs.fit(table.tocsr(), labels)
    weights, offsets = fit_logistic(
        SparseTable(table.row, table.col, table.data, table.shape), labels, 4.0, tolerance=1e-6
    )
    assert weights == pytest.approx(theirs.coef_.T, abs=1e-4)
    assert offsets == pytest.approx(theirs.intercept_, abs=1e-4)


def test_n_grams_are_fitted_without_scikit_learn_to_the_same_scores(monkeypatch):
    pytest.importorskip("sklearn")
    posts = pl.DataFrame(
        {
            "text": [f"{'wuzzle grumblefop' if i % 3 else 'lovely garden'} {i % 7} 🦞" for i in range(60)],
            "hate.gold": ["hateful" if i % 3 else "not hateful" for i in range(60)],
        }
    )
    questions = (schemes.load("hate").question("hate"),)
    theirs = Tfidf(questions).fit(posts).score(posts).positive("hate")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    ours = Tfidf(questions).fit(posts).score(posts).positive("hate")
    assert ours == pytest.approx(theirs, abs=1e-3)
