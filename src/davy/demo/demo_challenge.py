"""The demo's challenge: made-up posts in, two teams and a baseline on its boards out.

Its test is open and its board is for organisers, so that jane sees what michael does not. Everything is made through
the functions that pages use; scoring runs here, since the demo's worker has not started yet.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from davy.challenges.challenge import Challenge
from davy.challenges.challenge_baselines import BaselineFile, add_baselines
from davy.challenges.challenge_creation import create_challenge
from davy.challenges.challenge_file import parse_plan
from davy.challenges.run_challenge import RANK_BOARD, SCORE_SUBMISSION, SubmissionRequest, take_submission
from davy.challenges.store import teams
from davy.challenges.team_names import name_key
from davy.jobs.kinds import job_kinds
from davy.jobs.worker import JobWorker
from davy.people.store import users
from davy.store import Store, events
from davy.store.columns import now

TEAMS: tuple[tuple[str, str, int], ...] = (("Lamplighters", "ada", 5), ("Field Mice", "karl", 3))
"""Each team, the colleague who sends for it, and of how many posts it gets one wrong."""
SURVEYS: tuple[dict[str, list[str]], ...] = (
    {"architecture": ["transformer"], "training": ["fine_tuned"], "data": ["labelled_only"], "features": ["none"]},
    {"architecture": ["traditional"], "training": ["none"], "data": ["labelled_only"], "features": ["lexicons"]},
)


def add_challenge(store: Store, people: Mapping[str, str], folder: Path) -> None:
    """Add the challenge; `people` are the ids of humphry, jane and michael."""
    lines = (folder / "project_posts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["project"] == "mill-valley"]
    parts = {"train": rows[::2], "test": rows[1::2]}
    with tempfile.TemporaryDirectory(prefix="davy-demo-") as place:
        files = Path(place)
        for name, part in parts.items():
            _write(files / f"{name}.csv", ["id", "text", "sexist.gold", "category.gold"], map(_cells, part))
        plan = parse_plan((folder / "lamp-cup.yaml").read_bytes(), "lamp-cup.yaml", at=now())
        made = create_challenge(store, plan, files, by=events.SYSTEM, organiser=people["jane"])
        for (team, login, every), survey in zip(TEAMS, SURVEYS, strict=True):
            _send(store, made, files, parts, team, login, every, survey)
        path = files / "B0.csv"
        _write(path, ["id", "sexist.label"], ([row["id"], "not sexist"] for row in rows))
        add_baselines(store, made.id, [BaselineFile(path, "B0 most frequent")], by=events.SYSTEM)
    with JobWorker(
        store, {kind: job_kinds()[kind].function for kind in (SCORE_SUBMISSION, RANK_BOARD)}, once=True
    ) as worker:
        worker.join()


def _send(
    store: Store,
    made: Challenge,
    files: Path,
    parts: Mapping[str, list[dict[str, Any]]],
    name: str,
    login: str,
    every: int,
    survey: dict[str, list[str]],
) -> None:
    """Make a team and send for both phases."""
    with store.write() as db:
        user = users.find(db, login)
        teams.accept_rules(db, made.id, user.id)
        team = teams.create(db, made.id, name, name_key(name), by=user.id, captain=user.id)
    other = {"sexist": "not sexist", "not sexist": "sexist"}
    for phase, data in (("practice", "train"), ("test", "test")):
        said = [row["answers"]["sexist"][0] for row in parts[data]]
        said = [other[label] if place % every == 1 else label for place, label in enumerate(said)]
        path = files / "predictions.csv"
        _write(path, ["id", "label"], ([row["id"], label] for row, label in zip(parts[data], said, strict=True)))
        wanted = SubmissionRequest(made.id, phase, "A", team.id, user.id, "predictions.csv", survey=survey)
        take_submission(store, path, wanted)


def _cells(row: dict[str, Any]) -> list[str]:
    answers = row["answers"]
    return [row["id"], row["text"], answers["sexist"][0], (answers.get("category") or [""])[0]]


def _write(path: Path, head: list[str], rows: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
