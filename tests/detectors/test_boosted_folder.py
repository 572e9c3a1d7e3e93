"""A saved tree model cuts texts as it did in training."""

import numpy as np
import polars as pl

from davy import schemes
from davy.detectors.gradient_boosting import GradientBoosting
from davy.detectors.load import load
from davy.detectors.tfidf import NgramHasher


def test_a_tree_model_that_reads_single_words_scores_the_same_after_saving(tmp_path):
    texts = [f"{'grumblefop' if i % 2 else 'teapot'} of number {i % 7}" for i in range(60)]
    gold = ["hateful" if i % 2 else "not hateful" for i in range(60)]
    posts = pl.DataFrame({"text": texts, "hate.gold": gold})
    pieces = NgramHasher(characters=(1, 0), words=(1, 1), bits=10)
    fitted = GradientBoosting(schemes.load("hate").questions, trees=5, depth=3, pieces=pieces).fit(posts)
    fitted.save(tmp_path / "trees")
    again = load(str(tmp_path / "trees"))
    assert np.array_equal(again.score(posts).probabilities["hate"], fitted.score(posts).probabilities["hate"])
