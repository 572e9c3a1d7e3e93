"""The rule that says which row of the meme models ships."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "build_memes"))

from choose import what_ships


def folds(strengths: dict[str, float]) -> list[dict]:
    """Return five folds of forty memes, drawn in two ways: rows know the label by their strength, under one noise."""
    rng = np.random.default_rng(3)
    found: dict[str, list] = {row: [] for row in strengths}
    for _ in range(5):
        labels = np.arange(40) % 2
        noise = rng.normal(size=40)
        groups = np.arange(40) // 2
        for row, strength in strengths.items():
            found[row].append((labels, [labels * strength + noise], groups))
    alone = {row: [(labels, logits, None) for labels, logits, _ in parts] for row, parts in found.items()}
    return [alone, found]


@pytest.mark.parametrize(
    ("strengths", "ships"),
    [
        ({"text": 1.0, "concat": 1.0, "mmbt-region": 1.0}, "text"),
        ({"text": 1.0, "concat": 2.0, "mmbt-region": 1.0}, "text"),
        ({"text": 1.0, "concat": 1.0, "mmbt-region": 2.0}, "mmbt-region"),
        ({"text": 1.0, "concat": 2.0, "mmbt-region": 2.0}, "concat"),
        ({"text": 1.0, "concat": 1.5, "mmbt-region": 3.0}, "mmbt-region"),
        ({"text": 1.0, "concat": 2.0}, "text"),
    ],
)
def test_a_fusion_ships_only_where_it_is_above_text_and_concat_where_it_is_no_worse(strengths, ships):
    assert what_ships(folds(strengths)) == ships
