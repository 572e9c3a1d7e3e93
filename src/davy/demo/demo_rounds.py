"""The demo's rounds: a first round from entries to its close, and a second one under way against the new target.

Entries and contrasts come from a file, labels and verdicts from the functions that pages use. What the target says of
each text is asked when the demo is built, and the closing trains its candidates then: nothing is written beforehand.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from davy.annotation.labelling import labelling
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.project import Member, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, messages
from davy.annotation.settling import expert_cases
from davy.core import Scheme
from davy.core.annotation import Answers
from davy.core.scorer import Scorer
from davy.detectors import store as detectors
from davy.detectors.registered import load_registered
from davy.people.store import users
from davy.rounds import entries
from davy.rounds.close_round import CloseSettings, close_project_round
from davy.rounds.entries import target_prediction
from davy.rounds.open_round import find_target, open_round
from davy.rounds.round import EntryRules, Round, RoundGoals
from davy.rounds.store import entries as stored
from davy.rounds.store import rounds
from davy.rounds.store.entries import EntryText
from davy.store import Connection, Store
from davy.store.columns import new_id

PROJECT = "emoji-duel"
TEAM: tuple[str, ...] = ("ada", "karl", "lena")
WORD = "Every word counts as an insult or not by what people confirm. Take your time, and take the breaks."


@dataclass(frozen=True, slots=True)
class DemoTeam:
    """Who works in the demo's rounds, on what, against whom."""

    project: Project
    scheme: Scheme
    people: Mapping[str, Member]
    expert: Member
    target: Scorer


def add_rounds(store: Store, people: Mapping[str, str], folder: Path, target: Scorer, source: str, files: Path) -> None:
    """Add the project with its rounds; `people` are the ids of humphry, jane and michael.

    `source` is what the target is loaded by, so that the store can know it; empty for the server's own word list.
    `files` is the server's folder for files, where the candidate that wins the first round stays.
    """
    text = (folder / "round_entries.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    question = "hate"
    name = f"{target.name}@{target.version}"
    if source:
        name = find_target(store, source, question, by=people["humphry"])
    with store.write() as db:
        team = _team(db, people, folder, target)
        first = open_round(
            db,
            team.project,
            targets=[name],
            by=people["humphry"],
            name="Emoji",
            rules=EntryRules(languages=("en",)),
            goals=RoundGoals(goal_each=8, goal_week=4),
        )
        chance = random.Random(PROJECT)  # noqa: S311 - made-up people, not secrets
        _play(db, team, first, [row for row in rows if row["round"] == 1], chance)
    # One factor is enough for forty entries, and the demo starts while somebody waits.
    closed = close_project_round(store, PROJECT, files, CloseSettings(times=(1,)), by=people["humphry"])
    with store.write() as db:
        second = open_round(
            db,
            team.project,
            targets=[closed.target],
            by=people["humphry"],
            name="Emoji, harder",
            rules=EntryRules(languages=("en",)),
            goals=RoundGoals(goal_each=8, goal_week=4),
            accept_worse=True,  # forty entries teach a target little else, and the page shows by how much
        )
        team = replace(team, target=load_registered(detectors.find(db, closed.target)))
        _play(db, team, second, [row for row in rows if row["round"] == 2], chance)
        messages.announce(db, team.project.id, WORD, by=people["humphry"])


def _team(db: Connection, people: Mapping[str, str], folder: Path, target: Scorer) -> DemoTeam:
    plan = project_file.read_plan(folder / f"{PROJECT}.yaml")
    project = project_creation.create_project(db, plan, by=people["humphry"]).project
    made = {}
    for login in TEAM:
        user = users.find(db, login)
        made[login] = members.add(db, project.id, user.id, ["annotator"], by=people["humphry"])
        members.consent(db, project.id, user.id)
    expert = members.add(db, project.id, people["jane"], ["expert", "wellbeing"], by=people["humphry"])
    members.add(db, project.id, people["michael"], ["annotator"], by=people["humphry"])
    members.set_roles(db, project.id, people["humphry"], ["manager", "adversarial"], by=people["humphry"])
    return DemoTeam(project, scheme_of(db, project), made, expert, target)


def _play(
    db: Connection, team: DemoTeam, round_: Round, rows: Sequence[Mapping[str, Any]], chance: random.Random
) -> None:
    """Let the team write and label entries, and where a row has one its contrast."""
    for row in rows:
        original = _enter(db, team, round_, row["author"], row["text"], row["answers"], row["strategy"], chance)
        _label_others(db, team, row, original, row.get("state", "settled"), chance)
    for row in rows:
        if "contrast" not in row:
            continue
        original = _find(db, round_, row["text"])
        made = _enter(
            db,
            team,
            round_,
            row["contrast_author"],
            row["contrast"],
            row["contrast_answers"],
            row["strategy"],
            chance,
            original=original,
            change=row["change"],
        )
        _label_others(
            db, team, {"author": row["contrast_author"], "answers": row["contrast_answers"]}, made, "settled", chance
        )


def _enter(
    db: Connection,
    team: DemoTeam,
    round_: Round,
    author: str,
    text: str,
    answers: Mapping[str, Sequence[str]],
    strategy: str,
    chance: random.Random,
    **more: Any,
) -> EntryText:
    given: Answers = {name: tuple(labels) for name, labels in answers.items()}
    scores = team.target.score(pl.DataFrame({"text": [text], "lang": ["en"]}))
    question = team.scheme.question(round_.question)
    said = target_prediction(round_.targets[0], scores, question, given[round_.question][0])
    made = entries.enter(
        db,
        rounds.get(db, round_.id),
        team.scheme,
        entry_id=new_id(),
        author=team.people[author].user,
        text=text,
        answers=given,
        predictions=[said],
        lang="en",
        strategy=strategy,
        seconds=round(chance.uniform(20, 140), 1),
        **more,
    )
    return stored.get_text(db, team.project.id, made.id)


def _label_others(
    db: Connection, team: DemoTeam, row: Mapping[str, Any], entry: EntryText, state: str, chance: random.Random
) -> None:
    """Let the others label an entry, as far as `state` says; where they disagree and it is settled, by the expert."""
    disagree = bool(row.get("disagree")) or state == "disagreement"
    others = [login for login in TEAM if login != row["author"]]
    for place, login in enumerate(others[: {"no label": 0, "one label": 1}.get(state, 2)]):
        sheet = labelling.next_sheet(db, team.project, team.people[login], phase_id=None)
        if sheet is None or sheet.post.id != entry.entry.id:
            raise RuntimeError(f"the demo's order of work is broken: {login} was not given the entry just made")
        given = {name: tuple(labels) for name, labels in row["answers"].items()}
        if disagree and place == 1:
            hateful = given["hate"] == ("hateful",)
            other = {"hate": ("hateful",), "type": ("animosity",), "target": ("women",)}
            given = {"hate": ("not hateful",)} if hateful else other
        labelling.save(db, sheet, given, annotation_id=new_id(), seconds=round(chance.uniform(5, 30), 1))
    if state != "settled":
        return
    while case := expert_cases.take_case(db, team.project, team.expert):
        _decide(db, team, case.id, {name: tuple(labels) for name, labels in row["answers"].items()})


def _decide(db: Connection, team: DemoTeam, case: str, answers: Answers) -> None:
    """Let the expert answer what a case asks; which questions these are depends on the answers before."""
    given: dict[str, tuple[str, ...]] = {}
    while missing := expert_cases.open_case(db, team.project, team.expert, case, team.scheme, given).missing:
        given[missing[0]] = answers[missing[0]]
    expert_cases.decide(db, team.project, case, team.expert, team.scheme, given, "read in context")


def _find(db: Connection, round_: Round, text: str) -> EntryText:
    return next(row for row in stored.of_round(db, round_.id) if row.text == text)
