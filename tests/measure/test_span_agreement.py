"""Agreement on marked words: a worked example by hand, and other libraries on the same words."""

from __future__ import annotations

from itertools import pairwise

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from davy.measure.agreement_study import StudyQuestion, study_marks
from davy.measure.intervals import Bootstrap
from davy.measure.rationales import stretches
from davy.measure.span_agreement import MarkedPost, overlap_metrics, word_ratings

ASKED = StudyQuestion("why", "why")
# Words:      0    1     2    3    4     5
FIRST = "your lamp is very dim today"
SECOND = "go away"
POSTS = [
    MarkedPost("1", FIRST, {"ann": ("5-21",), "ben": ("13-21",), "cay": ("0-4",)}),
    MarkedPost("2", SECOND, {"ann": ("0-7",), "ben": ("3-7",)}),
    MarkedPost("3", SECOND, {"ann": (), "ben": ()}),
]


def test_the_worked_example():
    # Post 1. ann: lamp is very dim; ben: very dim; cay: your.
    #   ann, ben: 2 shared of 4 and 2, F1 2·2/6 = 2/3; one passage each, 2 of 4 words: an overlap of 1/2 is a hit, 1.
    #   ann, cay and ben, cay: nothing shared, 0 and 0. Mean: 2/9 and 1/3.
    # Post 2. ann: go away; ben: away. F1 2·1/3 = 2/3; overlap 1/2, 1.
    # Post 3. Nobody marked anything: left out.
    tokens, passages = overlap_metrics(POSTS, bootstrap=Bootstrap(0))
    assert (tokens.value, tokens.n) == (pytest.approx((2 / 9 + 2 / 3) / 2), 2)
    assert passages.value == pytest.approx((1 / 3 + 1) / 2)
    study = study_marks(ASKED, None, POSTS, Bootstrap(0))
    # Percent: post 1 has three people on six words (1 where all are alike, else 1/3), posts 2 and 3 two on two.
    #   your 1/3, lamp 1/3, is 1/3, very 1/3, dim 1/3, today 1; go 0, away 1; 1, 1.
    assert study["percent"].value == pytest.approx((5 / 3 + 1 + 0 + 1 + 2) / 10)
    assert (study.items, study.posts, study["percent"].n) == (10, 3, 10)
    assert study["token_f1"].value == tokens.value


def random_posts(seed: int, people: int = 4, count: int = 40) -> tuple[list[MarkedPost], np.ndarray]:
    """Posts whose words are marked by chance around a truth, and the marks as a matrix of words by people."""
    rng = np.random.default_rng(seed)
    posts, rows = [], []
    for number in range(count):
        n = int(rng.integers(2, 9))
        text = " ".join(["w" * int(rng.integers(1, 6)) for _ in range(n)])
        places = [len(" ".join(text.split(" ")[:i])) + (i > 0) for i in range(n)]
        truth = rng.random(n) < 0.4
        marks = np.where(rng.random((n, people)) < 0.8, truth[:, None], ~truth[:, None])
        given = {
            f"p{who}": tuple(f"{places[i]}-{places[i] + 1}" for i in range(n) if marks[i, who]) for who in range(people)
        }
        posts.append(MarkedPost(str(number), text, given))
        rows.append(marks)
    return posts, np.concatenate(rows).astype(int)


@pytest.mark.parametrize("seed", [1, 2])
def test_words_are_measured_as_other_libraries_measure_them(seed):
    posts, marks = random_posts(seed)
    study = study_marks(ASKED, None, posts, Bootstrap(50))
    assert study["alpha"].value == pytest.approx(krippendorff.alpha(marks.T, level_of_measurement="nominal"))
    assert study["fleiss"].value == pytest.approx(fleiss_kappa(aggregate_raters(marks)[0]))
    assert study.pairs.pairs["p0", "p1"].value == pytest.approx(cohen_kappa_score(marks[:, 0], marks[:, 1]))
    assert study["alpha"].low < study["alpha"].value < study["alpha"].high
    two = [MarkedPost(post.item, post.text, {name: post.given[name] for name in ("p0", "p1")}) for post in posts]
    ends = np.cumsum([0, *(len(post.text.split()) for post in posts)])
    ours = overlap_metrics(two, bootstrap=Bootstrap(0))[0]
    parts = [marks[a:b] for a, b in pairwise(ends)]
    theirs = [f1_score(part[:, 0], part[:, 1]) for part in parts if part[:, :2].any()]
    assert ours.value == pytest.approx(np.mean(theirs))


def test_words_of_one_post_are_no_independent_items():
    # The same post over and over: whole posts are resampled, so nothing varies however many words there are.
    posts = [MarkedPost(str(n), FIRST, {"ann": ("5-9",), "ben": ("5-12",)}) for n in range(30)]
    alpha = study_marks(ASKED, None, posts, Bootstrap(100))["alpha"]
    assert alpha.low == pytest.approx(alpha.high)


def test_labels_make_marks_differ():
    posts = [
        MarkedPost("1", SECOND, {"ann": ("0-2:loud",), "ben": ("0-2:sly",)}),
        MarkedPost("2", SECOND, {"ann": ("0-7:loud", "0-2:sly"), "ben": ("0-7:loud",)}),
    ]
    ratings, _ = word_ratings(posts, ("loud", "sly"))
    assert set(ratings.labels) == {"loud", "sly", "loud|sly", "not marked"}
    tokens, passages = overlap_metrics(posts, bootstrap=Bootstrap(0))
    assert tokens.value == pytest.approx((0 + 2 * 2 / 5) / 2)
    assert passages.value == pytest.approx((0 + 2 * 1 / 3) / 2)


def test_nothing_to_compare_says_so():
    alone = [MarkedPost("1", SECOND, {"ann": ("0-2",)})]
    study = study_marks(ASKED, None, alone, Bootstrap(0))
    assert study["alpha"].value is None
    assert study["token_f1"].note == "not defined: no post has two answers with a mark"
    assert stretches([1, 2, 4, 0]) == [(0, 3), (4, 5)]
