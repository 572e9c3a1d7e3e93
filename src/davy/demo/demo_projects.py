"""The demo's two projects, an English and a German one, as they look after nine days of work.

Three people who can't sign in have answered, alike but where a post can be read in two ways, so that there is agreement
to look at, posts wait for the demo's annotator, and disagreements for its expert, who settled others. Everything is
made through the same functions that pages use; `WORK` says who did how much when.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import items
from davy.annotation.project import monitoring, project_creation, project_file
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, messages, phases, posts
from davy.annotation.settling import adjudication, expert_cases
from davy.annotation.settling.store import phase_answers
from davy.core.annotation import Answers
from davy.people.store import users
from davy.store import Connection, events
from davy.store.columns import clock_set_back, new_id

COLLEAGUES = {"ada": "Ada", "karl": "Karl", "lena": "Lena"}

PLANS: tuple[str, ...] = ("mill-valley", "am-fluss")

WORK: tuple[tuple[int, str, str, tuple[int, ...]], ...] = (
    (9, "am-fluss", "1", ()),
    (8, "mill-valley", "try-out", (4, 4, 4)),
    (8, "am-fluss", "2a", (3, 3, 3)),
    (7, "mill-valley", "try-out", (4, 4, 4)),
    (7, "am-fluss", "2a", (4, 4, 4)),
    (6, "mill-valley", "main", (10, 8, 6)),
    (6, "am-fluss", "2b", (4, 4, 4)),
    (5, "mill-valley", "main", (12, 10, 12)),
    (5, "am-fluss", "2b", (3, 3, 3)),
    (4, "mill-valley", "main", (8, 12, 12)),
    (3, "mill-valley", "main", (12, 12, 10)),
    (3, "am-fluss", "3", (2, 1, 2)),
    (2, "am-fluss", "3", (1, 2, 2)),
    (1, "mill-valley", "main", (6, 6, 8)),
)
"""Days ago, project, phase, and how many posts Ada, Karl and Lena answered; nobody alone where they talk."""

CHANNEL: tuple[tuple[int, str, str, str, str, str, str], ...] = (
    (
        5, "mill-valley", "lena", "demo-mill-20", "Is blaming all women drivers 2.1 or 3.2?",
        "jane", "2.1: it runs them down. 3.2 is for claims about what women are like that sound neutral.",
    ),
    (
        3, "mill-valley", "karl", "demo-mill-12", "One barmaid, one order: does an insult to one woman count?",
        "humphry", "If the insult is one for women, yes: 2.2. If it could be said of a barman just so, no.",
    ),
    (
        6, "am-fluss", "lena", "demo-fluss-11", "Ein Schimpfwort mit Augenzwinkern unter Freunden: Hass?",
        "jane", "Nein, solange niemand herabgewürdigt wird. Bitte trotzdem als unsicher kennzeichnen.",
    ),
)  # fmt: skip
"""Days ago, project, who asked about which post, what, who answered, and what."""

WAITING = 3
"""Disagreements that are left for whoever signs in as the expert."""

_WELCOME = {
    "mill-valley": "The main phase is open. Take your time, and take the breaks.",
    "am-fluss": "Phase 3 ist offen. Lassen Sie sich Zeit, und machen Sie Pausen.",
}


@dataclass(frozen=True, slots=True)
class _Team:
    """A project with those who work in it; `rows` are its posts by id, `people` its members by login."""

    project: Project
    manager: str
    people: Mapping[str, Member]
    rows: Mapping[str, Mapping[str, Any]]
    chance: random.Random

    def truth(self, post: str) -> Answers:
        """Return what a careful reader answers."""
        return _answers(self.rows[post]["answers"])


def add(db: Connection, people: Mapping[str, str], folder: Path) -> None:
    """Add both projects; `people` are the ids of humphry, jane and michael."""
    text = (folder / "project_posts.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    with _days_ago(10):
        made = {
            login: users.add(db, login=login, name=name, role="annotator", by=events.SYSTEM).id
            for login, name in COLLEAGUES.items()
        }
        teams = {name: _team(db, folder / f"{name}.yaml", rows, {**people, **made}) for name in PLANS}
    for today in range(9, 0, -1):
        for days, name, phase, parts in WORK:
            if days == today:
                with _days_ago(days):
                    _work(db, teams[name], _opened(db, teams[name], phase), parts, days)
        for days, name, *said in CHANNEL:
            if days == today:
                _talk(db, teams[name], days, *said)
    for team in teams.values():
        with _days_ago(1, 7200):
            _decide(db, team)
            monitoring.save_snapshot(db, phases.of_project(db, team.project.id)[-1].id)
            messages.announce(db, team.project.id, _WELCOME[team.project.id], by=team.manager)
        events.record(db, by=events.SYSTEM, what="demo made", about=f"project {team.project.id}")


def _days_ago(days: int, seconds: float = 0) -> Any:
    return clock_set_back(timedelta(days=days) - timedelta(seconds=seconds))


def _team(db: Connection, file: Path, rows: list[dict[str, Any]], people: Mapping[str, str]) -> _Team:
    import polars as pl

    plan = project_file.read_plan(file)
    # Their second calibration passes, so the German team needs no third.
    plan = replace(plan, phases=tuple(phase for phase in plan.phases if phase.name != "2c"))
    mine = [row for row in rows if row["project"] == plan.name]
    frame = pl.DataFrame(
        [
            {name: row[name] for name in ("id", "text", "lang")} | {"source": "demo", "licence": "Apache-2.0"}
            for row in mine
        ]
    )
    manager = people["humphry"]
    project = project_creation.create_project(db, plan, by=manager, posts_in=[frame]).project
    team = {login: members.add(db, project.id, people[login], ["annotator"], by=manager, pool="trained")
            for login in COLLEAGUES}  # fmt: skip
    for member in team.values():
        members.consent(db, project.id, member.user)
    team["jane"] = members.add(db, project.id, people["jane"], ["expert", "wellbeing"], by=manager)
    members.consent(db, project.id, people["jane"])
    if himself := members.get(db, project.id, manager):
        team["humphry"] = himself
    members.add(db, project.id, people["michael"], ["annotator"], by=manager, pool="new")
    chance = random.Random(project.id)  # noqa: S311 — made-up people, not secrets
    return _Team(project, manager, team, {row["id"]: row for row in mine}, chance)


def _opened(db: Connection, team: _Team, name: str) -> Phase:
    """Return a phase that people work in; the calibrations before it are closed when it opens."""
    wanted = phases.by_name(db, team.project.id, name)
    if wanted.state == "open":
        return wanted
    for phase in phases.of_project(db, team.project.id):
        if phase.state == "open" and not phase.behaviour.gives_verdicts:
            phases.close_phase(db, phase.id, by=team.manager)
    return phases.open_phase(db, wanted.id, by=team.manager)


def _work(db: Connection, team: _Team, phase: Phase, parts: tuple[int, ...], days: int) -> None:
    """Let the colleagues do a day's work, and measure how far they agree by its end."""
    if phase.behaviour.shared:
        every = items.of_phase(db, phase.id)
        shown = posts.public_ids(db, [item.post for item in every])
        for item in every:
            adjudication.save_shared(db, team.project, phase, item, team.truth(shown[item.post]), "", by=team.manager)
        return
    for login, most in zip(COLLEAGUES, parts, strict=True):
        passed = 0.0
        for _ in range(most):
            seconds = round(team.chance.uniform(4, 30), 1)
            passed += seconds
            with _days_ago(days, passed):
                _answer(db, team, phase, login, seconds)
    with _days_ago(days, 3600):
        monitoring.save_snapshot(db, phase.id)


def _answer(db: Connection, team: _Team, phase: Phase, login: str, seconds: float) -> None:
    """Let somebody answer their next post: as it is, or where it can be read in two ways and they do, in the other."""
    sheet = labelling.next_sheet(db, team.project, team.people[login], phase_id=phase.id)
    if sheet is None:
        return
    other = team.rows[sheet.post.id].get("second_reading", {})
    # Where one answer settles a post, nobody could put another reading right.
    reads_otherwise = other.get("who") == login and phase.answers != 1
    labelling.save(
        db,
        sheet,
        _answers(other["answers"]) if reads_otherwise else team.truth(sheet.post.id),
        annotation_id=new_id(),
        flags=other.get("flags", ()) if reads_otherwise else (),
        comment=other.get("comment") if reads_otherwise else None,
        seconds=seconds,
    )


def _talk(db: Connection, team: _Team, days: int, who: str, post: str, question: str, expert: str, answer: str) -> None:
    project = team.project.id
    with _days_ago(days, 5400):
        asked = messages.ask(db, project, question, by=team.people[who].user, post=posts.find_key(db, project, post))
    with _days_ago(days, 9000):
        messages.answer(db, project, asked.id, answer, by=team.people[expert].user)


def _decide(db: Connection, team: _Team) -> None:
    """Let the expert settle what people disagree on, but for a few cases that wait."""
    scheme, expert = scheme_of(db, team.project), team.people["jane"]
    for _ in range(max(0, phase_answers.count_open_cases(db, team.project.id) - WAITING)):
        case = expert_cases.take_case(db, team.project, expert)
        assert case is not None  # it was counted
        (post,) = posts.public_ids(db, [case.post]).values()
        truth, given = team.truth(post), dict[str, tuple[str, ...]]()
        while missing := expert_cases.open_case(db, team.project, expert, case.id, scheme, given).missing:
            given[missing[0]] = truth[missing[0]]
        reason = team.rows[post].get("second_reading", {}).get("why") or "Read once more with the guideline."
        expert_cases.decide(db, team.project, case.id, expert, scheme, given, reason)


def _answers(row: Mapping[str, list[str]]) -> Answers:
    return {name: tuple(labels) for name, labels in row.items()}
