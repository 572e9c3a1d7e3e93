"""Validating a suite with people, as §2.4 of the paper describes it: issue, answer, review, replace, issue again."""

import polars as pl
import pytest

from davy import schemes
from davy.core import UserError
from davy.reviews import suite_validation
from davy.testing import suites

QUESTION = schemes.load("hate").question("hate")


def answered(suite, who, wrong=(), unrealistic=()):
    """A file that an annotator filled in; `wrong` and `unrealistic` are texts."""
    cases = {case.id: case for case in suite.cases}
    rows = []
    for row in suite_validation.issue_cases(suite, who).iter_rows(named=True):
        case = cases[row["case_id"]]
        label = (
            case.expected if case.text not in wrong else next(each for each in suite.labels if each != case.expected)
        )
        rows.append({**row, "label": label, "unrealistic": "yes" if case.text in unrealistic else ""})
    return suite_validation.read_answers(pl.DataFrame(rows), who, QUESTION, f"{who}.csv")


def test_cases_are_issued_in_an_own_order_and_without_the_right_label(small):
    ann, ben = suite_validation.issue_cases(small, "ann"), suite_validation.issue_cases(small, "ben")
    assert ann.columns == list(suite_validation.COLUMNS)
    assert sorted(ann["case_id"]) == sorted(case.id for case in small.cases)
    assert ann["case_id"].to_list() != ben["case_id"].to_list()
    assert suite_validation.issue_cases(small, "ann").equals(ann)
    assert set(ann["label"]) == {""}


def test_disagreements_and_flags_are_to_be_looked_at_and_decided(small):
    given = [
        *answered(small, "ann"),
        *answered(small, "ben", wrong=["Bakers came by"]),
        *answered(small, "cay", unrealistic=["Hooray for 🍳"]),
    ]
    seen = suite_validation.review_answers(small, given)
    assert {row["text"] for row in seen.rows} == {"Bakers came by", "Hooray for 🍳"}
    assert (seen.answered, seen.open, seen.stale) == (17, 2, 0)
    assert seen.rows[0]["ben"] == "hateful"
    assert seen.rows[1]["unrealistic"] == "cay"
    hashes = {row["text"]: (row["case_id"], row["text_hash"]) for row in seen.rows}
    decided = {hashes["Bakers came by"]: "annotator", hashes["Hooray for 🍳"]: "case"}
    seen = suite_validation.review_answers(small, given, decided)
    assert seen.open == 0
    assert seen.replace == {"s-1": [hashes["Hooray for 🍳"][0]]}


def test_twins_are_to_be_looked_at_where_people_disagree_or_leave_the_original_s_label(tmp_path):
    path = tmp_path / "twins.yaml"
    path.write_text("""\
name: twins
version: 1
sets: {typo: {test: INV}, praise: {test: DIR, expect: lower}}
functionalities:
  - name: f
    label: hateful
    templates:
      - {id: t, text: "a bad thing", typo: ["a bda thing", "a bad thnig"], praise: ["much loved", "somewhat loved"]}
""")
    suite = suites.load(path)
    labels = {
        "a bad thing": ("hateful", "hateful"),
        "a bda thing": ("hateful", "hateful"),
        "a bad thnig": ("not hateful", "not hateful"),
        "much loved": ("not hateful", "not hateful"),
        "somewhat loved": ("hateful", "not hateful"),
    }
    given = [
        suite_validation.ValidationAnswer(case.id, who, label, False, "", suite_validation.text_hash(case))
        for case in suite.cases
        for who, label in zip(("ann", "ben"), labels[case.text], strict=True)
    ]
    assert [row["text"] for row in suite_validation.review_answers(suite, given).rows] == [
        "a bad thnig",
        "somewhat loved",
    ]


def test_randolph_s_kappa_is_the_worked_example(small):
    # 17 cases, 3 annotators, one disagreement 2 to 1: observed agreement (16 + 1/3) / 17, chance 1/2 for two labels.
    given = [*answered(small, "ann"), *answered(small, "ben", wrong=["Bakers came by"]), *answered(small, "cay")]
    observed = (16 + 1 / 3) / 17
    assert suite_validation.review_answers(small, given).kappa.value == pytest.approx((observed - 0.5) / 0.5)


def test_a_mended_template_is_issued_again_and_old_answers_to_it_do_not_count(small, small_file):
    given = [one for who in ("ann", "ben", "cay") for one in answered(small, who)]
    assert len(suite_validation.issue_cases(small, "ann", given)) == 0
    small_file.write_text(small_file.read_text("utf-8").replace("Hooray for", "Three cheers for"), encoding="utf-8")
    mended = suites.load(small_file)
    again = suite_validation.issue_cases(mended, "ann", given)
    assert set(again["text"]) == {"Three cheers for 🥖", "Three cheers for 🍳"}
    seen = suite_validation.review_answers(mended, given)
    assert (seen.answered, seen.stale) == (15, 6)


def test_wrong_cells_are_named_with_file_and_row(small):
    rows = suite_validation.issue_cases(small, "ann")
    with pytest.raises(UserError, match=r"ann.csv, row 2: 'nasty' is not a label"):
        suite_validation.read_answers(rows.with_columns(label=pl.lit("nasty")), "ann", QUESTION, "ann.csv")
    with pytest.raises(UserError, match=r"row 2: unrealistic is 'perhaps'"):
        suite_validation.read_answers(rows.with_columns(unrealistic=pl.lit("perhaps")), "ann", QUESTION, "ann.csv")
    with pytest.raises(UserError, match="no column 'text_hash'"):
        suite_validation.read_answers(rows.drop("text_hash"), "ann", QUESTION, "ann.csv")
    with pytest.raises(UserError, match=r"row 2: fault is 'me'"):
        suite_validation.read_decisions(rows.with_columns(fault=pl.lit("me")), "review.csv")
