"""What a file of predictions may hold, and every way in which one is refused."""

import zipfile

import pytest

from challenge_case import answers, write_csv, write_jsonl
from davy.challenges.challenge import ChallengeTask
from davy.challenges.run_challenge import LIMITS, name_key
from davy.challenges.submission_file import SubmissionRefused, check_predictions
from davy.core import UserError
from davy.files.file_safety import check_contents

TASK = ChallengeTask("A", "Complaint", "complaint", ("no", "yes"), positive="yes")
SCORES = ChallengeTask("A", "Complaint", "complaint", ("no", "yes"), metric="auroc", kind="score", positive="yes")
RIGHT = answers("test", "A")
IDS = [key for key, _ in RIGHT]


def check(path, task=TASK):
    kind, packed = check_contents(path, path.name, LIMITS)
    assert not packed
    return check_predictions(path, kind, task, IDS)


def refusal(path, task=TASK) -> SubmissionRefused:
    with pytest.raises(SubmissionRefused) as error:
        check(path, task)
    return error.value


def test_csv_jsonl_and_a_zip_of_one_give_the_same_predictions_in_the_order_of_the_entries(tmp_path):
    one = check(write_csv(tmp_path / "p.csv", RIGHT))
    other = check(write_jsonl(tmp_path / "p.jsonl", list(reversed(RIGHT))))
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.write(tmp_path / "p.csv", "run/p.csv")
        archive.writestr("__MACOSX/run/._p.csv", b"x")
    third = check(tmp_path / "p.zip")
    assert one == other == third
    assert one.values == tuple(int(label == "yes") for _, label in RIGHT)


def test_the_columns_of_the_released_edos_files_are_taken(tmp_path):
    assert check(write_csv(tmp_path / "p.csv", RIGHT, "rewire_id,label_pred")).values


def test_faults_come_with_lines_and_the_first_ten_examples(tmp_path):
    rows = [*RIGHT[:20], *(("nobody-" + str(n), "yes") for n in range(15)), RIGHT[0], (RIGHT[20][0], "perhaps")]
    error = refusal(write_csv(tmp_path / "p.csv", rows))
    faults = {fault.kind: fault for fault in error.faults}
    assert set(faults) == {"missing", "unknown", "doubled", "label"}
    assert faults["unknown"].count == 15
    assert len(faults["unknown"].examples) == 10
    assert faults["unknown"].examples[0] == (22, "nobody-0")
    assert faults["doubled"].examples == ((37, RIGHT[0][0]),)
    assert faults["label"].examples == ((38, "perhaps"),)
    assert faults["missing"].count == 20
    assert "line 38: 'perhaps'" in error.message


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e999", "", "high", "1_0"])
def test_a_score_that_is_no_finite_number_is_refused(tmp_path, value):
    rows = [(key, value if place == 3 else "0.5") for place, key in enumerate(IDS)]
    error = refusal(write_csv(tmp_path / "p.csv", rows, "id,score"), SCORES)
    assert [fault.kind for fault in error.faults] == ["score"]
    assert error.faults[0].examples == ((5, value),)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_that_only_python_reads_is_refused(tmp_path, word):
    (tmp_path / "p.jsonl").write_text(f'{{"id": "{IDS[0]}", "score": {word}}}\n')
    assert "Line 1 can't be read as JSON" in refusal(tmp_path / "p.jsonl", SCORES).message


def test_utf_16_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(write_csv(path, RIGHT).read_text().encode("utf-16"))
    with pytest.raises(UserError, match="UTF-8"):
        check(path)
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.write(path, "p.csv")
    assert "UTF-16" in refusal(tmp_path / "p.zip").message


def test_a_formula_is_no_label(tmp_path):
    rows = [(IDS[0], "=HYPERLINK(1)"), *RIGHT[1:]]
    assert refusal(write_csv(tmp_path / "p.csv", rows)).faults[0].examples == ((2, "=HYPERLINK(1)"),)


def test_far_too_many_rows_are_refused_after_a_few(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("id,label\n" + "x,yes\n" * 1_000_000)
    assert "more than 1,080 rows; the task has 40 entries" in refusal(path).message


def test_a_bomb_a_path_that_leads_out_and_a_zip_of_several_are_refused(tmp_path):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("p.csv", b"0" * 70_000_000)
    with pytest.raises(UserError, match=r"unpack|larger|times"):
        check(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../p.csv", "id,label\n")
    with pytest.raises(UserError, match="leads out of its folder"):
        check(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "id,label\n")
        archive.writestr("b.csv", "id,label\n")
    assert "holds 2 files" in refusal(path).message
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run.py", "print()")
    assert "holds a .py file" in refusal(path).message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("post,answer\n1,yes\n", "needs the columns id and label; it has post, answer"),
        ('id,label\n"1,yes\n', "can't be read as CSV"),
        ("id,label\n1,yes,no\n", "Line 2 has 3 cells; the first line has 2 columns"),
    ],
)
def test_a_table_that_is_not_one_says_on_which_line(tmp_path, text, words):
    (tmp_path / "p.csv").write_text(text)
    assert words in refusal(tmp_path / "p.csv").message


def test_a_line_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "p.csv").write_bytes(b"id,label\ntest-0,yes\ntest-1,n\xf6\n")
    assert "Line 3 is not UTF-8" in refusal(tmp_path / "p.csv").message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lamplighters", "LAMPLIGHTERS"),
        ("Lamplighters", "Lаmplighters"),
        ("Lamplighters", "Ｌａｍｐ　ｌｉｇｈｔｅｒｓ"),
        ("Lamplighters", "Lamp\u200blighters"),
        ("Team 10", "Team lO"),
        ("müde-Katzen", "mude katzen"),
    ],
)
def test_names_that_look_alike_have_one_key(one, other):
    assert name_key(one) == name_key(other)


def test_different_names_have_different_keys_and_signs_alone_are_a_name():
    assert name_key("Lamplighters") != name_key("Lamp Fighters")
    assert name_key("🦉🦉") != name_key("🐝🐝") != ""
