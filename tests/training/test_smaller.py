"""Pre-training further, distilling and exporting."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from tokenizers import Tokenizer, models
from torch import nn

from davy import schemes
from davy.core.errors import UserError
from davy.core.scorer import Scores
from davy.detectors import folder as folders
from davy.detectors.load import load
from davy.shell.app import run
from davy.training.config import Config
from davy.training.distil import distil, mix_targets, teacher_targets
from davy.training.export import export_onnx
from davy.training.export_model import export_model
from davy.training.onnx.embedding_tables import PackedEmbedding, RoundedEmbedding
from davy.training.onnx.matrices import to_four_bits
from davy.training.pretrain import Masker, masker, pretrain
from davy.training.trainer import train

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
from rounded_training import round_activation, round_weight_to_four_bits, simulate_int8, stop_simulating


@pytest.fixture
def config(tiny):
    return Config(encoder=str(tiny), scheme="hatemoji", batch=8, epochs=3, rate=5e-3, max_length=32, save_every=5)


def test_whole_words_are_hidden_together_and_special_tokens_never():
    # 0 pads, 1 begins, 2 ends; 4 and 6 go on a word.
    continues = torch.tensor([0, 0, 0, 0, 1, 0, 1, 0], dtype=torch.bool)
    fixed = torch.tensor([1, 1, 1, 0, 0, 0, 0, 0], dtype=torch.bool)
    hidden = Masker(7, continues, fixed)
    ids = torch.tensor([[1, 3, 4, 4, 5, 6, 2, 0]]).repeat(400, 1)
    torch.manual_seed(0)
    chosen = hidden.choose(ids, 0.3)
    assert not chosen[:, [0, 6, 7]].any()
    assert torch.equal(chosen[:, 1], chosen[:, 2])
    assert torch.equal(chosen[:, 1], chosen[:, 3])
    assert torch.equal(chosen[:, 4], chosen[:, 5])
    assert 0.2 < chosen[:, 1].float().mean() < 0.4


def test_words_are_hidden_behind_the_mask_that_is_special():
    pieces = {piece: i for i, piece in enumerate(["<s>", "[MASK]", "day", "##s", "<mask>", "[UNK]"])}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    assert masker(tokenizer, "cpu").mask == pieces["[MASK]"]
    tokenizer.add_special_tokens(["<mask>"])  # MPNet's way: BERT's [MASK] is left in its vocabulary, unused
    assert masker(tokenizer, "cpu").mask == pieces["<mask>"]


def test_pre_training_lowers_the_loss_and_its_folder_is_an_encoder(tiny, posts, questions, config, tmp_path):
    texts = posts["text"].to_list()
    history = pretrain(texts, replace(config, epochs=4), tmp_path / "more", seed=1)
    assert history.records[-1]["loss"] < history.records[0]["loss"]
    done = train(
        posts, None, questions, replace(config, encoder=str(tmp_path / "more"), epochs=1), tmp_path / "run", seed=1
    )
    assert load(str(done.folder)).score(posts).probabilities["hate"].shape == (60, 2)


def test_a_student_learns_its_teachers_mean(posts, questions, config, tmp_path):
    teacher = train(posts, posts, questions, replace(config, epochs=6), tmp_path / "teacher", seed=1).scorer
    unlabelled = posts.select("text")
    student = distil(unlabelled, None, [teacher, teacher], replace(config, epochs=8), tmp_path / "student").scorer
    ours, theirs = student.score(posts).positive("hate"), teacher.score(posts).positive("hate")
    assert np.abs(ours - theirs).mean() < 0.15
    soft = teacher_targets(posts, [teacher], questions)
    assert mix_targets(soft, None, 0.3) is soft
    np.testing.assert_allclose(soft.values[:, :2].numpy(), teacher.score(posts).probabilities["hate"], rtol=1e-5)


def test_a_grandchild_counts_as_much_as_all_above_it_say_yes():
    asked = tuple(schemes.load("edos").question(name) for name in ("sexist", "category", "vector"))

    class Sure:
        name, version, questions = "sure", "1", asked

        def score(self, frame):
            blocks = {q.name: np.full((len(frame), len(q.labels)), 1 / len(q.labels)) for q in asked}
            return Scores(asked, {**blocks, "sexist": np.array([[0.99, 0.01]] * len(frame))})

    soft = teacher_targets(pl.DataFrame({"text": ["a"]}), [Sure()], asked)
    assert soft.weights[0].tolist() == pytest.approx([1, 0.11, 0.11])


def test_an_exported_model_says_the_same_without_torch(posts, questions, config, tmp_path):
    done = train(posts, posts, questions, replace(config, epochs=4), tmp_path / "run", seed=1)
    found = export_onnx(done.folder, tmp_path / "exact", dev=posts, int8=False)
    assert all(gap["largest"] < 1e-4 for gap in found["gaps"].values())
    small, calibration = export_model(done.folder, tmp_path / "int8", dev=posts)
    assert all(gap["mean"] < 0.05 for gap in small["gaps"].values())
    scorer = load(str(tmp_path / "int8"))
    assert scorer.score(posts).chosen("hate") == [(label,) for label in posts["hate.gold"]]
    assert folders.read(tmp_path / "int8").thresholds == pytest.approx(calibration.thresholds)
    with pytest.raises(UserError, match="not an empty folder"):
        export_onnx(done.folder, tmp_path / "int8")


def test_four_bits_a_value_stay_near_the_table():
    torch.manual_seed(1)
    table = nn.Embedding(50, 64)
    ids = torch.arange(50)[None]
    exact = table(ids)
    assert ((RoundedEmbedding(table)(ids) - exact).norm() / exact.norm()) < 0.01
    assert ((PackedEmbedding(table)(ids) - exact).norm() / exact.norm()) < 0.1


def test_rounding_matches_torchs_own_quantiser_and_can_be_switched_off():
    torch.manual_seed(2)
    states = torch.randn(7, 16)
    low, high = states.min().clamp(max=0), states.max().clamp(min=0)
    scale = float((high - low) / 255)
    zero = round(float(-low) / scale)
    theirs = torch.fake_quantize_per_tensor_affine(states, scale, zero, 0, 255)
    assert torch.allclose(round_activation(states), theirs, atol=1e-5)
    layer = nn.Sequential(nn.Linear(16, 8))
    before = layer(states)
    simulate_int8(layer)
    assert not torch.equal(layer(states), before)
    stop_simulating(layer)
    assert torch.equal(layer(states), before)


def test_four_bits_lose_little_fit_in_an_int8_and_let_gradients_pass():
    torch.manual_seed(3)
    weight = (torch.randn(24, 96) * torch.linspace(0.01, 2, 24)[:, None]).requires_grad_()
    codes, loudness, scale = to_four_bits(weight)
    assert codes.abs().max() == 7
    assert loudness.min() >= 1
    assert loudness.max() == 15
    whole = codes.int() * loudness.int().repeat_interleave(32, dim=1)
    assert whole.abs().max() <= 127
    rounded = round_weight_to_four_bits(weight)
    assert torch.allclose(rounded, whole * scale, atol=1e-5)
    # Max's table of 1960: sixteen even levels round a normal variable with an error of 10.7 % at best.
    assert 0.05 < (rounded - weight).norm() / weight.norm() < 0.13
    rounded.sum().backward()
    assert torch.equal(weight.grad, torch.ones_like(weight))
    layer = nn.Sequential(nn.Linear(96, 8))
    before = layer(states := torch.randn(5, 96))
    simulate_int8(layer, bits=4)
    assert 0.02 < (layer(states) - before).norm() / before.norm() < 0.3


def test_the_shell_trains_and_exports(tiny, posts, tmp_path, capsys):
    posts.drop("type.gold").write_csv(tmp_path / "posts.csv")
    here = [str(tmp_path / "posts.csv")]
    common = ["--set", "epochs=2", "--set", "rate=5e-3", "--set", "max_length=32"]
    code = run(["train", *here, "--dev", here[0], "--encoder", str(tiny), "--out", str(tmp_path / "run"), "--seed", "1",
                "--seed", "2", "--json", *common])  # fmt: skip
    assert code == 0
    record = json.loads(capsys.readouterr().out)
    assert record["summary"]["hate"]["n"] == 2
    assert (tmp_path / "run/curves.svg").read_text().startswith("<svg")
    model = tmp_path / "run/seed-1/model"
    assert "grumblefop" not in (model / "card.md").read_text()
    assert run(["export", str(model), "--dev", here[0], "--out", str(tmp_path / "small")]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("mean gap", "temperature", "threshold", "macro-F1", "before", "after"))
    small = load(str(tmp_path / "small"))
    assert small.name == "mine"
    # Ranges were measured on dev: a post scores the same alone as in company.
    together = small.score(posts).probabilities["hate"]
    alone = np.concatenate([small.score(posts[i : i + 1]).probabilities["hate"] for i in range(0, len(posts), 7)])
    assert alone == pytest.approx(together[::7], abs=1e-5)
    four = ["export", str(model), "--out", str(tmp_path / "four"), "--matrix-bits", "4", "--table-bits", "4", "--json"]
    assert run(four) == 0
    assert load(str(tmp_path / "four")).score(posts).chosen("hate")
    assert (tmp_path / "four/model.onnx").stat().st_size < (tmp_path / "small/model.onnx").stat().st_size
    assert run([*four[:-1], "--exact"]) == 2
    assert run(["export", str(model), "--out", str(tmp_path / "five"), "--matrix-bits", "5"]) == 2
    assert "it is 8 or 4" in capsys.readouterr().err
    assert run(["train", *here, "--out", str(tmp_path / "x")]) == 2
    assert "No encoder" in capsys.readouterr().err


def test_a_hub_name_without_a_hub_is_one_clear_line(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="Name a folder"):
        load("hf:nobody/nothing")


def test_a_classifier_in_a_folder_is_loaded_as_hf(tiny, tmp_path, posts):
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig.from_pretrained(tiny, id2label={0: "nothate", 1: "hate"}, label2id={"nothate": 0, "hate": 1})
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    scorer = load(f"hf:{tmp_path}")
    scores = scorer.score(pl.DataFrame({"text": ["grumblefop", "", "nice " * 500]}))
    assert scores.positive("hate").shape == (3,)


class _Killed(Exception):
    pass


def _dying_at(monkeypatch, step):
    from davy.training import loop

    own, count = loop._Plan.step, {"n": 0}

    def dying(self, *args, **kwargs):
        count["n"] += 1
        if count["n"] == step:
            raise _Killed
        own(self, *args, **kwargs)

    monkeypatch.setattr(loop._Plan, "step", dying)


def _weights(folder):
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


@pytest.mark.parametrize("verb", ["pretrain", "distil"])
def test_a_killed_run_of_the_others_ends_with_the_same_weights_too(verb, posts, config, tmp_path, monkeypatch):
    teacher = load("uniform@hatemoji")

    def once(folder):
        if verb == "pretrain":
            pretrain(posts["text"].to_list(), config, folder, seed=2)
            return _weights(folder)
        return _weights(distil(posts, posts, [teacher], config, folder, seed=2).folder)

    whole = once(tmp_path / "whole")
    with monkeypatch.context() as patch:
        _dying_at(patch, 13)
        with pytest.raises(_Killed):
            once(tmp_path / "killed")
    assert list((tmp_path / "killed" / "checkpoint").glob("10.*")), "nothing was there to go on from"
    resumed = once(tmp_path / "killed")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_teacher_without_an_answer_is_left_out_of_the_mean(posts, questions):

    class Half:
        """Says hateful, and answers only the first thirty posts; nobody else answers `type`."""

        name, version = "half", "1"

        def __init__(self, asked, yes):
            self.questions, self.yes = asked, yes

        def score(self, frame):
            there = np.arange(len(frame)) < 30
            blocks = {q.name: np.full((len(frame), len(q.labels)), self.yes) * there[:, None] for q in self.questions}
            return Scores(self.questions, blocks, answered={q.name: there for q in self.questions})

    class Full(Half):
        def score(self, frame):
            given = super().score(frame)
            blocks = {**given.probabilities, "hate": np.full((len(frame), 2), self.yes)}
            return Scores(self.questions, blocks, answered={"type": given.answered["type"]})

    soft = teacher_targets(posts, [Half(questions, 0.5), Full(questions, 0.1)], questions)
    assert soft.values[:30, 1].tolist() == pytest.approx([0.3] * 30)
    assert soft.values[30:, 1].tolist() == pytest.approx([0.1] * 30)
    assert (soft.weights[:, 0] == 1).all()
    assert (soft.weights[:30, 1] > 0).all()
    assert (soft.weights[30:, 1] == 0).all(), "nobody said a word about these"


def test_a_question_that_the_teachers_do_not_share_is_named(posts, config, tmp_path):
    with pytest.raises(UserError, match="'nope'"):
        distil(posts, None, [load("majority")], replace(config, questions=("nope",)), tmp_path)


def test_exporting_with_a_label_that_is_none_stops_and_leaves_nothing(posts, questions, config, tmp_path):
    """Thresholds that silently stay at one half would be the user's loss."""
    done = train(posts, None, questions, replace(config, epochs=1), tmp_path / "run", seed=1)
    wrong = posts.with_columns(pl.lit("hatefull").alias("hate.gold"))
    with pytest.raises(UserError, match="Did you mean 'hateful'"):
        export_model(done.folder, tmp_path / "out", dev=wrong)
    assert not (tmp_path / "out").exists()
    record, calibration = export_model(done.folder, tmp_path / "out", dev=posts.select("text"))
    assert record["gaps"]
    assert calibration is None
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="not an empty folder"):
        export_onnx(done.folder, tmp_path / "file")
