"""The file that makes a challenge: what it says, and every mistake in it with its line."""

import json
import zipfile
from datetime import UTC, datetime, timedelta

import pytest

from challenge_case import CHALLENGE, START, make, write_files
from davy.challenges.challenge_creation import create_challenge
from davy.challenges.challenge_file import parse_moment, parse_plan, read_plan
from davy.challenges.store import challenges
from davy.core import UserError


def parse(text: str):
    return parse_plan(text.encode(), "c.yaml", at=START)


def test_a_file_says_tasks_phases_and_what_is_hidden():
    plan = parse(CHALLENGE)
    assert [task.name for task in plan.tasks] == ["A", "B"]
    practice, test = plan.phases
    assert practice.counts == "best"
    assert not practice.survey
    assert test.survey  # hidden labels ask for the survey
    assert (test.limit, test.board) == (2, "organisers")


def test_a_task_that_comes_after_another_opens_when_that_has_closed_whatever_its_own_date():
    plan = parse(CHALLENGE)
    test = plan.phases[1]
    assert test.windows["B"].opens == datetime(2027, 2, 5, tzinfo=UTC)
    assert test.window(plan.tasks[1]).opens == datetime(2027, 2, 10, tzinfo=UTC)
    assert plan.phases[0].window(plan.tasks[1]).opens == START  # its labels are public, so nothing is given away


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        ("labels: hidden", "labels: secret", "c.yaml:9: `data`, 'test': labels is 'secret'"),
        ("name: mill-valley", "nam: mill-valley", "c.yaml:2: 'nam' is not known here"),
        ("limit: 2\n", "limit: none\n", "should be a whole number"),
        ("limit: 2\n", "limit: 0\n", "from 1 to 10000"),
        ("after: [A]", "after: [C]", "comes after 'C', which is no task before it"),
        ("data: test\n", "data: exam\n", "asks about the data 'exam'"),
        ("board: organisers", "board: nobody", "board is 'nobody'"),
        ("2027-02-10T00:00+00:00", "2027-01-10", "it closes on 2027-01-10 before it opens"),
        ("2027-02-20T00:00+00:00", "2027-02-08", "'B' closes before A, which it comes after"),
        ("closes: 2027-03-01", "closes: soon", "'soon' is no date"),
        ('labels: ["no", "yes"]', 'labels: ["no"]', "needs two different labels"),
        ('positive: "yes"', "positive: maybe", "'maybe' is not among its labels"),
        ("question: about,", "question: about, metric: f9,", "There is no metric 'f9'"),
        ("  - {name: practice", "  - {name: a/b", "can't name a phase"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(wrong: str, right: str, words: str):
    assert wrong in CHALLENGE
    with pytest.raises(UserError) as error:
        parse(CHALLENGE.replace(wrong, right, 1))
    assert error.value.message.startswith("c.yaml:")
    assert words in error.value.message


def test_moments_are_dates_times_or_days_from_now():
    assert parse_moment("2027-01-31", at=START) == datetime(2027, 1, 31, tzinfo=UTC)
    assert parse_moment("2027-01-31", at=START, end=True) == datetime(2027, 2, 1, tzinfo=UTC)
    assert parse_moment("2027-01-31T12:00+02:00", at=START) == datetime(2027, 1, 31, 10, tzinfo=UTC)
    assert parse_moment("+14d", at=START) == START + timedelta(days=14)


def test_a_task_that_gives_anothers_labels_away_must_come_after_it(store, tmp_path):
    write_files(tmp_path)
    path = tmp_path / "c.yaml"
    path.write_text(CHALLENGE.replace(", after: [A]", ""))
    with pytest.raises(UserError, match=r"'B' asks about a part of the posts of 'A' in 'test'.*after: \[A\]"):
        create_challenge(store, read_plan(path, at=START), tmp_path, by="shell", organiser=None)
    with store.read() as db:
        assert challenges.list_challenges(db) == []


def test_a_label_outside_the_task_and_a_file_outside_the_folder_are_refused(store, tmp_path):
    write_files(tmp_path / "c")
    plan = read_plan(tmp_path / "c" / "mill-valley.yaml", at=START)
    test = tmp_path / "c" / "test.csv"
    test.write_text(test.read_text().replace(",weather", ",storms"))
    with pytest.raises(UserError, match="has the label 'storms', which task 'B' does not list"):
        create_challenge(store, plan, tmp_path / "c", by="shell", organiser=None)
    (tmp_path / "c" / "mill-valley.yaml").write_text(CHALLENGE.replace("file: test.csv", "file: ../secret.csv"))
    with pytest.raises(UserError, match="outside the challenge's folder"):
        create_challenge(
            store, read_plan(tmp_path / "c" / "mill-valley.yaml", at=START), tmp_path / "c", by="shell", organiser=None
        )


def test_a_challenge_is_kept_whole(store, tmp_path):
    made = make(store, tmp_path)
    with store.read() as db:
        kept = challenges.get(db, "mill-valley")
        sets = challenges.data_sets(db, "mill-valley")
        assert kept == made
        assert kept.phases[1].windows == made.phases[1].windows
        assert (sets["train"].labels_public, sets["test"].labels_public) == (True, False)
        assert len(challenges.entry_ids(db, "mill-valley", "test", "A")) == 40
        assert len(challenges.entry_ids(db, "mill-valley", "test", "B")) == 26
        with pytest.raises(UserError, match="hidden"):
            challenges.labelled(db, "mill-valley", "test")


def test_the_preset_of_hateful_memes_ranks_by_auroc_in_two_phases(tmp_path, monkeypatch, capsys):
    from davy.shell.app import run

    monkeypatch.setenv("DAVY_DATABASE", f"sqlite:///{tmp_path / 'davy.sqlite'}")
    for number, part in enumerate(("train", "dev_seen", "test_seen", "test_unseen")):
        rows = [
            {"id": 100 * number + n, "img": f"img/{number}{n}.png", "label": n % 2, "text": f"meme {n} of {part}"}
            for n in range(8)
        ]
        (tmp_path / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(["challenge", "create", "hateful-memes", "--data", str(tmp_path), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert {task["name"]: task["metric"] for task in made["tasks"]} == {"AUROC": "auroc", "accuracy": "accuracy"}
    assert run(["challenge", "kit", "hateful-memes", "--out", str(tmp_path / "kit.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "kit.zip") as kit:
        samples = {name: kit.read(name).decode().splitlines()[0] for name in kit.namelist() if "sample/" in name}
    assert set(samples.values()) == {"id,score", "id,label"}
    (tmp_path / "test_unseen.jsonl").unlink()
    assert run(["challenge", "create", "hateful-memes", "--data", str(tmp_path), "--name", "again"]) == 2
    assert "lack the split 'test_unseen'" in capsys.readouterr().err
