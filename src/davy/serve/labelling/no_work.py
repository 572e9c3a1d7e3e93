"""Why somebody has nothing to label, and what comes next: in words, with a way on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from davy.annotate import eligibility
from davy.core import Member, Phase, Project
from davy.serve.i18n import Translator
from davy.store import Connection, phases, tallies


@dataclass(frozen=True, slots=True)
class NoWork:
    """What was found: all phases, and how much this person did in the one that is open."""

    project: Project
    member: Member
    phases: tuple[Phase, ...]
    done: int = 0
    refused: int = 0

    @property
    def is_open(self) -> bool:
        """Whether there is a phase that answers can still change in."""
        return self.project.state == "open" and any(phase.state == "open" for phase in self.phases)


def explain_no_work(db: Connection, project: Project, member: Member) -> NoWork:
    """Return what explains that there is nothing for this person."""
    found = tuple(phases.of_project(db, project.id))
    mine = [tallies.get(db, phase.id, member.user) for phase in found if phase.state == "open"]
    return NoWork(project, member, found, sum(it.given for it in mine), sum(it.refused for it in mine))


def no_work_values(words: Translator, it: NoWork) -> dict[str, Any]:
    """Return what `parts/nothing.html` shows."""
    address = f"/projects/{it.project.id}"
    overview = {"href": address, "do": words("label.none.overview"), "progress": None}
    again = {"href": f"{address}/label", "do": words("label.none.check"), "progress": None}
    open_ones = [phase for phase in it.phases if phase.state == "open"]
    waiting = [phase for phase in it.phases if phase.state == "waiting"]
    if it.project.state == "closed":
        text = words("label.none.project_closed_text")
        return {"title": words("label.none.closed"), "lines": [text], **overview}
    together = [phase for phase in open_ones if phase.behaviour.shared]
    if together:
        text = words("label.none.discussion_text", phase=together[0].name)
        on = {"href": f"{address}/discussion", "do": words("label.none.discuss"), "progress": None}
        return {"title": words("label.none.discussion"), "lines": [text], **on}
    if open_ones and not any(eligibility.may_work(it.member, phase, it.phases) for phase in open_ones):
        if it.member.choices.get(eligibility.SCREENING_PASSED) == "failed":
            return {"title": words("label.none.thanks"), "lines": [words("label.none.thanks_text")], **overview}
        text = words("label.none.not_yours_text", phase=open_ones[0].name)
        return {"title": words("label.none.not_yours"), "lines": [text], **again}
    if open_ones:
        text = words("label.none.all_done_text", phase=open_ones[0].name)
        total = sum(phase.size for phase in open_ones)
        progress = (it.done, total) if it.done and total >= it.done else None
        return {"title": words("label.none.all_done"), "lines": [text], **again, "progress": progress}
    if waiting:
        text = words("label.none.waiting_text", phase=waiting[0].name)
        return {"title": words("label.none.waiting"), "lines": [text], **again}
    if not it.phases:
        text = words("label.none.no_phase_text")
        return {"title": words("label.none.waiting"), "lines": [text], **again}
    return {"title": words("label.none.closed"), "lines": [words("label.none.closed_text")], **overview}
