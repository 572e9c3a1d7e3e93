"""Robustness tests made from labelled posts."""

from collections import Counter

import polars as pl
import pytest

from davy import schemes
from davy.core import UserError
from davy.testing.suites.robustness_tests import AS_WRITTEN, robustness
from davy.text.perturb import CHANGES

QUESTION = schemes.load("hate").question("hate")


def posts(n=30):
    texts = [f"The baker sold loaf number {i} to everybody in town" for i in range(n)]
    labels = ["1" if i % 3 == 0 else "0" for i in range(n)]
    return pl.DataFrame({"id": [f"p{i}" for i in range(n)], "text": texts, "label": labels})


def test_every_post_is_there_as_written_and_once_for_each_change():
    suite = robustness(posts(), QUESTION, label="label")
    found = Counter(case.functionality for case in suite.cases)
    assert found == {AS_WRITTEN: 30, **dict.fromkeys(CHANGES, 30)}
    by_id = {case.id: case for case in suite.cases}
    for case in suite.cases:
        if case.functionality == AS_WRITTEN:
            assert (case.test, case.expected) == ("MFT", case.set)
        else:
            assert (case.test, case.expected) == ("INV", "same")
            assert by_id[case.pair].text != case.text
            assert by_id[case.pair].set == case.set
    assert suite.digest == robustness(posts(), QUESTION, label="label").digest
    assert suite.digest != robustness(posts(), QUESTION, label="label", seed=1).digest


def test_a_sample_is_drawn_evenly_from_both_labels():
    suite = robustness(posts(90), QUESTION, label="label", most=20)
    found = Counter(case.expected for case in suite.cases if case.functionality == AS_WRITTEN)
    assert found == {"hateful": 10, "not hateful": 10}


def test_a_change_that_has_nothing_to_work_on_makes_no_case():
    frame = pl.DataFrame({"id": ["a"], "text": ["🙂 !!"], "label": ["0"]})
    suite = robustness(frame, QUESTION, label="label")
    assert [case.functionality for case in suite.cases] == [AS_WRITTEN, "neutral emoji"]


def test_a_label_that_the_question_does_not_know_is_named_with_its_row():
    with pytest.raises(UserError, match=r"Row 1 has 'maybe' in column 'label'.*--gold"):
        robustness(posts().with_columns(label=pl.lit("maybe")), QUESTION, label="label")
    with pytest.raises(UserError, match="No post has both"):
        robustness(posts().with_columns(label=pl.lit(None, dtype=pl.String)), QUESTION, label="label")
