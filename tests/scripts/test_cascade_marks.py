"""Marks of screen and exit: what a yes is while they are taught, and the marks that lose least within some work."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))

import exit as exit_marks
from learn_on_cascade import Labels

POSTS = 3000


def test_a_yes_is_what_the_folder_calls_one(tmp_path):
    """By hand: at a threshold of 0.6 and a temperature of 2, yes begins at a margin of 2 ln(0.6 / 0.4) = 0.811."""
    manifest = {"temperatures": {"offensive": 2.0}, "thresholds": {"offensive": 0.6}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    labels = Labels(tmp_path / "manifest.json", torch.device("cpu"))
    margin = torch.tensor([[0.01, 0.80, -0.01], [-0.01, 0.82, 0.01]])
    assert labels.yes(margin).tolist() == [[True, False, False], [False, True, True]]
    assert labels.chances(margin)[1, 1].item() == pytest.approx(0.601, abs=0.001)


@pytest.fixture
def part():
    """Posts of which one in ten is flagged; screen and exit tell them apart, the exit better."""
    rng = np.random.default_rng(0)
    flags = np.repeat((rng.random(POSTS) < 0.1)[:, None], 3, axis=1)
    screen = rng.normal(np.where(flags, 1.5, -1.5), 1.0).astype(np.float32)
    return SimpleNamespace(kinds=np.array(["top"] * POSTS), screen=screen, flags=flags, kept=np.arange(POSTS) > 0,
                           lengths=rng.integers(5, 40, POSTS))  # fmt: skip


def test_of_the_marks_within_some_work_those_are_taken_that_lose_the_least(part, monkeypatch):
    rng = np.random.default_rng(1)
    logits = rng.normal(np.where(part.flags, 3.0, -3.0), 1.0).astype(np.float32)
    cheapest = exit_marks.Marks(part, logits, 1 / 3)
    least = cheapest.cost(cheapest.best(2000))
    usual = exit_marks.Marks.best
    monkeypatch.setattr(exit_marks.Marks, "best", lambda self, tries=0: usual(self, 2000))
    marks, places = cheapest.fewest_lost(part, logits, least + 0.05)
    report = marks.report(places)["top"]
    assert marks.cost(places) <= least + 0.05
    assert report["flagged and cleared"] <= cheapest.report(cheapest.best())["top"]["flagged and cleared"]
    lost = np.round(report["flagged and cleared"] * report["flagged"]) / POSTS
    assert 1 - report["labels that stay"]["hate"] == pytest.approx(lost, abs=2e-5)
    with pytest.raises(SystemExit, match="stay within"):
        cheapest.fewest_lost(part, logits, least / 2)
