"""Cells that look empty: a label beside one other value, no answer beside two or more."""

import polars as pl
import pytest
from typer.testing import CliRunner

import davy
from davy.core.errors import UserError
from davy.core.reporter import Reporter
from davy.corpus.gold import answer_columns, settled_answers
from davy.shell.app import app


class Notes(Reporter):
    """A reporter that keeps what it is told."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def note(self, line):
        self.lines.append(line)


def posts(*labels, copies=1):
    cells = [label for label in labels for _ in range(copies)]
    texts = [f"the {cell} text {n}" for n, cell in enumerate(cells)]
    return pl.DataFrame({"id": list(map(str, range(len(cells)))), "text": texts, "label": cells})


def counts(frame, question, **options):
    notes = Notes()
    scheme, columns = answer_columns(frame, [f"{question}=label"], reporter=notes, **options)
    (gold,) = settled_answers(frame, scheme, columns)
    return gold.counts, notes.lines[0]


@pytest.mark.parametrize("cell", ["none", "None", "null", "NA", "n/a", "nan", "-"])
def test_beside_the_yes_a_cell_that_looks_empty_is_the_no(cell):
    found, told = counts(posts("hateful", cell, copies=3), "hate")
    assert found == {"not hateful": 3, "hateful": 3}
    assert told == f"Answers to 'hate': 3 not hateful, 3 hateful, 0 left out (3 × {cell!r} read as 'not hateful')."


def test_beside_one_label_that_no_scheme_knows_it_is_a_label_and_the_other_one_is_the_yes():
    frame = posts("abuse", "none", copies=2)
    scheme, _ = answer_columns(frame, ["kind=label"])
    assert scheme.question("kind").positive == "abuse"
    assert counts(frame, "kind")[0] == {"abuse": 2, "none": 2}


def test_beside_two_labels_it_is_no_answer_and_is_counted():
    found, told = counts(posts("abuse", "benign", "none"), "kind")
    assert found == {"abuse": 1, "benign": 1}
    assert told == "Answers to 'kind': 1 abuse, 1 benign, 1 left out (1 × 'none' no answer)."


def test_label_none_makes_it_a_label_beside_two_others():
    found, told = counts(posts("abuse", "benign", "none"), "kind", label_none=True)
    assert found == {"abuse": 1, "benign": 1, "none": 1}
    assert told == "Answers to 'kind': 1 abuse, 1 benign, 1 none, 0 left out."


def test_label_none_is_refused_where_a_given_scheme_has_no_such_label():
    with pytest.raises(UserError, match="--label-none: 'null' is no label of 'category'"):
        answer_columns(posts("derogation", "animosity", "null"), ["category=label"], "edos", label_none=True)


def test_a_missing_number_is_no_answer_beside_one_number():
    frame = posts("1", "1", "0").with_columns(label=pl.Series([1.0, float("nan"), 0.0]))
    found, _ = counts(frame, "hate")
    assert found == {"not hateful": 1, "hateful": 1}


def test_none_of_these_stays_an_answer_to_a_question_of_several_labels():
    found, told = counts(posts("city", "city|sea", "none", "null"), "topic")
    assert found == {"city": 2, "sea": 1}
    assert told == "Answers to 'topic': 2 city, 1 sea, 1 left out (1 × 'null' no answer)."


def test_a_detector_learns_hate_from_a_file_that_says_none(tmp_path):
    frame = posts("hate", "none", copies=20)
    detector = davy.train(frame, gold={"hate": "label"}, kind="tfidf")
    assert davy.evaluate(detector, frame, gold={"hate": "label"}).frame["n"].max() == 40
    frame.write_csv(tmp_path / "posts.csv")
    command = ["train", str(tmp_path / "posts.csv"), "--gold", "hate=label", "--out", str(tmp_path / "model")]
    result = CliRunner().invoke(app, [*command, "--kind", "tfidf"])
    assert result.exit_code == 0
    first = result.stderr.splitlines()[0]
    assert first.startswith("Answers to 'hate': 20 not hateful, 20 hateful, 0 left out")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (posts("hateful", "hateful"), "All answers to 'hate' are 'hateful': one kind of answer can't be learnt"),
        (posts("hateful"), "one kind of answer"),
        (posts("hateful", "not hateful").with_columns(text=pl.lit(" ")), "All 2 texts are empty"),
    ],
)
def test_what_can_not_be_learnt_is_refused(frame, message):
    with pytest.raises(UserError, match=message):
        davy.train(frame, gold={"hate": "label"})


def test_labels_of_ones_own_under_the_name_of_a_question_that_ships():
    detector = davy.train(posts("red", "blue", copies=10), gold={"target": "label"})
    (question,) = detector.scorer.questions
    assert (question.label_names, question.under) == (("blue", "red"), None)


@pytest.mark.parametrize(
    "verb",
    [
        lambda frame: davy.train(frame, gold={"hate": "label"}),
        lambda frame: davy.evaluate("majority@hate", frame, gold={"hate": "label"}),
        lambda frame: davy.split(frame, "50/50"),
        lambda frame: davy.clean(frame, "edos"),
    ],
)
def test_a_repeated_id_in_a_frame_is_refused(verb):
    frame = posts("hateful", "not hateful", copies=3).with_columns(id=pl.Series(list("abcade")))
    with pytest.raises(UserError, match="id 'a' is in rows 0 and 3"):
        verb(frame)
