"""Phases in which everyone answers every post: when a post has all its answers, and what follows when somebody leaves.

A post is complete when each of the people who may work in the phase has answered it, refused it or written it. It is
settled with the last answer; where it is not an answer that makes it complete, `settle_complete` does it.
"""

from __future__ import annotations

from davy.annotation.labelling import eligibility
from davy.annotation.labelling.store import assignments
from davy.annotation.project.project import Item, Member, Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, phases, projects
from davy.annotation.settling import adjudication
from davy.people.store import personal_data
from davy.people.store.personal_data import DeletionCounts
from davy.store import Connection


def answers_needed(db: Connection, project: Project, phase: Phase, item: Item, member: Member) -> int | None:
    """Return how many answers make an item full, the one that this member is about to give among them.

    None where no number does.
    """
    if phase.answers is not None or not phase.behaviour.gives_verdicts:
        return phase.answers
    people = _people(db, project, phase, phases.of_project(db, project.id))
    if not people:
        return None
    given, missing = assignments.count_missing(db, item.id, people)
    return given + missing + (member.user not in people)


def settle_complete(db: Connection, project: Project) -> None:
    """Settle the open posts for which nobody is left to answer, as after somebody left, refused or was deleted."""
    every = phases.of_project(db, project.id)
    for phase in every:
        if phase.answers is not None or not phase.behaviour.gives_verdicts or phase.state != "open":
            continue
        people = _people(db, project, phase, every)
        for item in assignments.find_complete(db, phase.id, people) if people else ():
            adjudication.settle_item(db, project, phase, item, scheme_of(db, project))


def delete_in_project(
    db: Connection, project: Project, user_id: str, *, by: str, comments: bool = True
) -> DeletionCounts:
    """Delete a person's data in a project (see `people.store.personal_data`), and settle what only waited for them."""
    done = personal_data.delete_in_project(db, project.id, user_id, by=by, comments=comments)
    settle_complete(db, project)
    return done


def delete_account(db: Connection, user_id: str, *, by: str, comments: bool = True) -> DeletionCounts:
    """Delete a person's data in all projects and their account, and settle what only waited for them."""
    mine = [project for project, _ in projects.of_user(db, user_id, left=True)]
    done = personal_data.delete_account(db, user_id, by=by, comments=comments)
    for project in mine:
        settle_complete(db, project)
    return done


def _people(db: Connection, project: Project, phase: Phase, every: list[Phase]) -> list[str]:
    """Return who answers every post of a phase: its annotators, or experts, who may work in it now."""
    role = "expert" if phase.behaviour.by_experts else "annotator"
    on_roster = members.of_project(db, project.id, role=role)
    return [member.user for member in on_roster if eligibility.may_work(member, phase, every)]
