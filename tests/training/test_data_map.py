"""Data maps: what the network thought of each gold label, epoch by epoch."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

from davy.core.errors import UserError
from davy.report import Provenance
from davy.training import loop
from davy.training.config import Config
from davy.training.data_map import (
    DYNAMICS_FOLDER,
    ambiguous_posts,
    make_data_map,
    read_dynamics,
    regions,
    write_data_map,
)
from davy.training.train import train as train_action
from davy.training.trainer import train


@pytest.fixture
def config(tiny):
    return Config(encoder=str(tiny), scheme="hatemoji", batch=8, epochs=3, rate=5e-3, max_length=32, save_every=3)


@pytest.fixture
def named(posts):
    return posts.with_columns(id=pl.Series([f"p{i}" for i in range(len(posts))]))


def test_the_last_epochs_probabilities_are_those_of_the_model_that_was_saved(named, questions, config, tmp_path):
    done = train(named, None, questions, config, tmp_path, seed=1, dynamics=True)
    chances, right = read_dynamics(tmp_path / DYNAMICS_FOLDER)
    assert chances.shape == (3, 60, 2)
    scores = done.scorer.score(named)
    yes = np.array(scores.positive("hate"))
    gold = np.array([label == "hateful" for label in named["hate.gold"]])
    assert chances[-1, :, 0] == pytest.approx(np.where(gold, yes, 1 - yes), abs=1e-5)
    assert right[-1, :, 0].tolist() == ((yes > 0.5) == gold).tolist()
    has_type = named["type.gold"].is_not_null().to_numpy()
    assert np.isfinite(chances[0, :, 1]).tolist() == has_type.tolist()


def test_recording_changes_no_weight_and_a_killed_run_still_has_every_epoch(
    named, questions, config, tmp_path, monkeypatch
):
    plain = train(named, named, questions, config, tmp_path / "plain", seed=3)
    step, count = loop._Plan.step, {"n": 0}

    def dying(self, *args, **kwargs):
        count["n"] += 1
        if count["n"] == 13:
            raise RuntimeError("killed")
        step(self, *args, **kwargs)

    monkeypatch.setattr(loop._Plan, "step", dying)
    with pytest.raises(RuntimeError):
        train(named, named, questions, config, tmp_path / "map", seed=3, dynamics=True)
    monkeypatch.setattr(loop._Plan, "step", step)
    mapped = train(named, named, questions, config, tmp_path / "map", seed=3, dynamics=True)
    assert len(read_dynamics(tmp_path / "map" / DYNAMICS_FOLDER)[0]) == 3
    for one, other in zip(
        plain.scorer.network.state_dict().values(), mapped.scorer.network.state_dict().values(), strict=True
    ):
        assert torch.equal(one, other)


def test_the_map_has_the_mean_the_deviation_and_the_share_right_of_a_worked_example(named):
    chances = np.full((2, 60, 2), np.nan, dtype=np.float32)
    chances[:, 0, 0], chances[:, 1, 0], chances[:, 2, 0] = [0.25, 0.75], [1.0, 1.0], [0.125, 0.25]
    right = np.zeros((2, 60, 2), dtype=bool)
    right[:, 0, 0], right[:, 1, 0] = [False, True], [True, True]
    rows = make_data_map(named, ["hate", "type"], chances, right).rows()
    assert [row[0] for row in rows] == ["p0", "p1", "p2"]
    assert [row[3:6] for row in rows] == [(0.5, 0.25, 0.5), (1.0, 0.0, 1.0), (0.1875, 0.0625, 0.0)]
    assert [row[6] for row in rows] == ["ambiguous", "easy", "hard"]


def test_a_third_of_the_posts_is_ambiguous_the_most_variable_ones():
    rng = np.random.default_rng(0)
    confidence, variability = rng.random(90), rng.random(90)
    found = np.array(regions(confidence, variability))
    assert (found == "ambiguous").sum() == 30
    assert variability[found == "ambiguous"].min() > variability[found != "ambiguous"].max()
    assert (confidence[found == "hard"] < 0.5).all()
    assert (confidence[found == "easy"] >= 0.5).all()


def test_the_files_of_a_map_hold_every_answer_and_the_ambiguous_posts_once(named, questions, config, tmp_path):
    train(named, None, questions, replace(config, epochs=2), tmp_path, seed=1, dynamics=True)
    write_data_map(
        tmp_path, named, ["hate", "type"], *read_dynamics(tmp_path / DYNAMICS_FOLDER), Provenance("d", "m", 1)
    )
    data_map = pl.read_csv(tmp_path / "data-map.csv")
    assert data_map["question"].value_counts().sort("question").rows() == [("hate", 60), ("type", 20)]
    chosen = pl.read_csv(tmp_path / "ambiguous.csv")
    assert chosen["id"].is_unique().all()
    assert set(chosen["id"]) == set(data_map.filter(pl.col("region") == "ambiguous")["id"])
    assert chosen["text"].null_count() == 0
    assert ambiguous_posts(named, data_map).columns[:2] == ["id", "question"]
    assert "regions by gold label" in (tmp_path / "data-map.html").read_text()


def test_a_map_needs_epochs(named, tmp_path):
    with pytest.raises(UserError, match="which tfidf does not have"):
        train_action(named, tmp_path / "run", kind="tfidf", scheme="hatemoji", data_map=True)
    with pytest.raises(UserError, match="two epochs or more"):
        read_dynamics(tmp_path)
