"""A project's roster: putting people on it, and phases that wait for everyone on it.

An account joins at once, anybody else by a link that works once. In a phase where everyone answers, a post is complete
when each of the people who may work in it has answered it, refused it or written it. It is settled with the last
answer; where it is not an answer that makes it complete, as when somebody leaves, `settle_complete` does it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from davy.annotation.labelling import eligibility
from davy.annotation.labelling.store import assignments
from davy.annotation.project.project import Item, Member, Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import member_data, members, phases, posts, projects
from davy.annotation.settling import adjudication
from davy.people.store import invitations, users
from davy.people.store.invitations import LASTS, Invitation
from davy.people.store.personal_data import DeletionCounts, PersonDeletion
from davy.people.store.users import User
from davy.store import Connection


@dataclass(frozen=True, slots=True)
class Joined:
    """An account that is on the roster now."""

    user: User
    member: Member


@dataclass(frozen=True, slots=True)
class Invited:
    """An invitation for somebody without an account; its token can't be shown again."""

    invitation: Invitation
    token: str


def invite(
    db: Connection,
    project: str,
    login: str | None,
    roles: Iterable[str],
    *,
    by: str,
    lasts: timedelta = LASTS,
    pool: str | None = None,
) -> Joined | Invited:
    """Add the account of a login to a project; without one, make an invitation for that login, or for anyone."""
    user = users.by_login(db, login) if login else None
    if user is not None:
        return Joined(user, members.add(db, project, user.id, roles, by=by, pool=pool))
    made, token = invitations.create(
        db, role="annotator", login=login, by=by, lasts=lasts, project=project, project_roles=roles, pool=pool
    )
    return Invited(made, token)


def answers_needed(db: Connection, project: Project, phase: Phase, item: Item, member: Member) -> int | None:
    """Return how many answers make an item full, the one that this member is about to give among them.

    None where no number does. Nobody rates what they made: where a phase takes an answer from each of its annotators
    and one of them made the post, it is full with one answer fewer.
    """
    if phase.answers is not None and phase.behaviour.rates_memes and phase.answers > 1:
        people = _people_asked(db, project, phase, phases.of_project(db, project.id))
        return phase.answers - (len(people) <= phase.answers and posts.author_of(db, item.post) in people)
    if phase.answers is not None or not phase.behaviour.gives_verdicts:
        return phase.answers
    people = _people_asked(db, project, phase, phases.of_project(db, project.id))
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
        people = _people_asked(db, project, phase, every)
        for item in assignments.find_complete(db, phase.id, people) if people else ():
            adjudication.settle_item(db, project, phase, item, scheme_of(db, project))


def delete_in_project(
    db: Connection, project: Project, user_id: str, *, by: str, comments: bool = True
) -> DeletionCounts:
    """Delete a person's data in a project (see `store.member_data`), and settle what only waited for them."""
    done = member_data.delete_in_project(db, project.id, user_id, by=by, comments=comments)
    settle_complete(db, project)
    return done


def forget_person(db: Connection, deletion: PersonDeletion) -> DeletionCounts:
    """Delete a person's data in all projects, and settle what only waited for them."""
    mine = [project for project, _ in projects.of_user(db, deletion.user.id, left=True)]
    done = member_data.delete_everywhere(db, deletion)
    for project in mine:
        settle_complete(db, project)
    return done


def _people_asked(db: Connection, project: Project, phase: Phase, every: list[Phase]) -> list[str]:
    """Return who answers every post of a phase: its annotators, or experts, who may work in it now."""
    role = "expert" if phase.behaviour.by_experts else "annotator"
    on_roster = members.of_project(db, project.id, role=role)
    return [member.user for member in on_roster if eligibility.may_work(member, phase, every)]
