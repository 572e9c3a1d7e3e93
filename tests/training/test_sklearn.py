"""Davy in scikit-learn: its own checks, grid searches, pipelines, weights, and folds without near duplicates."""

import random

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

import davy
from davy.sklearn import DavyClassifier, DavyScores, GroupedKFold

EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": "rarity of pieces counts texts, not their weights",
}
"""Checks of scikit-learn that a text classifier by TF-IDF can't pass, each with the reason."""


class RowsAsTexts(DavyClassifier):
    """scikit-learn's checks give rows of numbers: each becomes a text with a word for each number."""

    def fit(self, X, y, sample_weight=None):
        X = validate_data(self, X) if y is None else validate_data(self, X, y)[0]
        return super().fit(texts_of(X), y, sample_weight)

    def predict_proba(self, X):
        check_is_fitted(self, "detector_")
        return super().predict_proba(texts_of(validate_data(self, X, reset=False)))


def texts_of(rows):
    return [
        " ".join(f"c{i}{'p' if value > 0 else 'n'}{'x' * min(9, int(abs(value) * 2))}" for i, value in enumerate(row))
        for row in np.asarray(rows, dtype=float)
    ]


def posts(n=120, seed=3):
    chance = random.Random(seed)
    words = {0: "sun tea garden walk quiet", 1: "storm mud engine noise crash"}
    labels = [chance.randrange(2) for _ in range(n)]
    return [" ".join(chance.choices(words[label].split(), k=6)) + f" {i}" for i, label in enumerate(labels)], labels


@pytest.mark.filterwarnings("ignore")
def test_what_scikit_learn_checks_holds_but_for_a_listed_check():
    done = check_estimator(RowsAsTexts(), expected_failed_checks=EXPECTED_TO_FAIL, on_fail=None)
    failed = {result["check_name"] for result in done if result["status"] == "failed"}
    expected = {result["check_name"] for result in done if result["status"] == "xfail"}
    assert (failed, expected) == (set(), set(EXPECTED_TO_FAIL))
    assert sum(result["status"] == "passed" for result in done) > 50


def test_grid_search_and_cross_validation_run_on_texts():
    texts, labels = posts()
    search = GridSearchCV(DavyClassifier(), {"strength": [0.5, 4.0], "class_weight": ["balanced", None]}, cv=3)
    assert search.fit(texts, labels).best_score_ > 0.9
    assert cross_val_score(DavyClassifier(), texts, labels, cv=GroupedKFold(3)).mean() > 0.9


def test_a_text_of_no_weight_counts_for_nothing():
    texts, labels = posts()
    wrong = [1 - label for label in labels]
    weights = [1.0] * len(texts) + [0.0] * len(texts)
    learnt = DavyClassifier(class_weight=None).fit(texts + texts, labels + wrong, weights)
    assert learnt.score(texts, labels) == 1.0


def test_a_label_with_more_weight_is_predicted_more_often():
    texts, labels = posts()
    noisy = [label if i % 3 else 1 - label for i, label in enumerate(labels)]
    shares = [
        DavyClassifier(class_weight={0: 1.0, 1: weight}, strength=0.1).fit(texts, noisy).predict(texts).mean()
        for weight in (0.2, 1.0, 5.0)
    ]
    assert shares[0] < shares[1] < shares[2]


@pytest.mark.parametrize(
    ("settings", "weights", "message"),
    [
        ({"kind": "majority"}, [1.0, 1.0], "sample_weight is for kind='tfidf'"),
        ({"kind": "majority", "class_weight": {0: 1, 1: 2}}, None, "A dict as class_weight is for kind='tfidf'"),
    ],
)
def test_weights_that_a_kind_can_not_use_are_refused(settings, weights, message):
    with pytest.raises(ValueError, match=message):
        DavyClassifier(**settings).fit(["one", "two"], [0, 1], weights)


def test_a_detectors_scores_are_features_of_a_pipeline():
    texts, labels = posts()
    rows = [{"text": text, "kind.gold": ("calm", "loud")[label]} for text, label in zip(texts, labels, strict=True)]
    detector = davy.train(rows)
    scores = DavyScores(detector)
    assert make_pipeline(scores, LogisticRegression()).fit(texts, labels).score(texts, labels) == 1.0
    fitted = scores.fit(texts)
    assert fitted.get_feature_names_out().tolist() == ["kind=calm", "kind=loud"]
    assert np.allclose(fitted.transform(texts), detector.predict_proba(texts))


def near_copies(n=40):
    texts, labels = posts(n, seed=5)
    longer = [f"{text} and then we all went home by the last train of that long evening number {i}"
              for i, text in enumerate(texts)]  # fmt: skip
    return [*longer, *(text + " !" for text in longer)], [*labels, *labels]


def test_near_duplicates_are_never_in_two_folds():
    texts, labels = near_copies()
    half = len(texts) // 2
    fold_of = np.empty(len(texts))
    for fold, (_, test) in enumerate(GroupedKFold(4).split(texts, labels)):
        fold_of[test] = fold
    assert (fold_of[:half] == fold_of[half:]).all()


def test_a_fold_does_not_depend_on_the_order_of_the_rows():
    texts, labels = near_copies()
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = [texts[row] for row in order], [labels[row] for row in order]
    for (_, first), (_, second) in zip(
        GroupedKFold(3).split(texts, labels), GroupedKFold(3).split(*shuffled), strict=True
    ):
        assert {texts[row] for row in first} == {shuffled[0][row] for row in second}


def test_labels_are_spread_as_evenly_as_scikit_learn_spreads_them():
    texts, labels = posts(600)
    groups = [f"author {i % 150}" for i in range(600)]
    spread = {}
    for name, folds in {"ours": GroupedKFold(5), "theirs": StratifiedGroupKFold(5)}.items():
        tests = [test for _, test in folds.split(np.array(texts), labels, groups)]
        assert sorted(row for test in tests for row in test) == list(range(600))
        assert len({(groups[row], fold) for fold, test in enumerate(tests) for row in test}) == 150
        spread[name] = np.std([np.mean([labels[row] for row in test]) for test in tests])
    assert spread["ours"] <= spread["theirs"] + 0.02


def test_too_few_groups_for_the_folds_are_refused():
    with pytest.raises(davy.UserError, match="3 texts are 1 groups of near duplicates, too few for 2 folds"):
        list(GroupedKFold(2).split(["the same", "the same", "the same"]))


def test_pandas_comes_back_as_pandas_with_its_index_and_types():
    frame = pd.DataFrame(
        {
            "body": ["a nice day", "another day in town", "a nice day", "the last one of all"],
            "likes": pd.array([1, None, 3, 4], dtype="Int64"),
            "board": pd.Categorical(["a", "b", "a", "b"]),
        },
        index=[7, 9, 11, 13],
    )
    cleaned = davy.clean(frame, "edos")
    assert cleaned.index.tolist() == [7, 9, 13]
    assert cleaned.dtypes.equals(frame.dtypes)
    train, test = davy.split(frame, "50/50")
    assert sorted([*train.index, *test.index]) == [7, 9, 11, 13]
    assert davy.score(frame, "majority@hate", text="body").index.tolist() == [7, 9, 11, 13]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: davy.read("nothing-here.csv"), FileNotFoundError),
        (lambda: davy.load("no-such-model"), KeyError),
        (lambda: davy.score([{"text": "x"}], "majority@hate", text="body"), KeyError),
        (lambda: davy.split([{"text": "x"}], "60-20-20"), ValueError),
    ],
)
def test_errors_are_those_that_python_users_catch(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, davy.UserError)
    assert str(caught.value) == caught.value.message
