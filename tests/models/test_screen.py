"""The cascade: a screen clears what is plainly harmless, and every other post scores as without it."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_onnx import WORDS, network, tokenizer

from davy.cli.app import run
from davy.core import Label, Question, UserError
from davy.models import folder as folders
from davy.models.embedded import Routed
from davy.models.onnx import OnnxScorer
from davy.models.screen import Screen, pair_places, screened

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
TYPE = Question("type", (Label("threat"), Label("slight")), under=("hate", ("yes",)))
WARY = WORDS.index("lobster")


@pytest.fixture
def cascade(tmp_path: Path) -> OnnxScorer:
    """A tiny detector whose screen minds "grumblefop" and is wary of "lobster"."""
    network(tmp_path, (HATE, TYPE))
    tokenizer(tmp_path)
    pieces = np.zeros((len(WORDS), 1), dtype=np.float16)
    pieces[WORDS.index("grumblefop")] = 8
    wary = np.zeros(len(WORDS), dtype=np.uint8)
    wary[WARY] = 1
    pairs = np.zeros((64, 1), dtype=np.float16)
    bias = np.array([-2.0], dtype=np.float32)
    np.savez(tmp_path / "screen.npz", pieces=pieces, pairs=pairs, bias=bias, wary=wary)
    manifest = folders.Manifest("onnx", "tiny", (HATE, TYPE), settings={"screen": {"hate": 0.5}})
    return OnnxScorer(tmp_path, folders.write(tmp_path, manifest)).screened()


def posts(*texts: str) -> pl.DataFrame:
    return pl.DataFrame({"text": list(texts)})


def test_a_cleared_post_says_no_is_marked_and_leaves_child_questions_empty(cascade):
    columns = cascade.score(posts("nice tail", "nice grumblefop", "nice lobster")).columns()
    assert columns["cleared"] == [True, False, False]
    assert columns["hate.label"][0] == "no"
    assert columns["type.label"][0] is None
    assert columns["type.label"][1] is not None
    assert columns["hate"][0] == pytest.approx(1 / (1 + np.exp(2)), abs=1e-6)


def test_what_the_screen_does_not_clear_scores_as_without_it(cascade):
    texts = ["grumblefop", "nice grumblefop tail", "lobster head", "tail", "head nice"]
    plain = OnnxScorer(cascade.folder).score(posts(*texts))
    sifted = cascade.score(posts(*texts))
    assert sifted.read.tolist() == [True, True, True, False, False]
    for question in ("hate", "type"):
        assert np.array_equal(sifted.probabilities[question][:3], plain.probabilities[question][:3])


def test_a_screen_adds_pieces_and_neighbours_of_one_post_only():
    chance = np.random.default_rng(3)
    pieces, pairs = chance.normal(size=(50, 2)).astype(np.float32), chance.normal(size=(97, 2)).astype(np.float32)
    bias = np.array([0.5, -0.5], dtype=np.float32)
    screen = Screen(("a", "b"), np.zeros(2), bias, pieces, pairs, np.zeros(50, dtype=bool))
    rows = [chance.integers(0, 50, size=n).tolist() for n in (1, 2, 7, 30, 1)]
    _, logits = screen.read(rows)
    for row, found in zip(rows, logits, strict=True):
        summed = sum(pieces[i] for i in row)
        for one, other in pairwise(row):
            summed = summed + pairs[int(pair_places(np.array([one]), np.array([other]), 97)[0])]
        assert found == pytest.approx(summed / np.sqrt(len(row)) + bias, abs=1e-4)


def test_a_cleared_post_never_says_yes_even_where_the_threshold_is_lower(cascade):
    strict = OnnxScorer(cascade.folder, replace(cascade.manifest, thresholds={"hate": 0.05})).screened()
    scores = strict.score(posts("nice tail"))
    assert scores.read.tolist() == [False]
    assert scores.chosen("hate") == [("no",)]


def test_the_version_tells_a_cascade_from_a_full_reading_and_no_posts_are_fine(cascade):
    full = OnnxScorer(cascade.folder)
    assert not full.cascaded
    assert full.score(posts("nice tail")).read is None
    assert cascade.version == f"{full.version}+screen"
    assert cascade.screened() is cascade
    assert len(cascade.score(posts())) == 0


def test_a_routed_detector_screens_what_has_a_screen(cascade):
    full = OnnxScorer(cascade.folder)
    routed = Routed({"en": full}, lambda texts: ["en"] * len(texts))
    sifted = screened(routed)
    assert (routed.cascaded, sifted.cascaded) == (False, True)
    assert sifted.version != routed.version
    assert sifted.score(posts("nice tail", "grumblefop")).columns()["cleared"] == [True, False]


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
    assert run(["score", str(source), "--model", str(cascade.folder), "--no-cascade", "--out", str(out)]) == 0
    full = [json.loads(line) for line in out.read_text().splitlines()]
    assert "cleared" not in full[0]
    assert all(row["type.label"] for row in full)
    assert full[1]["hate"] == scored[1]["hate"]
    capsys.readouterr()
