"""Put baselines and human performance on a board: files of predictions in, marked submissions out.

A file has `id` and, for each question, `Q.label` (what `davy reproduce edos --predictions DIR` and `davy score` write),
or `id` and `label` for one task. Rows about other posts are passed over, so one file serves every phase that it covers.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from davy.actions.challenge import SubmissionRequest, take_submission
from davy.compare.challenges.team_names import name_key
from davy.core.challenge import Challenge, ChallengeTask, Submission
from davy.core.errors import UserError
from davy.files import tables
from davy.files.formats import names_format
from davy.store import Store, challenges, teams

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A file of predictions, what its row on the board is called, and whether it is a baseline or human."""

    path: Path
    name: str
    kind: str = "baseline"


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
    """Add each file to the board of every phase and task that it covers; a file that covers none is an error."""
    made: list[Submission] = []
    for file in files:
        with tables.open_table(str(file.path)) as table:
            frame = table.frame.collect()
        if "id" not in frame.columns:
            raise UserError(f"{file.path.name} has no column 'id'; it has {', '.join(frame.columns[:10])}.")
        sent = _add(store, challenge_id, file, frame, by=by, only=task)
        if not sent:
            raise UserError(
                f"{file.path.name} covers no task of {challenge_id!r}. It needs `id` and a column such as sexist.label "
                "(or `label` with --task), with a row for every post of a phase."
            )
        made += sent
    return made


def _add(
    store: Store, challenge_id: str, file: BaselineFile, frame: pl.DataFrame, *, by: str, only: str | None
) -> list[Submission]:
    with store.write() as db:
        challenge = challenges.get(db, challenge_id)
        key = name_key(file.name)
        team = teams.find_by_key(db, challenge_id, key)
        if team is None:
            team = teams.create(db, challenge_id, file.name, key, by=by, captain=None, kind=file.kind)
        elif team.kind == "team":
            raise UserError(f"A team is called {team.name!r}. Give the baseline's file another name.", status=409)
    made = []
    for phase in challenge.phases:
        for task in challenge.tasks:
            column = _column(challenge, task, frame, only)
            if column is None or task.name not in phase.windows or phase.frozen_at is not None:
                continue
            with store.read() as db:
                ids = challenges.entry_ids(db, challenge_id, phase.data, task.name)
            answers = dict(zip(frame["id"].cast(str).to_list(), frame[column].cast(str).to_list(), strict=True))
            if not all(each in answers for each in ids):
                continue
            request = SubmissionRequest(challenge_id, phase.name, task.name, team.id, None, file.path.name)
            made.append(_send(store, ids, answers, request, task))
    return made


def _column(challenge: Challenge, task: ChallengeTask, frame: pl.DataFrame, only: str | None) -> str | None:
    if only is not None and only != task.name:
        return None
    plain = ("score",) if task.kind == "score" else ("label",)
    alone = only is not None or len(challenge.tasks) == 1
    own = (task.question,) if task.kind == "score" else (f"{task.question}.label", f"{task.name}.label")
    return next((name for name in (*own, *(plain if alone else ())) if name in frame.columns), None)


def _send(
    store: Store, ids: list[str], answers: dict[str, str], request: SubmissionRequest, task: ChallengeTask
) -> Submission:
    """Send a baseline through the same checks as everybody's file."""
    with tempfile.TemporaryDirectory(prefix="davy-baseline-") as folder:
        path = Path(folder) / "predictions.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "score" if task.kind == "score" else "label"])
            writer.writerows((key, answers[key]) for key in ids)
        return take_submission(store, path, request)
