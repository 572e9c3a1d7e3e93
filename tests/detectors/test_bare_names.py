"""A text that only names people is answered no, whatever the network says; all others are read as they were."""

from __future__ import annotations

import shutil

import numpy as np
import polars as pl
import pytest

from davy.core.errors import UserError
from davy.core.scheme import Label, Question
from davy.detectors import folder as folders
from davy.detectors.embedded import shipped_names, weights_folder
from davy.detectors.joint_answers import CHANCE, NAMES_FILE, BareNames, names_in
from davy.detectors.load import load

NAMES = BareNames(names_in("# a comment with kettles\nwomen Muslims black the and\nJüdinnen trans"))


@pytest.mark.parametrize(
    "text", ["women", "Muslims!", "the black women", "MUSLIMS and women…"[:-1], "„Jüdinnen“", "#women"]
)
def test_names_with_articles_and_punctuation_are_bare(text):
    assert NAMES.is_bare(text)


@pytest.mark.parametrize(
    "text", ["", "!?", "women lie", "women 🐷", "women 88", "@women", "kettles", "wo men", "women " * 40, "w*men"]
)
def test_anything_else_is_read_like_other_texts(text):
    assert not NAMES.is_bare(text)


def test_bare_names_lower_a_yes_and_leave_other_texts_and_questions_alone():
    yes_no = Question("hate", (Label("no"), Label("yes")), positive="yes")
    kinds = Question("type", (Label("a"), Label("b"), Label("c")))
    blocks = {"hate": np.array([[0.2, 0.8], [0.1, 0.9], [0.99, 0.01]]), "type": np.full((3, 3), 1 / 3)}
    NAMES.answer_no((yes_no, kinds), ["women", "women lie", "Muslims"], blocks)
    assert blocks["hate"].tolist() == [[1 - CHANCE, CHANCE], [0.1, 0.9], [0.99, 0.01]]
    assert (blocks["type"] == 1 / 3).all()


def shipped_words(name: str) -> frozenset[str]:
    folder = weights_folder(name)
    return BareNames.of(folder, folders.read(folder, check=False)).words


def test_a_list_that_the_manifest_does_not_name_changes_no_answer(tmp_path):
    shutil.copytree(weights_folder("embedded-en"), tmp_path / "model")
    (tmp_path / "model" / NAMES_FILE).unlink()
    listed = folders.write(tmp_path / "model", folders.read(tmp_path / "model", check=False))
    (tmp_path / "model" / NAMES_FILE).write_text("women", encoding="utf-8")
    assert BareNames.of(tmp_path / "model", listed) is None
    (tmp_path / "model" / NAMES_FILE).write_bytes(b"\xff")
    broken = folders.write(tmp_path / "model", listed)
    with pytest.raises(UserError, match=r"names\.txt can't be read"):
        BareNames.of(tmp_path / "model", broken)


@pytest.mark.parametrize("name", [name for name in shipped_names() if "memes" not in name])
def test_no_shipped_detector_flags_a_bare_name(name):
    words = sorted(shipped_words(name))
    texts = [text for word in words for text in (word, f"{word.capitalize()}!")]
    scores = load(name).score(pl.DataFrame({"text": texts}))
    assert set(scores.verdicts()) == {"none"}


@pytest.mark.parametrize("name", [name for name in shipped_names() if "memes" not in name])
def test_names_may_not_make_a_statement_of_other_names(name):
    assert not shipped_words(name) & {
        "no",
        "not",
        "down",
        "first",
        "out",
        "kill",
        "hate",
        "nicht",
        "kein",
        "keine",
        "raus",
        "weg",
        "tod",
    }
