"""Run a challenge: take a submission, score it, rank a board, freeze it.

The shell, the pages, the API and the jobs call these. Hidden labels are read in `score_submission` and `rank_board`
only; what these return, note and raise never holds one.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.challenges import boards
from davy.challenges.challenge import Challenge, ChallengePhase, ChallengeTask, Submission, Team, TimeWindow
from davy.challenges.challenge_file import board_task, parse_moment
from davy.challenges.store import challenges, submissions, teams
from davy.challenges.submission_file import SubmissionRefused, check_predictions
from davy.core.errors import KeyedError, UserError
from davy.core.reporter import SILENT, Reporter
from davy.files.file_safety import UploadLimits, check_contents
from davy.jobs import store as jobs
from davy.store import Connection, Store
from davy.store.columns import now
from davy.text.normalise import fold

if TYPE_CHECKING:
    import polars as pl

log = logging.getLogger(__name__)

SCORE_SUBMISSION = "score submission"
RANK_BOARD = "rank board"
LIMITS = UploadLimits(size=20_000_000, unpacked=60_000_000, members=20, columns=50, line=1_000_000)
KINDS = ("csv", "tsv", "jsonl", "zip")
RESAMPLES = 1000
SEED = 1

_DIGITS = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "3": "e"})


@dataclass(frozen=True, slots=True)
class SubmissionRequest:
    """What somebody sends: to which challenge, phase and task, for which team, and as whom (None is the shell)."""

    challenge: str
    phase: str
    task: str
    team: str
    by: str | None
    file: str
    """The file's name, for display."""
    at: datetime = field(default_factory=now)
    """When it had come in whole."""
    address: str | None = None
    note: str | None = None
    survey: Mapping[str, Any] | None = None


def take_submission(store: Store, path: Path, request: SubmissionRequest) -> Submission:
    """Check a file of predictions, keep it and queue its scoring; a refused one leaves nothing and does not count."""
    with store.read() as db:
        challenge, phase, task, team = _target(db, request)
        _check_turn(db, phase, task, team, request)
        ids = challenges.entry_ids(db, challenge.id, phase.data, task.name)
    kind, packed = check_contents(path, request.file, LIMITS)
    if packed or kind not in KINDS:
        raise SubmissionRefused("kind", "Send a CSV, TSV or JSONL file, or a zip with one of these.", status=415)
    checked = check_predictions(path, kind, task, ids)
    with store.write() as db:
        # Locked, so that two files sent at once don't both take the last place, and none passes a freeze.
        challenges.lock_phase(db, phase.id)
        challenge, phase, task, team = _target(db, request, lock=True)
        _check_turn(db, phase, task, team, request)
        new = submissions.NewSubmission(
            phase.id,
            task.name,
            team.id,
            request.by,
            request.file,
            checked.values,
            checked.digest,
            request.address,
            request.note,
            request.survey,
        )
        key = submissions.add(db, new, challenge_id=challenge.id, at=request.at)
        owner = request.by or "shell"
        job = jobs.enqueue(db, SCORE_SUBMISSION, {"submission": key}, owner=owner, key=f"score {key}")
        submissions.set_job(db, key, job.id)
        return submissions.get(db, key)


def check_turn(store: Store, request: SubmissionRequest) -> None:
    """Refuse what would be refused whatever the file holds: wrong time, wrong account, used-up limit."""
    with store.read() as db:
        _, phase, task, team = _target(db, request)
        _check_turn(db, phase, task, team, request)


def score_again(db: Connection, submission_id: str, *, by: str, at: datetime | None = None) -> None:
    """Queue a failed or cancelled submission of a team for scoring again, where there still is a place for it.

    One that failed was in time when it was sent, and that it was not scored then is no fault of the team; one that
    was cancelled is scored only while its task is open.
    """
    submission = submissions.get(db, submission_id)
    challenges.lock_phase(db, submission.phase)
    challenge, phase = challenges.of_phase(db, submission.phase)
    at = at or now()
    request = SubmissionRequest(challenge.id, phase.name, submission.task, submission.team, None, submission.file, at)
    _, phase, task, team = _target(db, request, lock=True)
    in_time = submission.at if submission.state == "failed" else at
    _check_turn(db, phase, task, team, request, in_time=in_time, without=submission.id)
    jobs.retry(db, str(submission.job), by=by)


def find_phase(challenge: Challenge, name: str) -> ChallengePhase:
    """Return the phase of this name; one that there isn't is an error."""
    phase = challenge.phase(name)
    if phase is None:
        listed = ", ".join(each.name for each in challenge.phases)
        raise UserError(f"There is no phase {name[:30]!r} in {challenge.id!r}; it has {listed}.", status=404)
    return phase


def find_task(challenge: Challenge, name: str) -> ChallengeTask:
    """Return the task of this name; one that there isn't is an error."""
    task = challenge.task(name)
    if task is None:
        listed = ", ".join(each.name for each in challenge.tasks)
        raise UserError(f"There is no task {name[:30]!r} in {challenge.id!r}; it has {listed}.", status=404)
    return task


def _target(
    db: Connection, request: SubmissionRequest, *, lock: bool = False
) -> tuple[Challenge, ChallengePhase, ChallengeTask, Team]:
    challenge = challenges.get(db, request.challenge)
    phase, task = find_phase(challenge, request.phase), find_task(challenge, request.task)
    return challenge, phase, task, teams.get(db, challenge.id, request.team, lock=lock)


def _check_turn(
    db: Connection,
    phase: ChallengePhase,
    task: ChallengeTask,
    team: Team,
    request: SubmissionRequest,
    *,
    in_time: datetime | None = None,
    without: str | None = None,
) -> None:
    """Refuse a request out of turn; its window counts at `in_time`, its limits leave the submission `without` out."""
    if phase.frozen_at is not None:
        raise SubmissionRefused("frozen", f"The board of {phase.name!r} is frozen: nothing more is taken.", status=409)
    if team.kind != "team":
        return  # baselines and human performance come from the organisers, at any time
    if request.by is not None and request.by != team.captain:
        raise SubmissionRefused("captain", "One account sends for a team, and it is not yours.", status=403)
    if team.withdrawn_at is not None:
        raise SubmissionRefused("left_out", "An organiser left this team out. Ask them why.", status=403)
    window = phase.window(task)
    if window is None:
        raise SubmissionRefused("no_task", f"Phase {phase.name!r} does not take task {task.name!r}.", status=404)
    state = window.state(in_time or request.at)
    if state == "waiting":
        when = f"{window.opens.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        raise SubmissionRefused("waiting", f"Task {task.name} opens on {when}. Send it then.", status=409, when=when)
    if state == "closed":
        when = f"{window.closes.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        raise SubmissionRefused(
            "closed", f"Task {task.name} closed on {when}. It can't be sent.", status=409, when=when
        )
    used = submissions.count(db, phase.id, task.name, team.id, without=without)
    if used >= phase.limit:
        raise SubmissionRefused(
            "limit",
            f"Your team has used its {phase.limit} submissions for task {task.name} in {phase.name}.",
            status=409,
            limit=phase.limit,
            task=task.name,
            phase=phase.name,
        )
    if phase.per_day is not None:
        midnight = datetime.combine(request.at.astimezone(UTC).date(), time(), UTC)
        today = submissions.count(db, phase.id, task.name, team.id, since=midnight, without=without)
        if today >= phase.per_day:
            raise SubmissionRefused(
                "per_day",
                f"Your team has used its {phase.per_day} submissions of today. Send the next after midnight UTC.",
                status=409,
                limit=phase.per_day,
            )


# ---- scoring ------------------------------------------------------------------------------------


def score_submission(store: Store, submission_id: str, reporter: Reporter = SILENT) -> None:
    """Compute a submission's figure and keep it, and queue the ranking of its board."""
    from davy.evaluation.board import rank_systems

    with store.read() as db:
        submission = submissions.get(db, submission_id)
        challenge, phase = challenges.of_phase(db, submission.phase)
        task = find_task(challenge, submission.task)
        values = submissions.predictions(db, [submission_id])[submission_id]
        ids, labels = challenges.gold(db, challenge.id, phase.data, task.name)
    reporter.note(f"Read {len(values):,} predictions of task {task.name}.")
    with _without_labels("scored"):
        frames = {"system": prediction_frame(task, ids, values)}
        board = rank_systems(gold_frame(ids, labels), frames, board_task(task), seed=SEED, resamples=RESAMPLES)
        figure = board.rows[0].figure.to_dict()
    reporter.note(f"Computed {task.metric} with an interval from {RESAMPLES:,} resamples.")
    with store.write() as db:
        submissions.save_figure(db, submission_id, figure)
        queue_ranking(db, phase, task.name)
    reporter.note("Scored. The board is ranked anew in a moment.")


def queue_ranking(db: Connection, phase: ChallengePhase, task: str) -> None:
    """Queue the ranking of a board, unless one that has not begun is queued already."""
    arguments = {"phase": phase.id, "task": task}
    waiting = jobs.latest(db, kind=RANK_BOARD, state="waiting", limit=500)
    if phase.frozen_at is None and not any(dict(job.arguments) == arguments for job in waiting):
        jobs.enqueue(db, RANK_BOARD, arguments, owner="system")


def rank_board(store: Store, phase_id: str, task_name: str) -> bool:
    """Rank a board's counted submissions and keep it; return whether it changed. A frozen board stays as it is."""
    from davy.evaluation.board import rank_systems

    with store.read() as db:
        challenge, phase = challenges.of_phase(db, phase_id)
        task, every = find_task(challenge, task_name), teams.of_challenge(db, challenge.id)
        chosen = boards.counted(submissions.of_phase(db, phase_id, task_name), every, phase)
        basis, kept = submissions.basis(chosen), challenges.find_board(db, phase_id, task_name)
        if phase.frozen_at is not None or (kept is not None and kept.basis == basis):
            return False
        values = submissions.predictions(db, [each.id for each in chosen])
        ids, labels = challenges.gold(db, challenge.id, phase.data, task.name)
    names = {each.id: every[each.team].name for each in chosen}
    content: dict[str, Any] = {"rows": [], "summary": None, "n": len(ids)}
    if chosen:
        with _without_labels("ranked"):
            frames = {names[each.id]: prediction_frame(task, ids, values[each.id]) for each in chosen}
            marks = {names[each.id]: every[each.team].kind for each in chosen if every[each.team].kind != "team"}
            gold = gold_frame(ids, labels)
            ranked = rank_systems(gold, frames, board_task(task), seed=SEED, resamples=RESAMPLES, marks=marks)
            content = ranked.to_dict()
    content["teams"] = {names[each.id]: each.team for each in chosen}
    content["submissions"] = {names[each.id]: each.id for each in chosen}
    content["surveys"] = {names[each.id]: dict(each.survey or {}) for each in chosen}
    with store.write() as db:
        challenges.lock_phase(db, phase_id)
        if challenges.of_phase(db, phase_id)[1].frozen_at is not None:
            return False
        challenges.save_board(db, phase_id, task_name, basis=basis, content=content)
    return True


def is_current(db: Connection, challenge: Challenge, phase: ChallengePhase, task: str) -> bool:
    """Return whether the kept board ranks exactly the submissions that count now."""
    chosen = boards.counted(submissions.of_phase(db, phase.id, task), teams.of_challenge(db, challenge.id), phase)
    kept = challenges.find_board(db, phase.id, task)
    return (kept is None and not chosen) or (kept is not None and kept.basis == submissions.basis(chosen))


def change_windows(
    db: Connection,
    challenge: Challenge,
    phase: str,
    tasks: Sequence[str] | None,
    *,
    opens: str | None,
    closes: str | None,
    by: str,
) -> ChallengePhase:
    """Change when tasks of a phase open and close, all of them for None; return the phase.

    Moments are as in a challenge's file. Without `opens` a task opens now, unless it has before; without `closes` it
    closes when it did. `closes` of +0m closes it now.
    """
    at, changed_phase = now(), find_phase(challenge, phase)
    if changed_phase.frozen_at is not None:
        message = f"The boards of {phase!r} are frozen, so its dates can't change."
        raise KeyedError("submission_frozen", message, status=409)
    windows = dict(changed_phase.windows)
    for task in windows if tasks is None else tasks:
        if task not in windows:
            raise KeyedError("choice", f"Phase {phase!r} does not take task {task!r}; it takes {', '.join(windows)}.")
        try:
            first = min(at, windows[task].opens) if opens is None else parse_moment(opens, at=at)
            last = windows[task].closes if closes is None else parse_moment(closes, at=at, end=True)
        except ValueError as error:
            raise KeyedError("moment", f"{error}.") from None
        if first >= last:
            message = f"Task {task} would close on {last:%Y-%m-%d %H:%M} before it opens. Give --closes too."
            raise KeyedError("window", message)
        windows[task] = TimeWindow(first, last)
    changed = replace(changed_phase, windows=windows)
    challenges.change_phase(db, changed, by=by, what="challenge dates changed")
    return changed


def freeze(db: Connection, challenge: Challenge, phase: ChallengePhase, *, by: str) -> None:
    """Freeze a phase's boards: no submission is taken and nothing on them changes any more."""
    if phase.frozen_at is not None:
        return
    challenges.lock_phase(db, phase.id)
    live = [each for each in submissions.of_phase(db, phase.id) if each.state in ("waiting", "running")]
    if live:
        raise UserError(
            f"{len(live)} submissions of {phase.name!r} are not scored yet. Wait for them, or cancel their jobs.",
            status=409,
        )
    stale = [task.name for task in challenge.tasks if not is_current(db, challenge, phase, task.name)]
    for task in stale:
        queue_ranking(db, phase, task)
    if not stale:
        challenges.change_phase(db, replace(phase, frozen_at=now()), by=by, what="challenge board frozen")


def gold_frame(ids: list[str], labels: list[str]) -> pl.DataFrame:
    """Return hidden labels as ranking takes them."""
    import polars as pl

    return pl.DataFrame({"id": ids, "label": labels})


def prediction_frame(task: ChallengeTask, ids: list[str], values: list[Any]) -> pl.DataFrame:
    """Return kept predictions as ranking takes them: places become labels again."""
    import polars as pl

    if task.kind == "score":
        return pl.DataFrame({"id": ids, "score": [float(value) for value in values]})
    return pl.DataFrame({"id": ids, "label": [task.labels[place] for place in values]})


@contextmanager
def _without_labels(what: str) -> Iterator[None]:
    """Turn whatever goes wrong into an error that quotes nothing: a message could hold hidden labels."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 — whatever it is, its text stays here
        log.error("a submission could not be %s: %s", what, type(error).__name__)
        raise UserError(
            f"The submission could not be {what} ({type(error).__name__}). It does not count; try it again.",
            status=500,
        ) from None


def name_key(name: str) -> str:
    """Return the key of a name: case, accents, look-alikes of other scripts, blanks and signs make no difference."""
    folded = fold(unicodedata.normalize("NFKC", name).casefold()).translate(_DIGITS)
    letters = "".join(char for char in folded if char.isalnum()).replace("rn", "m").replace("vv", "w")
    return letters or unicodedata.normalize("NFKC", name).casefold().replace(" ", "")
