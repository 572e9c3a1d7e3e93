"""Other thresholds for a detector: the same probabilities, other labels, under the same name and version."""

from dataclasses import dataclass, replace

import polars as pl
import pytest

from davy import schemes
from davy.core.scorer import Abilities, Scores
from davy.detectors.calibrated import ThresholdScorer
from davy.detectors.load import load

POSTS = pl.DataFrame({"text": ["a fine day", "what a grumblefop", "a sneezewit"], "lang": ["en"] * 3})


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("grumblefop\t0.9\nsneezewit\t0.7\n")
    return load(f"keywords:{path}")


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.8, 0.95])
def test_a_post_is_a_yes_from_the_threshold_on_and_its_probability_stays(words, threshold):
    scores = ThresholdScorer(words, {"hate": threshold}).score(POSTS)
    before = words.score(POSTS).positive("hate")
    assert scores.positive("hate").tolist() == before.tolist()
    said = [labels == ("hateful",) for labels in scores.chosen("hate")]
    assert said == [probability >= threshold for probability in before]


def test_thresholds_that_are_not_given_stay_and_so_do_name_and_version(words):
    other = ThresholdScorer(words, {})
    assert (other.name, other.version, other.questions) == (words.name, words.version, words.questions)
    assert other.score(POSTS).chosen("hate") == words.score(POSTS).chosen("hate")


@dataclass(frozen=True)
class Seeing:
    """A detector that can be asked one by one, with pictures, and with a screen."""

    inner: object
    how: str = "as it was"
    name = "seeing"
    version = "1"
    questions = (schemes.load("hate").question("hate"),)

    @property
    def abilities(self) -> Abilities:
        return Abilities(
            cascade=lambda: replace(self, how="screened"),
            one_by_one=lambda cores: replace(self, how=f"alone on {cores}"),
            with_images=lambda images: replace(self, how="with pictures"),
        )

    def score(self, posts: pl.DataFrame) -> Scores:
        return self.inner.score(posts)


def test_the_thresholds_hold_one_by_one_and_with_pictures_but_not_behind_a_screen(words):
    abilities = ThresholdScorer(Seeing(words), {"hate": 0.8}).abilities
    alone, seeing = abilities.one_by_one(2), abilities.with_images(lambda key: None)
    assert [it.scorer.how for it in (alone, seeing)] == ["alone on 2", "with pictures"]
    for it in (alone, seeing):
        assert it.score(POSTS).chosen("hate")[2] == ("not hateful",)
    assert abilities.cascade is None  # a screen was set for the detector's own thresholds
