"""Meme networks learn what only caption and picture together decide, as the paper's appendix A trains them."""

from dataclasses import replace

import numpy as np
import pytest

from davy.core.errors import UserError

torch = pytest.importorskip("torch")

from davy.detectors.meme_model import PictureFeatures  # noqa: E402
from davy.detectors.meme_networks import ROWS  # noqa: E402
from davy.detectors.meme_presets import load_preset  # noqa: E402
from davy.training import meme_trainer  # noqa: E402
from davy.training.loop import slope  # noqa: E402
from davy.training.meme_trainer import MemeExamples, measure_logits, train_row  # noqa: E402

WIDTH = 24


def memes(count: int, seed: int) -> MemeExamples:
    """Memes that are mean where a nice caption stands under a bad picture, or a bad one under a nice picture."""
    rng = np.random.default_rng(seed)
    nice_text, nice_picture = np.arange(count) % 2, np.arange(count) // 2 % 2
    vectors = rng.normal(size=(count, 4, WIDTH)).astype(np.float16)
    vectors[:, :, 0] += (6 * nice_picture - 3)[:, None]
    boxes = np.sort(rng.random((count, 4, 2, 2)).astype(np.float32), axis=2).reshape(count, 4, 4)
    texts = [f"they are all {'nice' if nice else 'bad'} {rng.choice(['people', 'garden'])}" for nice in nice_text]
    captions = [f"the {'lovely garden' if nice else 'bad lobster'}" for nice in nice_picture]
    features = {"grid": PictureFeatures(vectors), "region": PictureFeatures(vectors, boxes)}
    return MemeExamples(texts, (nice_text != nice_picture).astype(np.int64), features, captions)


def tiny_preset(row, tiny, size="small", **training):
    preset = load_preset(row, size, {"text_encoder": str(tiny), "max_length": "16"})
    layers = {"visual_layers": 1, "visual_width": 16, "visual_heads": 2, "classifier_width": 16, "cells": 0}
    settings = {"updates": 160, "warmup": 16, "every": 40, "batch": 32, "rate": 2e-3, "new_rate": 5e-3} | training
    before = preset.pretraining and replace(preset.pretraining, **settings)
    network = replace(preset.network, **layers, fc7=16 if preset.network.fc7 else 0)
    return replace(preset, network=network, training=replace(preset.training, **settings), pretraining=before)


@pytest.mark.parametrize("row", list(ROWS))
def test_fusion_learns_what_neither_side_alone_can(row, tiny):
    trained = train_row(tiny_preset(row, tiny), memes(256, 0), memes(64, 1), seed=1)
    test = memes(128, 2)
    kind = trained.model.preset.network.features
    logits = trained.model.logits(test.texts, test.pictures.get(kind))
    figure = measure_logits(test.labels, logits)["auroc"]
    if row in ("image-grid", "image-region", "text", "late-fusion"):
        assert 0.3 < figure < 0.7
    else:
        assert figure > 0.95, f"{row} reached {figure}"


def test_the_best_evaluation_on_dev_is_kept(tiny):
    records = []
    trained = train_row(tiny_preset("concat", tiny), memes(256, 0), memes(64, 1), seed=1, tell=records.append)
    dev = memes(64, 1)
    reached = measure_logits(dev.labels, trained.model.logits(dev.texts, dev.pictures["grid"]))["auroc"]
    assert len(records) == 4, "160 updates, an evaluation after every 40"
    assert reached == pytest.approx(max(record["auroc"] for record in records), abs=1e-4)


def test_auroc_and_accuracy_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    labels, logits = rng.integers(0, 2, 300), rng.normal(size=300).round(1)
    ours = measure_logits(labels, logits)
    assert ours["auroc"] == pytest.approx(metrics.roc_auc_score(labels, logits), abs=1e-5)
    assert ours["accuracy"] == pytest.approx(metrics.accuracy_score(labels, logits >= 0), abs=1e-5)


def test_the_rate_falls_as_transformers_cosine_does():
    from transformers import get_cosine_schedule_with_warmup

    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.AdamW([parameter], lr=1.0)
    schedule = get_cosine_schedule_with_warmup(optimiser, 20, 220)
    for update in range(220):
        assert slope(update / 220, 20 / 220, "cosine") == pytest.approx(optimiser.param_groups[0]["lr"], abs=1e-9)
        optimiser.step()
        schedule.step()


def test_the_same_seed_gives_the_same_model_and_another_seed_another(tiny):
    data, dev = memes(64, 0), memes(32, 1)
    preset = tiny_preset("concat", tiny, updates=20, warmup=2, every=10)
    one, same, other = (train_row(preset, data, dev, seed=seed).model for seed in (1, 1, 2))
    logits = [model.logits(dev.texts, dev.pictures["grid"]) for model in (one, same, other)]
    np.testing.assert_array_equal(logits[0], logits[1])
    assert not np.allclose(logits[0], logits[2])


def test_a_killed_run_goes_on_and_ends_as_it_would_have(tiny, tmp_path):
    data, dev = memes(64, 0), memes(32, 1)
    preset = tiny_preset("visualbert", tiny, updates=30, warmup=3, every=10)
    whole = train_row(preset, data, dev, seed=1).model

    class KilledError(Exception):
        pass

    def kill_at_the_second(record, seen=[]):  # noqa: B006
        seen.append(record)
        if len(seen) == 2:
            raise KilledError

    with pytest.raises(KilledError):
        train_row(preset, data, dev, seed=1, folder=tmp_path, tell=kill_at_the_second)
    resumed = train_row(preset, data, dev, seed=1, folder=tmp_path).model
    seen = dev.pictures["region"]
    np.testing.assert_allclose(resumed.logits(dev.texts, seen), whole.logits(dev.texts, seen), atol=1e-5)
    with pytest.raises(UserError, match="holds a run with other"):
        train_row(preset, data, dev, seed=2, folder=tmp_path)


@pytest.mark.parametrize("row", ["vilbert-cc", "visualbert-coco"])
def test_pre_training_learns_captions_and_which_picture_they_belong_to(row, tiny):
    records = []
    preset = tiny_preset(row, tiny)
    trained = train_row(preset, memes(256, 0), memes(64, 1), seed=1, tell=records.append)
    losses = [record["loss"] for record in records if "auroc" not in record]
    assert len(trained.histories) == 2
    assert losses[-1] < 0.6 * losses[0]
    with pytest.raises(UserError, match="no `caption`"):
        train_row(preset, replace(memes(64, 0), captions=()), memes(32, 1), seed=1)


@pytest.mark.parametrize("row", [row for row in ROWS if "region" in row or row.startswith(("vil", "visual"))])
def test_the_full_settings_take_a_step_on_tiny_data(row, tiny):
    full = load_preset(row, "full")
    preset = tiny_preset(row, tiny, "full", updates=2, warmup=1, every=1, new_rate=None)
    assert preset.training.clip == full.training.clip == 0
    trained = train_row(preset, memes(16, 0), memes(8, 1), seed=1)
    assert np.isfinite(trained.histories[-1].records[-1]["loss"])


def test_a_search_tries_every_combination_and_keeps_the_best(tiny):
    preset = replace(
        tiny_preset("concat", tiny, updates=40, warmup=4, every=20), grid={"rate": (1e-9, 2e-3), "batch": (16, 32)}
    )
    preset = replace(preset, training=replace(preset.training, new_rate=None))
    best, tried = meme_trainer.search_row(preset, memes(128, 0), memes(64, 1), seed=1)
    assert [trial["trial"] for trial in tried] == [
        "rate=1e-09,batch=16", "rate=1e-09,batch=32", "rate=0.002,batch=16", "rate=0.002,batch=32"
    ]  # fmt: skip
    assert best.histories[-1].best_score == max(trial["auroc"] for trial in tried)


def test_an_image_encoder_in_the_network_learns_from_pixels(tiny, monkeypatch):
    data = memes(8, 0)
    pixels = np.random.default_rng(0).integers(0, 256, (8, 3, 32, 32)).astype(np.uint8)
    data = replace(data, pictures={"grid": PictureFeatures(pixels)})
    preset = tiny_preset("concat", tiny, "full", updates=1, warmup=0, every=1, batch=4)
    preset = replace(preset, image_encoder="efficientnet-lite0", network=replace(preset.network, feature_width=1280))
    model = train_row(preset, data, data, seed=1).model
    from davy.detectors.image_encoder import load_image_encoder

    before = load_image_encoder().network.conv_stem.weight
    assert not torch.equal(model.network.picture.encoder.network.conv_stem.weight, before)


def test_memes_of_one_label_are_refused(tiny):
    data = memes(16, 0)
    with pytest.raises(UserError, match="one label"):
        train_row(tiny_preset("text", tiny), replace(data, labels=np.ones(16)), data, seed=1)


def test_a_batch_has_texts_of_like_length_and_an_epoch_has_every_meme_once():
    lengths = np.random.default_rng(0).integers(3, 90, 640)
    batches = list(meme_trainer.update_batches(lengths, 32, seed=1, first=0, end=20))
    assert sorted(np.concatenate(batches).tolist()) == list(range(640))
    assert np.mean([np.ptp(lengths[batch]) for batch in batches]) < 15
    after = list(meme_trainer.update_batches(lengths, 32, seed=1, first=7, end=20))
    assert all(np.array_equal(one, other) for one, other in zip(batches[7:], after, strict=True))
