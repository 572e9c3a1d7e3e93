"""Put baselines and human performance on a board: files of predictions in, marked submissions out.

A file has `id` and, for each question, `Q.label` (what `davy score` and `davy reproduce edos --predictions-out DIR`
write), or `id` and `label` for one task. Rows about other posts are passed over, so one file serves
every phase that it covers.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from davy.challenges.challenge import Challenge, ChallengeTask, Submission, Team
from davy.challenges.run_challenge import SubmissionRequest, name_key, take_submission
from davy.challenges.store import challenges, teams
from davy.challenges.submission_file import SubmissionRefused, check_predictions
from davy.core.errors import UserError
from davy.files import tables
from davy.files.formats import names_format
from davy.store import Connection, Store

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A file of predictions, what its row on the board is called, and whether it is a baseline or human."""

    path: Path
    name: str
    kind: str = "baseline"


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """What a file says to one board: answers by post, of which the board's `ids` are sent."""

    phase: str
    task: ChallengeTask
    ids: list[str]
    answers: Mapping[str, str]


def baseline_files(path: Path) -> list[BaselineFile]:
    """Return a file, or every table in a folder, each named by its file; `human` in a name marks people."""
    if not path.exists():
        raise UserError(f"There is no file or folder {path}.")
    paths = sorted(each for each in path.iterdir() if names_format(each)) if path.is_dir() else [path]
    if not paths:
        raise UserError(f"The folder {path} has no table of predictions (CSV, TSV, JSONL, Parquet).")
    return [BaselineFile(each, each.stem, "human" if "human" in each.stem.lower() else "baseline") for each in paths]


def add_baselines(
    store: Store, challenge_id: str, files: Sequence[BaselineFile], *, by: str, task: str | None = None
) -> list[Submission]:
    """Add each file to the board of every phase and task that it covers; a file that covers none is an error.

    All files are checked before the first one is sent, so that a wrong one leaves nothing behind.
    """
    entries = [_entries(store, challenge_id, file, only=task) for file in files]
    with store.write() as db:
        rows = [_find_or_create_team(db, challenge_id, file, by=by) for file in files]
    made = []
    for file, team, own in zip(files, rows, entries, strict=True):
        for entry in own:
            request = SubmissionRequest(challenge_id, entry.phase, entry.task.name, team.id, None, file.path.name)
            with _as_file(entry) as path:
                made.append(take_submission(store, path, request))
    return made


def _entries(store: Store, challenge_id: str, file: BaselineFile, *, only: str | None) -> list[BaselineEntry]:
    """Return what a file says to every board that it covers and that still takes something, checked."""
    with tables.open_table(str(file.path)) as table:
        frame = table.frame.collect()
    if "id" not in frame.columns:
        raise UserError(f"{file.path.name} has no column 'id'; it has {', '.join(frame.columns[:10])}.")
    entries, frozen = [], []
    with store.read() as db:
        challenge = challenges.get(db, challenge_id)
        for phase in challenge.phases:
            for task in challenge.tasks:
                column = _column(challenge, task, frame, only)
                if column is None or task.name not in phase.windows:
                    continue
                ids = challenges.entry_ids(db, challenge_id, phase.data, task.name)
                answers = dict(zip(frame["id"].cast(str).to_list(), frame[column].cast(str).to_list(), strict=True))
                if not all(each in answers for each in ids):
                    continue
                if phase.frozen_at is not None:
                    frozen.append(phase.name)
                    continue
                entries.append(BaselineEntry(phase.name, task, ids, answers))
    if frozen and not entries:
        listed = ", ".join(repr(name) for name in dict.fromkeys(frozen))
        raise SubmissionRefused(
            "frozen", f"{file.path.name} covers only boards that are frozen ({listed}): nothing is taken.", status=409
        )
    if not entries:
        raise UserError(
            f"{file.path.name} covers no task of {challenge_id!r}. It needs `id` and a column such as sexist.label "
            "(or `label` with --task), with a row for every post of a phase."
        )
    for entry in entries:
        with _as_file(entry) as path:
            check_predictions(path, "csv", entry.task, entry.ids)
    return entries


def _find_or_create_team(db: Connection, challenge_id: str, file: BaselineFile, *, by: str) -> Team:
    """Return the board's row that a file's entries stand in."""
    key = name_key(file.name)
    team = teams.find_by_key(db, challenge_id, key)
    if team is None:
        return teams.create(db, challenge_id, file.name, key, by=by, captain=None, kind=file.kind)
    if team.kind == "team":
        raise UserError(f"A team is called {team.name!r}. Give the baseline's file another name.", status=409)
    return team


def _column(challenge: Challenge, task: ChallengeTask, frame: pl.DataFrame, only: str | None) -> str | None:
    if only is not None and only != task.name:
        return None
    plain = ("score",) if task.kind == "score" else ("label",)
    alone = only is not None or len(challenge.tasks) == 1
    own = (task.question,) if task.kind == "score" else (f"{task.question}.label", f"{task.name}.label")
    return next((name for name in (*own, *(plain if alone else ())) if name in frame.columns), None)


@contextmanager
def _as_file(entry: BaselineEntry) -> Iterator[Path]:
    """Give an entry as a file of predictions, which goes through the same checks as everybody's."""
    with tempfile.TemporaryDirectory(prefix="davy-baseline-") as folder:
        path = Path(folder) / "predictions.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "score" if entry.task.kind == "score" else "label"])
            writer.writerows((key, entry.answers[key]) for key in entry.ids)
        yield path
