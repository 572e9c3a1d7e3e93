"""A small challenge shaped like EDOS, from kind sentences: what tests of challenges start from.

Task A asks whether a note is a complaint, task B about what; B's notes are the complaints,
so they give A's labels away.
"""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from davy.challenges.challenge import Challenge, Team
from davy.challenges.challenge_creation import create_challenge
from davy.challenges.challenge_file import read_plan
from davy.challenges.run_challenge import SubmissionRequest, name_key
from davy.challenges.store import teams
from davy.people.store import users
from davy.store import Store

START = datetime(2027, 1, 1, tzinfo=UTC)
SIZE = 40
SURVEY = {"architecture": ["transformer"], "training": ["fine_tuned"], "data": ["labelled_only"], "features": ["none"]}

CHALLENGE = """
name: mill-valley
title: Notes from Mill Valley
description: Kind notes, some of them complaints.
rules: |
  - Be kind.
data:
  train: {file: train.csv, labels: public}
  test: {file: test.csv, labels: hidden}
tasks:
  - {name: A, question: complaint, labels: ["no", "yes"], positive: "yes"}
  - {name: B, question: about, labels: [tea, weather, bus], after: [A]}
phases:
  - {name: practice, data: train, opens: 2027-01-01, closes: 2027-03-01, limit: 50, counts: best, survey: false}
  - name: test
    data: test
    limit: 2
    board: organisers
    windows:
      A: ["2027-02-01T00:00+00:00", "2027-02-10T00:00+00:00"]
      B: ["2027-02-05T00:00+00:00", "2027-02-20T00:00+00:00"]
"""


def rows(name: str) -> list[dict[str, str]]:
    """The posts of a data set with their labels; every third is no complaint."""
    about = ("tea", "weather", "bus")
    return [
        {
            "id": f"{name}-{number}",
            "text": f"Note {number} of {name}",
            "complaint": "yes" if number % 3 else "no",
            "about": about[number // 3 % 3] if number % 3 else "",
        }
        for number in range(SIZE)
    ]


def write_files(folder: Path) -> Path:
    """Write the challenge's file and its data into a folder; return the YAML file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train", "test"):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "text", "complaint", "about"])
            writer.writeheader()
            writer.writerows(rows(name))
    path = folder / "mill-valley.yaml"
    path.write_text(CHALLENGE, encoding="utf-8")
    return path


def make(store: Store, folder: Path, organiser: str | None = None) -> Challenge:
    """Make the challenge in a store."""
    plan = read_plan(write_files(folder), at=START)
    return create_challenge(store, plan, folder, by="shell", organiser=organiser)


def add_team(store: Store, name: str, login: str | None = None) -> tuple[Team, str]:
    """Add a team with one account that accepted the rules; return both."""
    with store.write() as db:
        login = login or f"{name_key(name)}@example.org"
        user = users.add(db, login=login, name=name, role="annotator", by="shell")
        teams.accept_rules(db, "mill-valley", user.id)
        return teams.create(db, "mill-valley", name, name_key(name), by=user.id, captain=user.id), user.id


def answers(name: str, task: str, wrong: int = 0) -> list[tuple[str, str]]:
    """Right predictions of a task, but for the first few."""
    column = {"A": "complaint", "B": "about"}[task]
    other = {"yes": "no", "no": "yes", "tea": "bus", "bus": "weather", "weather": "tea"}
    right = [(row["id"], row[column]) for row in rows(name) if row[column]]
    return [(key, other[label] if place < wrong else label) for place, (key, label) in enumerate(right)]


def write_csv(path: Path, predictions: list[tuple[str, str]], head: str = "id,label") -> Path:
    """Write predictions as CSV."""
    path.write_text("\n".join([head, *(f"{key},{label}" for key, label in predictions)]) + "\n", encoding="utf-8")
    return path


def write_jsonl(path: Path, predictions: list[tuple[str, str]]) -> Path:
    """Write predictions as JSON lines."""
    path.write_text("".join(json.dumps({"id": key, "label": label}) + "\n" for key, label in predictions))
    return path


def request(
    team: Team, by: str, *, phase: str = "test", task: str = "A", day: float = 32, **more: object
) -> SubmissionRequest:
    """A request so many days after the challenge began."""
    at = START + timedelta(days=day)
    return SubmissionRequest("mill-valley", phase, task, team.id, by, "predictions.csv", at, **more)
