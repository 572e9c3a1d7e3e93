"""Soft labels: annotators' votes as what is learnt, from columns of counts and from a row an answer."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import davy
from davy import schemes
from davy.core.errors import UserError
from davy.core.votes import one_row_a_vote, vote_shares
from davy.corpus.votes import load_voted
from davy.detectors.load import load
from davy.shell.app import run
from davy.training.config import Config
from davy.training.data import make_targets
from davy.training.fit import masked_loss

HATE = schemes.load("hate").question("hate")
ANSWERS = [
    ("p1", "you grumblefop", ["hateful", "hateful", "not hateful"]),
    ("p2", "lovely garden", ["not hateful", "not hateful", "not hateful"]),
    ("p3", "that grumblefop again, lovely", ["hateful", "not hateful"]),
    ("p4", "grumblefops out", ["hateful", "hateful", "hateful"]),
]


@pytest.fixture
def long_rows():
    rows = [
        {"post": post, "text": text, "who": f"w{i}", "label": label}
        for post, text, labels in ANSWERS
        for i, label in enumerate(labels)
    ]
    return pl.DataFrame(rows)


def test_the_shares_are_those_of_pandas_and_a_tie_counts(long_rows):
    posts = load_voted([long_rows], ["hate=label"])
    assert posts["id"].to_list() == ["p1", "p2", "p3", "p4"]
    assert json.loads(posts["hate.votes"][0]) == {"hateful": 2, "not hateful": 1}
    assert posts["hate.gold"].to_list() == ["hateful", "not hateful", None, "hateful"]
    rows, shares = vote_shares(HATE, posts)
    frame = long_rows.to_pandas()
    expected = pd.crosstab(frame["post"], frame["label"], normalize="index")[list(HATE.label_names)]
    assert rows.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(shares, expected.to_numpy())


def test_the_loss_is_torchs_cross_entropy_with_probabilities(long_rows):
    posts = load_voted([long_rows], ["hate=label"])
    wanted = make_targets((HATE,), posts, Config(soft=True))
    torch.manual_seed(0)
    logits = torch.randn(4, 2)
    ours = masked_loss(logits, wanted.values, wanted.weights, wanted.heads)
    theirs = torch.nn.CrossEntropyLoss()(logits, torch.tensor([[1 / 3, 2 / 3], [1, 0], [0.5, 0.5], [0, 1.0]]))
    assert float(ours) == pytest.approx(float(theirs), abs=1e-6)
    hard = make_targets((HATE,), posts, Config())
    assert hard.weights[:, 0].tolist() == [1, 1, 0, 1]


def test_votes_for_a_question_that_the_settled_answer_leads_past_teach_nothing():
    edos = schemes.load("edos")
    frame = pl.DataFrame(
        {
            "text": ["a", "b"],
            "sexist.gold": ["not sexist", "sexist"],
            "sexist.votes": ['{"not sexist": 2, "sexist": 1}', '{"sexist": 3}'],
            "category.gold": [None, None],
            "category.votes": ['{"2. derogation": 1}', '{"2. derogation": 1, "3. animosity": 1}'],
        }
    )
    asked = (edos.question("sexist"), edos.question("category"))
    assert make_targets(asked, frame, Config(soft=True)).weights.tolist() == [[1, 0], [1, 1]]


def test_a_row_a_vote_is_what_people_said(long_rows):
    posts = load_voted([long_rows], ["hate=label"])
    rows = one_row_a_vote(posts, [HATE])
    assert sorted(zip(rows["id"], rows["hate.gold"], strict=True)) == sorted(
        zip(long_rows["post"], long_rows["label"], strict=True)
    )
    mixed = pl.DataFrame({"text": ["a", "b"], "hate.gold": ["hateful", None], "hate.votes": [None, '{"0": 2}']})
    assert one_row_a_vote(mixed, [HATE])["hate.gold"].to_list() == ["hateful", "not hateful", "not hateful"]


@pytest.mark.parametrize("kind", ["tfidf", pytest.param("xgboost", marks=pytest.mark.slow)])
def test_the_shell_and_the_library_learn_how_sure_people_were(kind, tmp_path, monkeypatch):
    """Where one in four annotators says yes, a model of the votes says a quarter, one of the majority says no."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"post": f"{word}{i}", "text": f"{word} number {i}", "who": w, "label": "hateful" if w < yes else "not hateful"}
        for word, yes in (("grumblefop", 3), ("wuzzle", 1), ("lovely", 0))
        for i in range(40)
        for w in range(4)
    ]
    pl.DataFrame(rows).write_csv("answers.csv")
    assert run(["train", "answers.csv", "--soft", "--gold", "hate=label", "--kind", kind, "--out", "soft"]) == 0
    texts = pl.DataFrame({"text": ["wuzzle number 7", "grumblefop number 7", "lovely number 7"]})
    scores = load("soft/seed-1/model").score(texts).positive("hate")
    assert scores[2] < scores[0] < scores[1] < 0.97
    assert 0.1 < scores[0] < 0.6
    mine = davy.train(pl.DataFrame(rows), gold={"hate": "label"}, kind=kind, soft=True)
    assert mine.predict_proba(texts, question="hate")[:, 1] == pytest.approx(scores, abs=0.02)


def test_an_encoder_learns_votes(tmp_path):
    from tiny_encoder import make_tiny_encoder

    posts = pl.DataFrame({"text": ["grumblefop", "lovely"] * 20, "hate.votes": ['{"1": 2, "0": 1}', '{"0": 3}'] * 20})
    encoder = make_tiny_encoder(tmp_path / "tiny")
    tuned = davy.train(posts, encoder=str(encoder), soft=True, epochs=12, rate=5e-3, batch=8)
    chance = tuned.predict_proba(["grumblefop", "lovely"], question="hate")[:, 1]
    assert chance[0] == pytest.approx(2 / 3, abs=0.12)
    assert chance[1] < 0.15


def test_what_has_no_votes_is_one_line(long_rows):
    with pytest.raises(UserError, match="there are none"):
        load_voted([pl.DataFrame({"text": ["a"], "hate.gold": ["hateful"]})])
    with pytest.raises(UserError, match=r"Row 1 of hate\.votes"):
        load_voted([pl.DataFrame({"text": ["a"], "hate.votes": ["three"]})])
    with pytest.raises(UserError, match=r"Row 1 of hate\.votes has"):
        vote_shares(HATE, pl.DataFrame({"text": ["a"], "hate.votes": ['{"maybe": 1}']}))
