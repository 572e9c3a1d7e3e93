"""Detectors in transformers: the same scores, never new weights, and no stranger's code."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

import davy
from davy import schemes
from davy.core import UserError
from davy.core.scheme import Label, Question
from davy.detectors.calibrated import CalibratedScorer
from davy.detectors.encoder import TextTokenizer, load_encoder, load_tokenizer
from davy.detectors.hub_classifier import HubClassifier
from davy.detectors.huggingface import write_huggingface
from davy.detectors.load import load, open_folder
from davy.detectors.network import Network
from davy.detectors.transformer import TransformerScorer, heads_of
from tiny_encoder import make_tiny_classifier, make_tiny_encoder

HATE = schemes.load("hate").question("hate")
KIND = Question("kind", (Label("a"), Label("b"), Label("c")))
GROUPS = Question("groups", (Label("x"), Label("y")), kind="many")
TEXTS = ["they are all grumblefop", "lovely lovely garden", "nice", "the wuzzle people are bad lobsters"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_encoder(tmp_path_factory.mktemp("tiny"))


def trained(tiny, questions, pooling="mean") -> TransformerScorer:
    import torch

    torch.manual_seed(3)
    tokenizer, pad = load_tokenizer(str(tiny))
    network = Network(load_encoder(str(tiny)), heads_of(questions), pooling=pooling)
    torch.nn.init.normal_(network.out.weight, std=1.0)
    return TransformerScorer(network.eval(), TextTokenizer(tokenizer, 32, pad), questions, "mine")


def in_transformers(folder) -> tuple[dict, np.ndarray]:
    """Return the config's notes and the logits that plain transformers gives the texts, in one padded batch."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        logits = model(**tokenizer(TEXTS, padding=True, truncation=True, return_tensors="pt")).logits
    return model.config.to_dict(), logits.numpy()


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_one_question_scores_the_same_in_transformers(tiny, tmp_path, pooling):
    scorer = CalibratedScorer(trained(tiny, (HATE,), pooling), {"hate": 1.7}, {"hate": 0.4})
    config, logits = in_transformers(write_huggingface(scorer, tmp_path / "hf"))
    ours = scorer.score(pl.DataFrame({"text": TEXTS})).probabilities["hate"]
    assert config["problem_type"] == "single_label_classification"
    assert config["id2label"] == {0: "not hateful", 1: "hateful"}
    assert config["davy"]["questions"]["hate"]["threshold"] == 0.4
    assert np.abs(softmax(logits) - ours).max() < 1e-5


def test_several_questions_become_several_labels(tiny, tmp_path):
    scorer = trained(tiny, (HATE, KIND, GROUPS))
    config, logits = in_transformers(write_huggingface(scorer, tmp_path / "hf"))
    ours = scorer.score(pl.DataFrame({"text": TEXTS})).probabilities
    labels = ["hate", "kind: a", "kind: b", "kind: c", "groups: x", "groups: y"]
    assert config["problem_type"] == "multi_label_classification"
    assert list(config["id2label"].values()) == labels
    chances = 1 / (1 + np.exp(-logits))
    assert np.abs(chances[:, 0] - ours["hate"][:, 1]).max() < 1e-5
    assert np.abs(softmax(logits[:, config["davy"]["questions"]["kind"]["columns"]]) - ours["kind"]).max() < 1e-5
    assert np.abs(chances[:, 4:] - ours["groups"]).max() < 1e-5


def test_davy_loads_what_it_wrote_for_transformers_without_running_its_code(tiny, tmp_path):
    scorer = trained(tiny, (HATE,))
    folder = write_huggingface(scorer, tmp_path / "hf")
    (folder / "modeling_davy.py").write_text("raise SystemExit('a stranger was here')")
    again = load(f"hf:{folder}")
    assert isinstance(again, HubClassifier)
    posts = pl.DataFrame({"text": TEXTS})
    assert np.abs(again.score(posts).probabilities["hate"] - scorer.score(posts).probabilities["hate"]).max() < 1e-5


def test_a_trained_folder_never_loads_elsewhere_with_new_weights(tiny, tmp_path):
    from transformers import AutoModel, AutoModelForSequenceClassification

    scorer = trained(tiny, (HATE,))
    scorer.save(tmp_path / "trained")
    for kind in (AutoModelForSequenceClassification, AutoModel):
        with pytest.raises(ValueError, match="davy"):
            kind.from_pretrained(tmp_path / "trained")
    posts = pl.DataFrame({"text": TEXTS})
    ours = scorer.score(posts).probabilities["hate"]
    assert np.array_equal(open_folder(tmp_path / "trained").score(posts).probabilities["hate"], ours)
    with pytest.raises(UserError, match="without hf:"):
        load(f"hf:{tmp_path / 'trained'}")
    encoder = load_encoder(str(tmp_path / "trained"))
    assert all(
        (a == b).all()
        for a, b in zip(encoder.state_dict().values(), scorer.network.encoder.state_dict().values(), strict=True)
    )


def test_a_folder_of_an_earlier_version_still_loads(tiny, tmp_path):
    from davy.detectors import folder as folders

    scorer = trained(tiny, (HATE,))
    scorer.save(tmp_path / "old")
    scorer.network.encoder.config.to_json_file(tmp_path / "old" / "config.json")
    folders.write(tmp_path / "old", folders.read(tmp_path / "old", check=False))
    posts = pl.DataFrame({"text": TEXTS})
    again = open_folder(tmp_path / "old").score(posts).probabilities["hate"]
    assert np.array_equal(again, scorer.score(posts).probabilities["hate"])


def test_an_encoder_without_a_trained_head_is_no_classifier(tiny):
    with pytest.raises(UserError, match="is no trained classifier: 4 of its weights are missing"):
        load(f"hf:{tiny}")


def test_a_strangers_code_is_refused_and_never_asked_about(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    folder = tmp_path / "stranger"
    make_tiny_classifier(folder, ["no", "yes"])
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass C: ...\nclass M: ...\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "strange",
        "auto_map": {"AutoConfig": "code.C", "AutoModelForSequenceClassification": "code.M", "AutoModel": "code.M"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="brings Python code of its own, which Davy never runs"):
        load(f"hf:{folder}")
    shutil.copytree(folder, tmp_path / "encoder")
    with pytest.raises((UserError, ValueError)):
        load_encoder(str(tmp_path / "encoder"))
    assert not (tmp_path / "ran").exists()


def test_only_a_fine_tuned_encoder_goes_to_transformers(tmp_path):
    with pytest.raises(UserError, match="majority is no fine-tuned encoder"):
        davy.load("majority").to_huggingface(tmp_path / "hf")
