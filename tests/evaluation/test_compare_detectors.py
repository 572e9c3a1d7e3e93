"""Two detectors on posts without labels: what counts as a difference."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from davy import schemes
from davy.core.scorer import Abilities, Scores
from davy.evaluation.compare_detectors import compare_detectors

EDOS = schemes.load("edos")


class Says:
    """A detector of sexism and its category that answers both questions for every text, as given by its words."""

    abilities = Abilities()

    def __init__(self, name: str, category: str) -> None:
        self.name, self.version, self.category = name, "1", category
        self.questions = (EDOS.question("sexist"), EDOS.question("category"))

    def score(self, posts: pl.DataFrame) -> Scores:
        yes = np.array([0.9 if self.name in text.split() else 0.1 for text in posts["text"]])
        category = np.zeros((len(posts), len(self.questions[1].labels)))
        category[:, self.questions[1].label_names.index(self.category)] = 1
        sexist = np.zeros((len(posts), 2))
        place = self.questions[0].label_names.index("sexist")
        sexist[:, place], sexist[:, 1 - place] = yes, 1 - yes
        return Scores(self.questions, {"sexist": sexist, "category": category})


def test_a_question_that_a_detectors_own_answers_do_not_lead_to_is_no_difference(tmp_path):
    texts = ["first second", "first", "a fine day", "another fine day"]
    pl.DataFrame({"id": ["a", "b", "c", "d"], "text": texts}).write_csv(tmp_path / "posts.csv")
    both = {"one": Says("first", "derogation"), "two": Says("second", "animosity")}
    found = compare_detectors(tmp_path / "posts.csv", both, tmp_path / "out.csv")
    sexist, category = found.questions
    assert (found.posts, found.differing) == (4, 2)
    assert (sexist.n, sexist.both, sexist.only_first, sexist.only_second) == (4, 1, 1, 0)
    assert (category.n, category.share.value) == (1, pytest.approx(1))
    written = pl.read_csv(tmp_path / "out.csv")
    assert dict(zip(written["id"], written["differ"].fill_null(""), strict=True)) == {
        "a": "category",
        "b": "sexist",
        "c": "",
        "d": "",
    }
    assert written["two: category.label"].to_list()[:2] == ["animosity", None]
