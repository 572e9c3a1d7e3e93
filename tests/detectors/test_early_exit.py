"""The exit within an encoder: it clears some posts early, and every other one scores as in a full reading."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from test_cascade_screen import write_screen
from test_onnx import WORDS, tokenizer

from davy.core import Label, Question, UserError
from davy.detectors import folder as folders
from davy.detectors.network import Head as Answer
from davy.detectors.network import Network
from davy.detectors.onnx import OnnxScorer
from davy.shell.app import run
from davy.training.onnx.activation_ranges import measure_ranges
from davy.training.onnx.write import write_onnx

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
from network_split import ExitHead, SplitNetwork

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
TYPE = Question("type", (Label("threat"), Label("slight")), under=("hate", ("yes",)))
SPOKEN = [word for word in WORDS if not word.startswith("[")]


def encoder(folder: Path, *, measured: bool = True) -> None:
    """Write a random BERT of three layers as the folder's network."""
    import transformers

    torch.manual_seed(4)
    shape = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
    config = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=40, initializer_range=0.4, **shape)
    made = Network(transformers.BertModel(config), (Answer("hate", "one", 2), Answer("type", "one", 2))).eval()
    if measured:
        measure_ranges(made, ((torch.randint(4, len(WORDS), (1, n)), torch.ones(1, n)) for n in (3, 9, 17)))
    write_onnx(made, ["hate", "type"], [[0, 1], [2, 3]], folder / "model.onnx")


def head(questions: int = 1) -> ExitHead:
    rng = np.random.default_rng(8)
    shapes = ((32, 12), (12,), (24, 8), (8,), (8, questions), (questions,))
    return ExitHead(*(rng.normal(scale=0.3, size=shape).astype(np.float32) for shape in shapes))


def with_mark(folder: Path, mark: float) -> OnnxScorer:
    """Return the folder's detector as a cascade whose screen clears nothing and whose exit has this mark."""
    settings = {"screen": {"hate": -1e6}, "exit": {"hate": mark}, "max_length": 24}
    manifest = folders.Manifest("onnx", "tiny", (HATE, TYPE), settings=settings)
    return OnnxScorer(folder, folders.write(folder, manifest)).cascade()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    encoder(tmp_path)
    tokenizer(tmp_path)
    write_screen(tmp_path, np.zeros((len(WORDS), 1)), bias=0)
    SplitNetwork(tmp_path, layer=1).write(head())
    return tmp_path


@pytest.fixture
def posts() -> pl.DataFrame:
    rng = np.random.default_rng(9)
    return pl.DataFrame({"text": [" ".join(rng.choice(SPOKEN, size=n)) for n in rng.integers(1, 30, size=150)]})


def seen(folder: Path, posts: pl.DataFrame) -> np.ndarray:
    """Return the exit's probability of yes for each post."""
    return np.array(with_mark(folder, 1e6).score(posts).positive("hate"))


def test_an_exit_that_clears_nothing_leaves_every_score_as_it_is(folder, posts):
    plain = with_mark(folder, -1e6)
    found, full = plain.score(posts), OnnxScorer(folder).score(posts)
    assert found.read.all()
    for name in ("hate", "type"):
        np.testing.assert_allclose(found.probabilities[name], full.probabilities[name], atol=1e-6)


def test_an_exit_that_clears_everything_says_no_and_leaves_child_questions_empty(folder, posts):
    columns = with_mark(folder, 1e6).score(posts).columns()
    assert set(columns["cleared"]) == {True}
    assert set(columns["hate.label"]) == {"no"}
    assert set(columns["type.label"]) == {None}
    assert len(set(columns["hate"])) > 1


def test_what_an_exit_lets_through_scores_as_in_a_full_reading(folder, posts):
    chance = seen(folder, posts)
    middle = float(np.median(chance[chance < 0.499]))
    some = with_mark(folder, float(np.log(middle / (1 - middle)))).score(posts)
    full = OnnxScorer(folder).score(posts)
    assert 20 < some.read.sum() < 130
    for name in ("hate", "type"):
        np.testing.assert_allclose(some.probabilities[name][some.read], full.probabilities[name][some.read], atol=1e-6)
    np.testing.assert_allclose(some.positive("hate")[~some.read], chance[~some.read], atol=1e-6)


def test_an_exit_judges_a_post_alone_as_among_others(folder, posts):
    cascade = with_mark(folder, 1e6)
    alone = [cascade.score(posts[i : i + 1]).positive("hate")[0] for i in range(12)]
    np.testing.assert_allclose(alone, seen(folder, posts)[:12], atol=1e-6)


def test_no_posts_and_a_full_reading_need_no_exit(folder, posts):
    cascade = with_mark(folder, 0.0)
    assert len(cascade.score(posts.head(0))) == 0
    assert OnnxScorer(folder).score(posts).read is None


def test_a_folder_without_an_exit_reads_to_the_end_what_its_screen_lets_through(folder, posts):
    for name in ("exit.onnx", "rest.onnx"):
        (folder / name).unlink()
    assert with_mark(folder, 1e6).score(posts).read.all()


def test_a_missing_or_changed_part_is_refused(folder, posts):
    with_mark(folder, 0.0)
    for name in ("exit.onnx", "rest.onnx", "model.onnx"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-40] + bytes(40))
        with pytest.raises(UserError, match="has changed"):
            OnnxScorer(folder)
        (folder / name).unlink()
        with pytest.raises(UserError, match=name):
            OnnxScorer(folder)
        (folder / name).write_bytes(whole)
    (folder / "rest.onnx").unlink()
    with pytest.raises(UserError, match=r"rest\.onnx"):
        with_mark(folder, 0.0)


def test_an_exit_of_another_network_is_refused(folder):
    whole = folder / "model.onnx"
    whole.write_bytes(whole.read_bytes() + b"\x1a\x03new")  # the same network, with a version of its own
    with pytest.raises(UserError, match="another model"):
        with_mark(folder, 0.0)


def test_an_exit_that_does_not_fit_its_manifest_is_refused(folder):
    manifest = with_mark(folder, 0.0).manifest
    for marks in (None, "yes", {"hate": 0.0, "type": 0.0}, {"type": 0.0}):
        settings = {**manifest.settings, "exit": marks}
        folders.write(folder, replace(manifest, settings=settings))
        with pytest.raises(UserError, match="Export the model again"):
            OnnxScorer(folder).cascade()


def test_both_parts_are_small_because_they_point_into_the_whole_network(folder):
    sizes = {name: (folder / name).stat().st_size for name in ("model.onnx", "exit.onnx", "rest.onnx")}
    assert sizes["exit.onnx"] + sizes["rest.onnx"] < 0.7 * sizes["model.onnx"]


def test_a_network_is_cut_only_behind_a_layer_that_another_follows(folder):
    for layer in (0, 3, 9):
        with pytest.raises(UserError, match=f"layer {layer}"):
            SplitNetwork(folder, layer=layer)


def test_a_network_without_measured_ranges_is_not_cut(tmp_path):
    encoder(tmp_path, measured=False)
    with pytest.raises(UserError, match="ranges"):
        SplitNetwork(tmp_path, layer=1)


def test_the_command_marks_what_the_exit_cleared(folder, tmp_path, capsys):
    with_mark(folder, 1e6)
    source, out = tmp_path / "posts.csv", tmp_path / "out.csv"
    source.write_text("text\nnice tail\nnice grumblefop\n")
    assert run(["score", str(source), "--model", str(folder), "--out", str(out)]) == 0
    assert pl.read_csv(out)["cleared"].to_list() == [True, True]
    assert run(["score", str(source), "--model", str(folder), "--no-cascade", "--replace", "--out", str(out)]) == 0
    assert "cleared" not in pl.read_csv(out).columns
    capsys.readouterr()
