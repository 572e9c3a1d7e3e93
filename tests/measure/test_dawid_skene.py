"""Dawid and Skene's model against crowd-kit, the anaesthetists of 1979, and data whose truth is known."""

import numpy as np
import pytest

from davy.core import UserError
from davy.measure.dawid_skene import dawid_skene
from davy.measure.ratings import Ratings

# Table 1 of the 1979 paper: 45 patients; the first anaesthetist looked three times, four others once.
PATIENTS = """
1111111 3333434 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212
1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111
1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111
2322222 1211111 2222222
"""
LOOKS = (0, 0, 0, 1, 2, 3, 4)


def anaesthetists() -> Ratings:
    item = np.repeat(np.arange(45), 7)
    code = np.array([int(it) - 1 for patient in PATIENTS.split() for it in patient])
    names = tuple(str(i + 1) for i in range(45))
    return Ratings(item, np.tile(LOOKS, 45), code, names, tuple("12345"), tuple("1234"))


def made_up(seed: int, *, people: int = 8, items: int = 400, labels: int = 3) -> tuple[Ratings, np.ndarray, np.ndarray]:
    """Ratings by people whose confusion is known, each item rated by about half of them."""
    chance = np.random.default_rng(seed)
    truth = chance.choice(labels, size=items, p=np.arange(labels, 0, -1) / sum(range(labels + 1)))
    skill = chance.uniform(0.55, 0.95, size=people)
    confusion = np.full((people, labels, labels), 0.0)
    for person, right in enumerate(skill):
        confusion[person] = np.full((labels, labels), (1 - right) / (labels - 1))
        np.fill_diagonal(confusion[person], right)
    codes = np.full((items, people), -1)
    for i in range(items):
        for person in np.flatnonzero(chance.random(people) < 0.6):
            codes[i, person] = chance.choice(labels, p=confusion[person, truth[i]])
    codes[(codes < 0).all(axis=1), 0] = 0
    return Ratings.from_matrix(codes, labels=tuple("abcdef"[:labels])), truth, confusion


def crowd_kit(ratings: Ratings):
    pytest.importorskip("crowdkit")
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    rows = pd.DataFrame({"task": ratings.item, "worker": ratings.annotator, "label": ratings.code})
    return DawidSkene(n_iter=500, tol=1e-10).fit(rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # crowd-kit meets a pandas that is newer than it
@pytest.mark.parametrize("ratings", [anaesthetists(), made_up(0)[0]], ids=["1979", "made up"])
def test_the_model_is_the_one_that_crowd_kit_finds(ratings):
    ours, theirs = dawid_skene(ratings, tolerance=1e-12), crowd_kit(ratings)
    labels = range(len(ratings.labels))
    assert ours.converged
    assert np.allclose(ours.probability, theirs.probas_.sort_index()[labels].to_numpy(), atol=1e-6)
    assert np.allclose(ours.prior, theirs.priors_.loc[labels].to_numpy(), atol=1e-7)
    for person in range(len(ratings.annotators)):
        errors = theirs.errors_.loc[person].reindex(labels, fill_value=0.0)[labels].to_numpy().T
        assert np.allclose(ours.confusion[person], errors, atol=1e-7)


def test_the_anaesthetists_of_1979_come_out_as_crowd_kit_has_them():
    model = dawid_skene(anaesthetists(), tolerance=1e-12)
    # From crowdkit.aggregation.DawidSkene(500, 1e-10) of crowd-kit 1.4.2 on the same table.
    assert np.allclose(model.prior, [0.399711, 0.466958, 0.088887, 0.044444], atol=1e-5)
    first = [[0.8893, 0.1107, 0, 0], [0.0637, 0.8729, 0.0635, 0], [0, 0, 1, 0], [0, 0, 0.3333, 0.6667]]
    assert np.allclose(model.confusion[0], first, atol=1e-4)
    assert (model.best[10], model.best[1], model.best[35]) == ("4", "3", "4")
    assert np.allclose(model.confusion.sum(axis=2), 1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_maximised_never_falls(seed, smoothing):
    ratings = made_up(seed, people=5, items=60, labels=4)[0]
    model = dawid_skene(ratings, smoothing=smoothing, rounds=200)
    gains = np.diff(model.likelihood)
    assert (gains >= -1e-9 * abs(model.likelihood[-1])).all()
    assert np.allclose(model.probability.sum(axis=1), 1)


def test_known_confusion_and_truth_are_found_again():
    ratings, truth, confusion = made_up(7, people=10, items=3000)
    model = dawid_skene(ratings)
    assert np.abs(model.confusion - confusion).max() < 0.06
    assert np.abs(model.accuracy() - confusion[:, 0, 0]).max() < 0.05
    majority = ratings.counts().argmax(axis=1)
    assert (model.probability.argmax(axis=1) == truth).mean() > (majority == truth).mean() > 0.8


def test_an_annotator_who_means_the_opposite_is_read_the_other_way_round():
    chance = np.random.default_rng(3)
    truth = chance.integers(0, 2, 300)
    wrong = chance.random((300, 5)) < 0.15
    codes = np.where(wrong, 1 - truth[:, None], truth[:, None])
    codes[:, 4] = 1 - codes[:, 4]
    model = dawid_skene(Ratings.from_matrix(codes, labels=("no", "yes")))
    assert model.accuracy()[4] < 0.25
    majority = codes.sum(axis=1) >= 3
    assert (model.probability.argmax(axis=1) == truth).mean() > (majority == truth).mean() + 0.02


def test_nothing_to_model_is_refused():
    empty = Ratings.from_matrix(np.full((3, 2), -1), labels=("a", "b"))
    with pytest.raises(UserError, match="no answers"):
        dawid_skene(empty)
    with pytest.raises(UserError, match="below 0"):
        dawid_skene(anaesthetists(), smoothing=-1)
