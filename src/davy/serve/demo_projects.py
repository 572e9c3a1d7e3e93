"""The demo's two projects, an English and a German one, as they look after some days of work.

Three people who can't sign in have answered, alike but not always, so that there is agreement to
look at, posts wait for the demo's annotator, and disagreements for its expert. Everything is made
through the same functions that pages use.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from davy.annotate import consensus, labelling, monitoring, project_creation, project_file
from davy.core import Member, Phase, Project
from davy.core.annotation import Answers
from davy.store import Connection, events, items, members, messages, phases, posts, users
from davy.store.columns import new_id

COLLEAGUES = {"ada": "Ada", "karl": "Karl", "lena": "Lena"}

PLANS: tuple[str, ...] = ("mill-valley", "am-fluss")


def add(db: Connection, people: Mapping[str, str], folder: Path) -> None:
    """Add both projects; `people` are the ids of humphry, jane and michael."""
    colleagues = [
        users.add(db, login=login, name=name, role="annotator", by=events.SYSTEM).id
        for login, name in COLLEAGUES.items()
    ]
    text = (folder / "project_posts.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    for name in PLANS:
        _project(db, folder / f"{name}.yaml", rows, colleagues, people)


def _project(
    db: Connection, file: Path, rows: list[dict[str, Any]], colleagues: list[str], people: Mapping[str, str]
) -> None:
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
    project = project_creation.create_project(db, plan, by=people["humphry"], posts_in=[frame]).project
    team = [
        members.add(db, project.id, user, ["annotator"], by=people["humphry"], pool="trained") for user in colleagues
    ]
    for member in team:
        members.consent(db, project.id, member.user)
    truth = {row["id"]: {name: tuple(labels) for name, labels in row["answers"].items()} for row in mine}
    _work(db, project, team, truth, people["humphry"])
    members.add(db, project.id, people["jane"], ["expert", "wellbeing"], by=people["humphry"])
    members.add(db, project.id, people["michael"], ["annotator"], by=people["humphry"], pool="new")
    messages.announce(db, project.id, _WELCOME[plan.name], by=people["humphry"])
    events.record(db, by=events.SYSTEM, what="demo made", about=f"project {project.id}")


_WELCOME = {
    "mill-valley": "The main phase is open. Take your time, and take the breaks.",
    "am-fluss": "Phase 3 ist offen. Lassen Sie sich Zeit, und machen Sie Pausen.",
}


def _work(db: Connection, project: Project, team: list[Member], truth: Mapping[str, Answers], manager: str) -> None:
    """Let the colleagues work: what comes before production in full, of production a part."""
    chance = random.Random(project.id)  # noqa: S311 — made-up people, not secrets
    for phase in phases.of_project(db, project.id):
        phase = phases.open_phase(db, phase.id, by=manager)
        if phase.behaviour.shared:
            shown = posts.public_ids(db, [item.post for item in items.of_phase(db, phase.id)])
            for item in items.of_phase(db, phase.id):
                consensus.save_shared(db, project, phase, item, truth[shown[item.post]], "", by=manager)
        # They err more in their first set; in production they have done only a part.
        slips = {"2a": 0.2, "2b": 0.05, "try-out": 0.04}.get(phase.name, 0.15)
        for place, member in enumerate(team):
            part = (18, 18, 8)[place] if phase.answers == 3 else 3
            most = part if phase.behaviour.gives_verdicts else phase.size
            _answer(db, project, phase, member, truth, chance, slips=slips, most=most)
        if not phase.behaviour.gives_verdicts:
            phases.close_phase(db, phase.id, by=manager)
        if not phase.behaviour.shared:
            monitoring.save_snapshot(db, phase.id)


def _answer(
    db: Connection,
    project: Project,
    phase: Phase,
    member: Member,
    truth: Mapping[str, Answers],
    chance: random.Random,
    *,
    slips: float,
    most: int,
) -> None:
    for _ in range(most):
        sheet = labelling.next_sheet(db, project, member, phase_id=phase.id)
        if sheet is None:
            return
        answers = truth[sheet.post.id]
        if chance.random() < slips:
            answers = chance.choice([other for other in truth.values() if other != answers])
        labelling.save(db, sheet, answers, annotation_id=new_id(), seconds=round(chance.uniform(4, 30), 1))
