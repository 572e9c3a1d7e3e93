"""What waits for a person in a project: posts to label, memes, a discussion, cases to settle, messages to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from davy.annotation.labelling import eligibility
from davy.annotation.labelling.store import tallies
from davy.annotation.project.pages.project_access import Place
from davy.annotation.project.project import Phase
from davy.annotation.project.store import messages
from davy.annotation.settling.store import phase_answers
from davy.store import Connection


def work_waiting(db: Connection, place: Place, every: Sequence[Phase]) -> dict[str, Any]:
    """Return what waits, by kind: phases with what the person did in each, and counts."""
    waiting: dict[str, Any] = {"label": [], "memes": [], "cases": 0, "unread": 0, "talk": []}
    member = place.member
    if member is None or place.left:
        return waiting
    for phase in every:
        works = place.may("label posts") if phase.behaviour.task else "annotator" in member.roles
        if works and place.project.state == "open" and eligibility.may_work(member, phase, every):
            did = tallies.get(db, phase.id, member.user)
            waiting["memes" if phase.behaviour.task else "label"].append((phase, did.given + did.refused))
        talks = phase.behaviour.shared and phase.state == place.project.state == "open"
        if talks and phase_answers.count_states(db, phase.id).get("open"):
            waiting["talk"].append(phase)
    if place.may("settle cases"):
        waiting["cases"] = phase_answers.count_open_cases(db, place.project.id)
    waiting["unread"] = messages.unread(db, place.project.id, member.user, member.read_until)
    return waiting
