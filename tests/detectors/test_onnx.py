"""Model folders and the ONNX scorer, on a tiny network made here."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import onnx
import polars as pl
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from davy.core import Label, Question, UserError
from davy.detectors import folder as folders
from davy.detectors.load import load
from davy.detectors.onnx import OnnxScorer
from davy.detectors.token_batches import TokenRows

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
TYPE = Question("type", (Label("threat"), Label("slight", under=("yes",)), Label("other")), under=("hate", ("yes",)))
TARGET = Question("target", (Label("a"), Label("b")), kind="many", open=True)
QUESTIONS = (HATE, TYPE, TARGET)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "nice", "grumblefop", "tail", "head", "lobster"]


def network(folder: Path, questions=QUESTIONS) -> dict[str, np.ndarray]:
    """Write a network that sums an embedding over the unmasked tokens; return the embedding of each question."""
    rng = np.random.default_rng(7)
    tables, nodes, outputs, constants = {}, [], [], []
    nodes.append(helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT))
    constants.append(numpy_helper.from_array(np.array([2], dtype=np.int64), "last"))
    constants.append(numpy_helper.from_array(np.array([1], dtype=np.int64), "middle"))
    nodes.append(helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]))
    for question in questions:
        name = question.name
        tables[name] = rng.normal(size=(len(WORDS), len(question.labels))).astype(np.float32)
        constants.append(numpy_helper.from_array(tables[name], f"{name}.table"))
        nodes += [
            helper.make_node("Gather", [f"{name}.table", "input_ids"], [f"{name}.each"]),
            helper.make_node("Mul", [f"{name}.each", "wide"], [f"{name}.kept"]),
            helper.make_node("ReduceSum", [f"{name}.kept", "middle"], [name], keepdims=0),
        ]
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", len(question.labels)]))
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "m"]) for n in ("input_ids", "attention_mask")]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    return tables


def tokenizer(folder: Path) -> None:
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    words.enable_truncation(3)  # as a saved tokenizer may have it; the loader must switch it off
    words.save(str(folder / "tokenizer.json"))


@pytest.fixture
def tiny(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    tables = network(folder)
    tokenizer(folder)
    (folder / "card.md").write_text("# Tiny\n")
    manifest = folders.Manifest(
        "onnx", "tiny", QUESTIONS, languages=("en",), temperatures={"hate": 2.0}, thresholds={"hate": 0.4},
        settings={"max_length": 8},
    )  # fmt: skip
    folders.write(folder, manifest)
    return folder, tables


def posts(*texts):
    return pl.DataFrame({"text": list(texts)}, schema={"text": pl.String})


def test_scores_are_the_softmax_or_sigmoid_of_the_logits_at_the_temperature(tiny):
    folder, tables = tiny
    scorer = load(str(folder))
    scores = scorer.score(posts("nice grumblefop"))
    ids = [2, 4, 5, 3]
    a, b = (tables["hate"][ids].sum(axis=0) / 2.0).tolist()
    assert scores.positive("hate")[0] == pytest.approx(1 / (1 + math.exp(a - b)), abs=1e-6)
    first = float(tables["target"][ids].sum(axis=0)[0])
    assert scores.probabilities["target"][0, 0] == pytest.approx(1 / (1 + math.exp(-first)), abs=1e-6)
    assert scores.probabilities["type"].sum() == pytest.approx(1, abs=1e-6)
    assert scores.thresholds == {"hate": 0.4}


def test_questions_come_back_from_the_manifest_as_they_were(tiny):
    assert load(str(tiny[0])).questions == QUESTIONS


def test_a_batch_scores_each_text_as_it_does_alone(tiny):
    scorer = OnnxScorer(tiny[0], tokens=16)
    texts = ["", "nice", "grumblefop " * 3, "tail head nice", "nice " * 50, "head"] * 7
    together = scorer.score(posts(*texts))
    for i, text in enumerate(texts[:6]):
        alone = scorer.score(posts(text))
        for question in QUESTIONS:
            assert np.allclose(
                together.probabilities[question.name][i], alone.probabilities[question.name][0], atol=1e-6
            )


def test_a_long_text_keeps_three_quarters_of_its_head_and_a_quarter_of_its_tail(tiny):
    scorer = OnnxScorer(tiny[0])
    ids = list(scorer._encoded(["head " * 20 + "tail " * 20])[0])
    assert ids == [2, 7, 7, 7, 7, 7, 6, 3]
    megabyte = list(scorer._encoded(["head " * 100_000 + "tail " * 100_000])[0])
    assert megabyte == ids


def test_a_folder_can_ask_for_the_head_alone(tiny):
    folder, _ = tiny
    manifest = folders.read(folder)
    folders.write(folder, folders.Manifest("onnx", "t", QUESTIONS, settings={**manifest.settings, "truncate": "head"}))
    assert list(OnnxScorer(folder)._encoded(["head " * 20 + "tail " * 20])[0]) == [2, 7, 7, 7, 7, 7, 7, 3]


ODD = ["", " ", "\x00", "\u202e\u200f", "🦞🦞", "a\u0301" * 900, "x" * 1_000_000]


@pytest.mark.parametrize("text", ODD, ids=["empty", "space", "nul", "rtl", "emoji", "marks", "megabyte"])
def test_odd_texts_get_a_defined_score(tiny, text):
    scores = load(str(tiny[0])).score(posts(text, None))
    assert 0 <= scores.positive("hate")[0] <= 1


def test_no_posts_give_no_scores(tiny):
    assert len(load(str(tiny[0])).score(posts())) == 0


def test_emoji_become_names_where_the_folder_says_so(tiny):
    folder, _ = tiny
    folders.write(
        folder, folders.Manifest("onnx", "t", QUESTIONS, settings={"max_length": 8, "prepare": ["emoji names"]})
    )
    assert 8 in OnnxScorer(folder)._encoded(["🦞"])[0]


def test_batches_are_bounded_in_tokens_and_cover_every_row_once():
    lengths = np.array([3, 9, 1, 400, 7, 7, 2, 0])
    rows = TokenRows.of([[5] * n for n in lengths])
    found = rows.batches(np.arange(8), tokens=20)
    assert np.concatenate(found).tolist() == np.argsort(-lengths, kind="stable").tolist()
    assert all(len(batch) == 1 or len(batch) * lengths[batch].max() <= 20 for batch in found)
    assert rows.batches(np.array([], dtype=np.int64), tokens=20) == []
    even = TokenRows.of([[5] * 10] * 12).batches(np.arange(12), tokens=100)
    assert [len(batch) for batch in even] == [6, 6]


def test_padded_rows_hold_each_post_where_it_was_asked_for():
    rows = TokenRows.of([[1, 2, 3], [], [4], [5, 6]])
    ids, mask = rows.padded(np.array([3, 1, 0]), 9)
    assert ids.tolist() == [[5, 6, 9], [9, 9, 9], [1, 2, 3]]
    assert mask.tolist() == [[True, True, False], [False, False, False], [True, True, True]]
    assert rows.padded(np.array([1]), 9)[0].tolist() == [[9]]


def test_scores_do_not_depend_on_batches_or_threads(tiny):
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS[4:], rng.integers(0, 7))) for _ in range(150)]
    frame = pl.DataFrame({"text": texts})
    one_by_one = [OnnxScorer(tiny[0]).score(frame[i : i + 1]).probabilities["type"] for i in range(150)]
    for threads, tokens in ((1, 8), (3, 8), (2, 64), (8, 10_000)):
        together = OnnxScorer(tiny[0], threads=threads, tokens=tokens).score(frame)
        np.testing.assert_allclose(together.probabilities["type"], np.concatenate(one_by_one), atol=1e-6)


def test_a_pickle_opens_the_network_of_its_folder_and_no_other(tiny, tmp_path, monkeypatch):
    folder, _ = tiny
    monkeypatch.chdir(folder.parent)
    scorer = load(folder.name).recalibrated({"hate": 3.0}, {"hate": 0.7})
    pickled = pickle.dumps(scorer)
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)  # noqa: S301 - our own
    assert (again.version, again.questions) == (scorer.version, scorer.questions)
    found, expected = (it.score(posts("nice grumblefop", "")) for it in (again, scorer))
    assert found.thresholds == expected.thresholds == {"hate": 0.7}
    assert np.array_equal(found.probabilities["hate"], expected.probabilities["hate"])
    with (folder / "model.onnx").open("ab") as network:
        network.write(b"more")
    with pytest.raises(UserError, match="is another network than when the detector was pickled"):
        pickle.loads(pickled)  # noqa: S301 - our own


def test_the_version_follows_the_weights_and_thresholds_but_not_the_card(tiny):
    folder, _ = tiny
    manifest = folders.read(folder)
    (folder / "card.md").write_text("# Tiny, corrected\n")
    assert folders.write(folder, manifest).version == manifest.version
    assert folders.write(folder, folders.Manifest("onnx", "tiny", QUESTIONS)).version != manifest.version


def test_a_tampered_missing_or_outside_file_stops_the_load(tiny):
    folder, _ = tiny
    (folder / "more.onnx").write_bytes(b"not listed")
    with pytest.raises(UserError, match=r"more\.onnx, which its manifest does not list"):
        load(str(folder))
    (folder / "more.onnx").unlink()
    whole = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(whole[:-1] + b"x")
    with pytest.raises(UserError, match=r"model\.onnx has changed"):
        load(str(folder))
    (folder / "model.onnx").unlink()
    with pytest.raises(UserError, match=r"lacks .*model\.onnx"):
        load(str(folder))
    record = json.loads((folder / "manifest.json").read_text())
    record["files"] = {"../../etc/passwd": "0"}
    (folder / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match="outside its folder"):
        load(str(folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "format 9"),
        ({"questions": []}, "no questions"),
        ({"questions": [{"name": "hate", "kind": "odd", "labels": ["a"]}]}, "kind 'odd'"),
        ({"questions": [{"name": "hate", "labels": ["a"], "positive": "b"}]}, "no label 'b'"),
        ({"temperatures": {"hate": 0}}, "temperature"),
        ({"engine": "abacus"}, "needs the engine 'abacus'"),
        ({"settings": {"max_length": 1}}, "max_length is 1"),
        ({"settings": {"prepare": ["stir"]}}, "text step 'stir'"),
        ({"questions": [{"name": "sarcasm", "labels": ["a", "b"]}]}, "no output 'sarcasm'"),
        ({"questions": [{"name": "hate", "labels": ["a", "b", "c"]}]}, "gives 2 values for 'hate'"),
    ],
)
def test_a_manifest_that_can_not_be_right_is_refused(tiny, change, message):
    path = tiny[0] / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match=message):
        load(str(tiny[0]))


def test_broken_json_is_refused(tiny):
    (tiny[0] / "manifest.json").write_text("{")
    with pytest.raises(UserError, match="malformed"):
        load(str(tiny[0]))


def test_a_file_that_is_no_network_is_refused(tiny):
    folder, _ = tiny
    (folder / "model.onnx").write_bytes(b"not a network")
    folders.write(folder, folders.Manifest("onnx", "t", QUESTIONS))
    with pytest.raises(UserError, match="can't be loaded"):
        load(str(folder))
    (folder / "tokenizer.json").write_text("{}")
    folders.write(folder, folders.Manifest("onnx", "t", QUESTIONS))
    with pytest.raises(UserError, match="is no tokenizer"):
        load(str(folder))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pkl"])
def test_pickles_are_refused_and_the_way_out_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x80\x04.")
    with pytest.raises(UserError, match="davy model convert"):
        load(str(tmp_path))
    with pytest.raises(UserError, match="davy model convert"):
        load(str(tmp_path / name))
    with pytest.raises(UserError, match="davy model convert"):
        folders.write(tmp_path, folders.Manifest("onnx", "t", QUESTIONS))
