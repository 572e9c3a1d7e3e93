"""A challenge from its first submission to a frozen board, in the store: limits, clocks, secrets, ranks."""

import json
import zipfile
from dataclasses import replace
from datetime import timedelta

import pytest
from sklearn.metrics import f1_score

from challenge_case import START, SURVEY, add_team, answers, make, request, rows, write_csv
from davy.annotation.project.store import withdrawals
from davy.challenges import run_challenge as action
from davy.challenges.boards import board_csv
from davy.challenges.challenge_baselines import BaselineFile, add_baselines
from davy.challenges.challenge_kit import entry_lines, write_kit
from davy.challenges.run_challenge import RANK_BOARD, SCORE_SUBMISSION, name_key
from davy.challenges.store import challenges, submissions, teams
from davy.challenges.submission_file import SubmissionRefused
from davy.core import UserError
from davy.jobs import store as jobs
from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker
from davy.people.store import personal_data, users
from davy.shell.app import run
from davy.store import events, open_store

CHALLENGE_JOBS = {kind: job_functions(long=False)[kind] for kind in (SCORE_SUBMISSION, RANK_BOARD)}


@pytest.fixture
def challenge(store, tmp_path):
    return make(store, tmp_path / "files")


def work(store) -> None:
    """Run what waits."""
    with JobWorker(store, CHALLENGE_JOBS, once=True) as worker:
        worker.join()


def send(store, tmp_path, team, by, wrong=0, *, phase="test", task="A", day=32.0, **more):
    data = {"test": "test", "practice": "train"}[phase]
    path = write_csv(tmp_path / "p.csv", answers(data, task, wrong))
    return action.take_submission(store, path, request(team, by, phase=phase, task=task, day=day, **more))


def test_a_submission_is_scored_in_a_job_and_its_figure_is_that_of_scikit_learn(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    sent = send(store, tmp_path, team, captain, wrong=7)
    assert sent.state == "waiting"
    work(store)
    with store.read() as db:
        scored = submissions.get(db, sent.id)
        lines = [line.line for line in jobs.log_lines(db, scored.job)]
        job = jobs.get(db, scored.job)
    gold = [row["complaint"] for row in rows("test")]
    said = [label for _, label in answers("test", "A", 7)]
    assert scored.state == "scored"
    assert scored.figure["value"] == pytest.approx(f1_score(gold, said, average="macro"), abs=1e-12)
    assert scored.figure["low"] < scored.figure["value"] < scored.figure["high"]
    assert lines[0] == "Read 40 predictions of task A."
    assert str(scored.figure["value"])[:5] not in json.dumps([lines, job.result])  # the board is private


def test_a_team_has_two_submissions_in_test_and_a_refused_file_is_none(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    broken = write_csv(tmp_path / "broken.csv", answers("test", "A")[1:])
    for _ in range(3):
        with pytest.raises(SubmissionRefused, match="ids of the task that the file lacks"):
            action.take_submission(store, broken, request(team, captain))
    send(store, tmp_path, team, captain)
    send(store, tmp_path, team, captain, wrong=3)
    with pytest.raises(SubmissionRefused, match="has used its 2 submissions for task A"):
        send(store, tmp_path, team, captain)
    send(store, tmp_path, team, captain, task="B", day=41)  # each task has its own


def test_one_second_after_the_deadline_is_too_late_and_at_the_opening_is_in_time(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    closes = challenge.phases[1].windows["A"].closes
    path = write_csv(tmp_path / "p.csv", answers("test", "A"))
    late = replace(request(team, captain), at=closes + timedelta(seconds=1))
    for moment in (late, replace(late, at=closes)):
        with pytest.raises(SubmissionRefused, match="closed on 2027-02-10"):
            action.take_submission(store, path, moment)
    early = replace(late, at=START + timedelta(days=31, microseconds=-1))
    with pytest.raises(SubmissionRefused, match="opens on 2027-02-01"):
        action.take_submission(store, path, early)
    action.take_submission(store, path, replace(late, at=closes - timedelta(microseconds=1)))


def test_posts_of_b_come_out_only_after_a_has_closed_also_when_a_is_prolonged(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    during, after = START + timedelta(days=36), START + timedelta(days=41)
    with store.read() as db:
        assert len(list(entry_lines(db, challenge, "test", "A", at=during))) == 40
        with pytest.raises(UserError, match="has not been released"):
            list(entry_lines(db, challenge, "test", "B", at=during))
        assert len(list(entry_lines(db, challenge, "test", "B", at=after))) == 26
        with pytest.raises(UserError, match="has not been released"):
            list(entry_lines(db, challenge, "test", None, at=after))
    with pytest.raises(SubmissionRefused, match="opens on 2027-02-10"):
        send(store, tmp_path, team, captain, task="B", day=36)
    phase = challenge.phases[1]
    longer = {**phase.windows, "A": replace(phase.windows["A"], closes=START + timedelta(days=45))}
    with store.write() as db:
        challenges.change_phase(db, replace(phase, windows=longer), by="shell", what="challenge dates changed")
        changed = challenges.get(db, "mill-valley")
        with pytest.raises(UserError, match="has not been released"):
            list(entry_lines(db, changed, "test", "B", at=after))


def test_the_kit_has_no_hidden_label_and_no_unreleased_post(store, challenge, tmp_path):
    write_kit(store, "mill-valley", tmp_path / "kit.zip", at=START + timedelta(days=33))
    with zipfile.ZipFile(tmp_path / "kit.zip") as archive:
        names = archive.namelist()
        kit = {name: archive.read(name).decode() for name in names}
    assert "data/test-A.jsonl" in names
    assert "data/test-B.jsonl" not in names
    assert all(set(json.loads(line)) == {"id", "text"} for line in kit["data/test-A.jsonl"].splitlines())
    assert json.loads(kit["data/train.jsonl"].splitlines()[1])["A"] == "yes"
    path = tmp_path / "sample.csv"
    path.write_text(kit["sample/test-A.csv"])
    team, captain = add_team(store, "Lamplighters")
    action.take_submission(store, path, request(team, captain))


def test_only_the_captain_sends_and_a_team_left_out_is_told(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    with store.write() as db:
        other = users.add(db, login="other", name="Other", role="annotator", by="shell")
        teams.accept_rules(db, "mill-valley", other.id)
        teams.invite(db, team, "OTHER", by=captain)
        teams.join(db, team, other)
    with pytest.raises(SubmissionRefused, match="One account sends for a team"):
        send(store, tmp_path, team, other.id)
    with store.write() as db:
        teams.hand_over(db, team, other.id, by=captain)
    send(store, tmp_path, team, other.id)
    with store.write() as db:
        teams.set_withdrawn(db, team, withdrawn=True, by="shell")
    with pytest.raises(SubmissionRefused, match="left this team out"):
        send(store, tmp_path, team, other.id)


def test_a_team_can_t_take_a_name_that_looks_like_anothers(store, challenge):
    add_team(store, "Lamplighters")
    mice, captain = add_team(store, "Field Mice")
    with store.write() as db:
        for name in ("lamplighters", "Lаmplighters", "L a m p-lighters"):
            with pytest.raises(UserError, match="can be taken for the team 'Lamplighters'"):
                teams.rename(db, mice, name, name_key(name), by=captain)
        teams.rename(db, mice, "Field  Mice!", name_key("Field  Mice!"), by=captain)  # its own
        assert teams.get(db, "mill-valley", mice.id).name == "Field Mice!"


def test_nobody_is_in_two_teams_nor_in_one_without_the_rules_nor_an_organiser_in_any(store, challenge):
    captain = add_team(store, "Lamplighters")[1]
    with store.write() as db, pytest.raises(UserError, match="in a team already"):
        teams.create(db, "mill-valley", "Second", name_key("Second"), by=captain, captain=captain)
    with store.write() as db:
        runs = users.add(db, login="runs", name="Runs", role="expert", by="shell")
        with pytest.raises(UserError, match="Accept the rules"):
            teams.create(db, "mill-valley", "Third", name_key("Third"), by=runs.id, captain=runs.id)
    with store.write() as db:
        teams.accept_rules(db, "mill-valley", runs.id)
        teams.add_person(db, "mill-valley", runs.id, by="shell", organiser=True)
        with pytest.raises(UserError, match="organises a challenge"):
            teams.create(db, "mill-valley", "Third", name_key("Third"), by=runs.id, captain=runs.id)
    with store.write() as db, pytest.raises(UserError, match="person in a team can't organise"):
        teams.add_person(db, "mill-valley", captain, by="shell", organiser=True)


def test_a_job_that_fails_says_so_without_a_label_does_not_count_and_can_run_again(
    store, challenge, tmp_path, monkeypatch
):
    import davy.evaluation.board as board

    team, captain = add_team(store, "Lamplighters")

    def broken(*_: object, **__: object) -> None:
        raise ValueError("y_true contains 'yes', 'no', 'yes'")

    monkeypatch.setattr(board, "rank_systems", broken)
    sent = [send(store, tmp_path, team, captain) for _ in range(2)]
    for _ in range(3):
        with store.write() as db:  # as if the wait between attempts were over
            db.execute(jobs.jobs.update().values(run_after=START - timedelta(days=3650)))
        work(store)
    with store.read() as db:
        failed = submissions.get(db, sent[0].id)
        job = jobs.get(db, failed.job)
        lines = [line.line for line in jobs.log_lines(db, failed.job)]
    assert failed.state == "failed"
    assert "could not be scored (ValueError)" in job.error
    assert "y_true" not in json.dumps([job.error, *lines])
    monkeypatch.undo()
    send(store, tmp_path, team, captain)  # failed ones don't count
    with store.write() as db:
        jobs.retry(db, failed.job, by=captain)
    work(store)
    with store.read() as db:
        assert submissions.get(db, sent[0].id).state == "scored"


def test_cancelling_and_scoring_again_does_not_get_round_the_limit(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    at, late = START + timedelta(days=33), START + timedelta(days=60)
    first, second = (send(store, tmp_path, team, captain, wrong=each) for each in (1, 2))
    with store.write() as db:
        for each in (first, second):
            jobs.ask_cancel(db, each.job, by=captain)
    with pytest.raises(SubmissionRefused, match="has used its 2 submissions"):
        send(store, tmp_path, team, captain, wrong=3)
    with store.write() as db:
        with pytest.raises(SubmissionRefused, match="Task A closed"):
            action.score_again(db, first.id, by=captain, at=late)
        action.score_again(db, first.id, by=captain, at=at)
        jobs.fail(db, jobs.lease(db, list(CHALLENGE_JOBS), worker="w", seconds=60), "the disk is full")
    third = send(store, tmp_path, team, captain, wrong=3)  # a failed one left its place
    with store.write() as db, pytest.raises(SubmissionRefused, match="has used its 2 submissions"):
        action.score_again(db, first.id, by=captain, at=at)
    with store.write() as db:
        jobs.fail(db, jobs.lease(db, list(CHALLENGE_JOBS), worker="w", seconds=60), "the disk is full")
        action.score_again(db, third.id, by=captain, at=late)  # it came in time, and the fault is not the team's
        assert submissions.get(db, third.id).state == "waiting"


def test_the_board_ranks_who_answered_the_survey_marks_baselines_and_freezes(store, challenge, tmp_path):
    best, first = add_team(store, "Lamplighters")
    worse, second = add_team(store, "=Field Mice")
    silent, third = add_team(store, "No Survey")
    send(store, tmp_path, best, first, wrong=9, survey=SURVEY)
    send(store, tmp_path, best, first, wrong=1, survey=SURVEY)
    send(store, tmp_path, worse, second, wrong=12, survey=SURVEY)
    send(store, tmp_path, silent, third, survey={**SURVEY, "features": []})
    base = tmp_path / "B0.csv"
    base.write_text(
        "id,complaint.label\n" + "".join(f"{row['id']},yes\n" for name in ("train", "test") for row in rows(name))
    )
    made = add_baselines(store, "mill-valley", [BaselineFile(base, "B0")], by="shell")
    assert len(made) == 2  # task A in both phases
    work(store)
    phase = challenge.phases[1]
    with store.read() as db:
        board = challenges.find_board(db, phase.id, "A").content
        assert action.is_current(db, challenge, phase, "A")
    assert [(row["system"], row["rank"], row["mark"]) for row in board["rows"]] == [
        ("Lamplighters", 1, None),
        ("=Field Mice", 2, None),
        ("B0", None, "baseline"),
    ]
    assert board["summary"]["count"] == 2
    assert board["summary"]["beats"] == {"B0": 1.0}
    assert board["rows"][0]["next_p"] < 0.05
    assert "'=Field Mice" in board_csv(board)
    assert "\n2,,=Field" not in board_csv(board)
    with store.write() as db:
        action.freeze(db, challenge, phase, by="shell")
        frozen = challenges.get(db, "mill-valley")
        assert frozen.phases[1].frozen_at is not None
    with pytest.raises(SubmissionRefused, match="is frozen"):
        send(store, tmp_path, worse, second)
    with store.write() as db:
        teams.set_withdrawn(db, best, withdrawn=True, by="shell")
    assert action.rank_board(store, phase.id, "A") is False
    with store.read() as db:
        assert challenges.find_board(db, phase.id, "A").content == board


def freeze_now(store, challenge, phase):
    for task in challenge.tasks:
        action.rank_board(store, phase.id, task.name)
    with store.write() as db:
        action.freeze(db, challenge, phase, by="shell")


def test_a_baseline_says_when_boards_are_frozen_and_a_refused_one_leaves_no_team(store, challenge, tmp_path):
    fine = write_csv(tmp_path / "B0.csv", answers("test", "A"), head="id,complaint.label")
    wrong = write_csv(tmp_path / "B1.csv", [(key, "perhaps") for key, _ in answers("test", "A")], "id,complaint.label")
    other = write_csv(tmp_path / "B2.csv", [("none", "yes")], "id,complaint.label")
    for path, said in ((wrong, "perhaps"), (other, "covers no task")):
        files = [BaselineFile(fine, "B0"), BaselineFile(path, path.stem)]
        with pytest.raises(UserError, match=said):
            add_baselines(store, "mill-valley", files, by="shell")
    freeze_now(store, challenge, challenge.phases[1])
    with pytest.raises(UserError, match=r"B0.csv covers only boards that are frozen \('test'\)"):
        add_baselines(store, "mill-valley", [BaselineFile(fine, "B0")], by="shell")
    with store.read() as db:
        assert teams.of_challenge(db, "mill-valley") == {}
        assert all(not submissions.of_phase(db, phase.id) for phase in challenge.phases)


@pytest.fixture
def open_phase(tmp_path, capsys):
    """Runs `davy challenge open-phase` on a new SQLite store; gives back exit code and what was said."""
    url = f"sqlite:///{tmp_path / 'shell.sqlite'}"
    with open_store(url, create=True) as store:
        made = make(store, tmp_path / "files")

    def call(*arguments):
        code = run(["challenge", "open-phase", "mill-valley", *arguments, "--database", url])
        return code, " ".join(capsys.readouterr().err.split())

    call.store, call.challenge = url, made
    return call


def test_the_shell_says_which_task_waits_for_another(open_phase):
    code, said = open_phase("test", "--task", "B")
    assert code == 0
    assert said == "B opens when A has closed, on 2027-02-10 00:00 UTC."
    assert open_phase("test", "--task", "A") == (0, "")
    assert open_phase("practice") == (0, ""), "its labels are public, so nothing waits"
    code, said = open_phase("test", "--closes", "2027-03-01")
    assert code == 0
    assert "B opens when A has closed, on 2027-03-02 00:00 UTC. That is not before it closes itself" in said


def test_the_dates_of_a_frozen_phase_stay(open_phase):
    with open_store(open_phase.store) as store:
        freeze_now(store, open_phase.challenge, open_phase.challenge.phases[1])
        with store.read() as db:
            before = challenges.get(db, "mill-valley").phases[1].windows
        code, said = open_phase("test", "--closes", "+30d")
        assert code == 2
        assert said == "davy: The boards of 'test' are frozen, so its dates can't change."
        with store.read() as db:
            assert challenges.get(db, "mill-valley").phases[1].windows == before


def test_a_board_is_not_frozen_while_something_waits(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    send(store, tmp_path, team, captain, survey=SURVEY)
    with store.write() as db, pytest.raises(UserError, match="1 submissions of 'test' are not scored yet"):
        action.freeze(db, challenge, challenge.phases[1], by="shell")


def test_the_best_counts_in_practice_and_the_last_in_test(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    for wrong in (2, 10):
        send(store, tmp_path, team, captain, wrong, phase="practice", day=3)
        send(store, tmp_path, team, captain, wrong, survey=SURVEY)
    work(store)
    with store.read() as db:
        boards = [challenges.find_board(db, phase.id, "A").content["rows"][0] for phase in challenge.phases]
        worst = min(each.figure["value"] for each in submissions.of_team(db, team.id))
    assert boards[0]["figure"]["value"] > boards[1]["figure"]["value"] == worst


def test_equal_predictions_and_a_shared_address_of_two_teams_are_seen(store, challenge, tmp_path):
    one, first = add_team(store, "Lamplighters")
    two, second = add_team(store, "Field Mice")
    send(store, tmp_path, one, first, wrong=4, address="hash-1")
    send(store, tmp_path, one, first, wrong=4, address="hash-1")
    send(store, tmp_path, two, second, wrong=4, address="hash-2")
    send(store, tmp_path, two, second, wrong=5, address="hash-1")
    with store.read() as db:
        found = {trace.kind: trace for trace in submissions.shared_traces(db, "mill-valley")}
    assert set(found["predictions"].teams) == set(found["address"].teams) == {one.id, two.id}
    assert found["predictions"].submissions == 3


def test_a_person_s_data_has_what_they_sent_but_no_figure_and_their_deletion_leaves_the_team(
    store, challenge, tmp_path
):
    team, captain = add_team(store, "Lamplighters")
    sent = send(store, tmp_path, team, captain, address="hash-1")
    work(store)
    with store.write() as db:
        users.add(db, login="root", name="Root", role="admin", by="shell")
        mine = personal_data.export(db, captain)
        assert [each["id"] for each in mine["submissions"]] == [sent.id]
        assert mine["challenges"][0]["challenge"] == "mill-valley"
        assert "figure" not in mine["submissions"][0]
        personal_data.delete_account(db, captain, by=captain)
        assert teams.get(db, "mill-valley", team.id).captain is None
        assert submissions.get(db, sent.id).by is None
        assert teams.find_person(db, "mill-valley", captain) is None


def test_a_withdrawn_post_loses_its_text_in_a_challenge_and_predictions_keep_their_places(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    sent = send(store, tmp_path, team, captain, wrong=3)
    with store.write() as db:
        counts = withdrawals.withdraw(db, ["test-4", "nowhere"], by="shell")
        texts = {each.id: each.text for each in challenges.unlabelled(db, "mill-valley", "test")}
    assert counts.rows == {"challenge_entries": 1}
    assert (texts["test-4"], texts["test-5"]) == ("", "Note 5 of test")
    work(store)
    with store.read() as db:
        assert submissions.get(db, sent.id).state == "scored"


def test_no_event_names_a_label_or_a_figure(store, challenge, tmp_path):
    team, captain = add_team(store, "Lamplighters")
    send(store, tmp_path, team, captain, survey=SURVEY)
    work(store)
    with store.read() as db:
        details = json.dumps([dict(event.details) for event in events.latest(db, limit=1000)])
    assert "complaint" not in details
    assert "value" not in details
