"""A quick detector asks a better one where it is unsure, and only there."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest

from davy.core import Label, Question
from davy.core.scorer import PLAIN, Abilities, Scores
from davy.detectors.ensemble import SecondOpinion
from davy.detectors.load import load

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
TYPE = Question("type", (Label("threat"), Label("slight")), under=("hate", ("yes",)))


@dataclass
class Says:
    """A scorer that says what it is told, and remembers what it was asked."""

    name: str
    chances: dict[str, float]
    threshold: float = 0.5
    version: str = "1"
    questions: tuple[Question, ...] = (HATE, TYPE)
    abilities: Abilities = PLAIN
    asked: list[str] = field(default_factory=list)

    def score(self, posts: pl.DataFrame) -> Scores:
        texts = posts["text"].to_list()
        self.asked += texts
        yes = np.array([self.chances.get(text, 0.0) for text in texts])
        blocks = {"hate": np.stack([1 - yes, yes], 1), "type": np.tile([0.5, 0.5], (len(texts), 1))}
        return Scores(self.questions, blocks, {"hate": self.threshold})


def test_only_posts_near_the_threshold_are_asked_again_and_keep_their_place():
    first = Says("quick", {"a": 0.05, "b": 0.45, "c": 0.95, "d": 0.69})
    second = Says("slow", {"b": 0.9, "d": 0.55}, threshold=0.6)
    both = SecondOpinion(first, second, near=0.2)
    columns = both.score(pl.DataFrame({"text": ["a", "b", "c", "d"]})).columns()
    assert second.asked == ["b", "d"]
    assert columns["hate"] == pytest.approx([0.05, 0.9, 0.95, 0.55])
    # The second one's threshold counts for its answers, the first one's for its own.
    assert columns["hate.label"] == ["no", "yes", "yes", "no"]


def test_a_sure_detector_asks_nobody_and_versions_tell_all_parts():
    first, second = Says("quick", {"a": 0.01}), Says("slow", {})
    both = SecondOpinion(first, second)
    assert len(both.score(pl.DataFrame({"text": ["a"]}))) == 1
    assert len(both.score(pl.DataFrame({"text": []}, schema={"text": pl.String}))) == 0
    assert not second.asked
    versions = {SecondOpinion(Says("quick", {}, version=a), Says("slow", {}, version=b), near=near).version
                for a in "12" for b in "12" for near in (0.1, 0.2)}  # fmt: skip
    assert len(versions) == 8


def test_the_careful_embedded_detector_says_what_the_large_one_says_where_the_small_one_is_unsure():
    careful, small, large = (load(name) for name in ("embedded-careful", "embedded-en", "embedded-en-large"))
    words = "you they are all so very lazy clever women men dogs people today again never".split()  # noqa: SIM905
    chance = np.random.default_rng(4)
    texts = [" ".join(chance.choice(words, size=6)) for _ in range(300)]
    posts = pl.DataFrame({"text": texts, "lang": ["en"] * len(texts)})
    said = small.score(posts)
    near = np.zeros(len(texts), dtype=bool)
    for name in ("hate", "offensive", "sexist"):
        near |= np.abs(said.probabilities[name][:, 1] - said.thresholds.get(name, 0.5)) < 0.2
    assert 0 < near.sum() < len(texts)
    found = careful.score(posts).probabilities["hate"][:, 1]
    assert found[~near] == pytest.approx(said.probabilities["hate"][~near, 1], abs=1e-6)
    again = large.score(posts.filter(pl.Series(near))).probabilities["hate"][:, 1]
    assert found[near] == pytest.approx(again, abs=1e-6)
    assert careful.version != load("embedded").version
