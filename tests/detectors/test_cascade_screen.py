"""The cascade: a screen clears what is plainly harmless, and every other post scores as without it."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import polars as pl
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_onnx import WORDS, network, tokenizer

from davy.core import Label, Question, UserError
from davy.detectors import folder as folders
from davy.detectors.cascade_screen import Screen, as_cascade
from davy.detectors.embedded import LanguageRouter
from davy.detectors.onnx import OnnxScorer
from davy.scoring.batch import score_frames
from davy.shell.app import run

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
TYPE = Question("type", (Label("threat"), Label("slight")), under=("hate", ("yes",)))


def write_screen(folder: Path, weights: np.ndarray, bias: float) -> None:
    """Write a screen that adds up a weight for each word."""
    steps = [
        helper.make_node("Gather", ["table", "ids"], ["each"]),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["each", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=0),
        helper.make_node("Add", ["sum", "bias"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(weights.astype(np.float32), "table"),
        numpy_helper.from_array(np.array([bias], dtype=np.float32), "bias"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "last"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "middle"),
    ]
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", "m"]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["n", "m"]),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", weights.shape[1]])
    graph = helper.make_graph(steps, "screen", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, str(folder / "screen.onnx"))


@pytest.fixture
def cascade(tmp_path: Path) -> OnnxScorer:
    """A tiny detector whose screen minds "grumblefop" and is wary of "lobster"."""
    network(tmp_path, (HATE, TYPE))
    tokenizer(tmp_path)
    weights = np.zeros((len(WORDS), 1))
    weights[WORDS.index("grumblefop")] = 8
    weights[WORDS.index("lobster")] = 3e4
    write_screen(tmp_path, weights, bias=-2)
    manifest = folders.Manifest("onnx", "tiny", (HATE, TYPE), settings={"screen": {"hate": 0.5}})
    return OnnxScorer(tmp_path, folders.write(tmp_path, manifest)).cascade()


def posts(*texts: str) -> pl.DataFrame:
    return pl.DataFrame({"text": list(texts)})


def test_a_cleared_post_says_no_is_marked_and_leaves_child_questions_empty(cascade):
    columns = cascade.score(posts("nice tail", "nice grumblefop", "nice lobster")).columns()
    assert columns["cleared"] == [True, False, False]
    assert columns["hate.label"][0] == "no"
    assert columns["type.label"][0] is None
    assert columns["type.label"][1] is not None
    assert columns["hate"][0] == pytest.approx(1 / (1 + np.exp(2)), abs=1e-6)


def test_a_pickled_cascade_has_its_screen(cascade):
    again = pickle.loads(pickle.dumps(cascade))  # noqa: S301 - our own
    texts = posts("nice tail", "nice grumblefop", "nice lobster")
    assert again.version == cascade.version
    assert again.score(texts).columns() == cascade.score(texts).columns()


def test_what_the_screen_does_not_clear_scores_as_without_it(cascade):
    texts = ["grumblefop", "nice grumblefop tail", "lobster head", "tail", "head nice"]
    plain = OnnxScorer(cascade.folder).score(posts(*texts))
    sifted = cascade.score(posts(*texts))
    assert sifted.read.tolist() == [True, True, True, False, False]
    for question in ("hate", "type"):
        assert np.array_equal(sifted.probabilities[question][:3], plain.probabilities[question][:3])


def test_a_screen_reads_posts_of_all_lengths_in_any_order_as_each_alone(tmp_path):
    chance = np.random.default_rng(3)
    weights = chance.normal(size=(50, 2))
    write_screen(tmp_path, weights, bias=0.25)
    screen = Screen.open(tmp_path, {"screen": {"a": 0.0, "b": 1.0}}, lambda path: onnxruntime.InferenceSession(path))
    rows = [chance.integers(0, 50, size=n).tolist() for n in chance.integers(1, 120, size=1500)]
    read, logits = screen.read(rows)
    expected = np.array([weights[row].sum(axis=0) + 0.25 for row in rows])
    assert logits == pytest.approx(expected, abs=1e-3)
    assert read.tolist() == ((logits[:, 0] >= 0) | (logits[:, 1] >= 1)).tolist()


def test_a_cleared_post_never_says_yes_even_where_the_threshold_is_lower(cascade):
    strict = OnnxScorer(cascade.folder, replace(cascade.manifest, thresholds={"hate": 0.05})).cascade()
    scores = strict.score(posts("nice tail"))
    assert scores.read.tolist() == [False]
    assert scores.chosen("hate") == [("no",)]


def test_the_version_tells_a_cascade_from_a_full_reading_and_no_posts_are_fine(cascade):
    full = OnnxScorer(cascade.folder)
    assert not full.abilities.cascaded
    assert full.score(posts("nice tail")).read is None
    assert cascade.version == f"{full.version}+screen"
    assert cascade.cascade() is cascade
    assert len(cascade.score(posts())) == 0


def test_a_routed_detector_screens_what_has_a_screen(cascade):
    full = OnnxScorer(cascade.folder)
    routed = LanguageRouter({"en": full}, lambda texts: ["en"] * len(texts))
    sifted = as_cascade(routed)
    assert (routed.abilities.cascaded, sifted.abilities.cascaded) == (False, True)
    assert sifted.version != routed.version
    assert sifted.score(posts("nice tail", "grumblefop")).columns()["cleared"] == [True, False]


@pytest.mark.parametrize("lang", ["de", "fr"])
def test_a_file_without_a_post_for_the_screen_is_scored_and_nothing_in_it_is_cleared(cascade, lang):
    routed = LanguageRouter({"en": cascade, "de": OnnxScorer(cascade.folder)}, lambda texts: [lang] * len(texts))
    (scored,) = score_frames([posts("nice tail", "grumblefop")], routed)
    assert scored["cleared"].to_list() == [False, False]
    assert scored["unsupported_language"].to_list() == [None if lang == "de" else lang] * 2


def test_a_screen_that_does_not_fit_its_manifest_is_refused(cascade):
    for screen in ({"hate": 0.5, "type": 0.1}, "yes", None, {"type": 0.5}):
        folders.write(cascade.folder, replace(cascade.manifest, settings={"screen": screen}, files={}))
        with pytest.raises(UserError, match="Export the model again"):
            OnnxScorer(cascade.folder)


def test_the_command_marks_cleared_posts_and_reads_all_on_request(cascade, tmp_path, capsys):
    source, out = tmp_path / "posts.csv", tmp_path / "out.jsonl"
    source.write_text("text\nnice tail\nnice grumblefop\nnice tail\n")
    assert run(["score", str(source), "--model", str(cascade.folder), "--out", str(out)]) == 0
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["cleared"] for row in scored] == [True, False, True]
    assert (
        run(["score", str(source), "--model", str(cascade.folder), "--no-cascade", "--replace", "--out", str(out)]) == 0
    )
    full = [json.loads(line) for line in out.read_text().splitlines()]
    assert "cleared" not in full[0]
    assert all(row["type.label"] for row in full)
    assert full[1]["hate"] == scored[1]["hate"]
    capsys.readouterr()
