"""Who is in a challenge: organisers, people who accepted the rules, and their teams.

A team sends through one account, its captain. A name is kept with its key, which the caller computes: what it looks
like. Two names that could be taken for each other have one key, and the database refuses the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, Connection, UniqueConstraint, delete, func, select, update

from davy.challenges.challenge import ChallengePerson, Team
from davy.challenges.store.submissions import submissions
from davy.core.errors import UserError
from davy.people.store import users
from davy.people.store.personal_data import PersonDeletion, plain_rows
from davy.people.store.tables import users as users_table
from davy.store import events
from davy.store.columns import TextColumn, TimeColumn, new_id, now, table_index
from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class TeamInvitation:
    """An open invitation to a team."""

    team: str
    login: str
    """Kept as it was typed: whether there is such an account is nobody's business but its owner's."""
    at: datetime


_TEAMS = Rows(
    Team,
    "challenge_teams",
    Column("name_key", TextColumn, nullable=False),
    UniqueConstraint("challenge", "name_key", name="uq_challenge_teams_name"),
    CheckConstraint("kind IN ('team', 'baseline', 'human')", name="kind"),
    table_index("ix_challenge_teams_captain", "captain"),
    references={"challenge": "challenges.id", "captain": "users.id"},
)
challenge_teams = _TEAMS.table
_PEOPLE = Rows(
    ChallengePerson,
    "challenge_people",
    Column("added_at", TimeColumn, nullable=False),
    table_index("ix_challenge_people_user_id", "user_id"),
    table_index("ix_challenge_people_team", "team"),
    key=("challenge", "user"),
    references={"challenge": "challenges.id", "user": "users.id", "team": "challenge_teams.id"},
    names={"user": "user_id"},
)
challenge_people = _PEOPLE.table
_INVITATIONS = Rows(
    TeamInvitation,
    "team_invitations",
    Column("invited_by", TextColumn, nullable=False),
    table_index("ix_team_invitations_login", "login"),
    key=("team", "login"),
    references={"team": "challenge_teams.id"},
)
team_invitations = _INVITATIONS.table


def find_person(db: Connection, challenge_id: str, user_id: str) -> ChallengePerson | None:
    """Return an account's place in a challenge, or None."""
    return _PEOPLE.get(db, *_person(challenge_id, user_id))


def add_person(db: Connection, challenge_id: str, user_id: str, *, by: str, organiser: bool = False) -> ChallengePerson:
    """Let an account into a challenge; an organiser runs it. Doing it twice changes nothing but the right."""
    known = find_person(db, challenge_id, user_id)
    if known is None:
        known = _PEOPLE.insert(db, ChallengePerson(challenge_id, user_id, organiser), added_at=now())
    elif organiser and known.team is not None:
        raise UserError("A person in a team can't organise the challenge: they would see the board first.", status=409)
    elif organiser:
        _PEOPLE.update(db, *_person(challenge_id, user_id), organiser=True)
        known = replace(known, organiser=True)
    _record(db, by, "challenge person added", challenge_id, user=user_id, organiser=organiser)
    return known


def accept_rules(db: Connection, challenge_id: str, user_id: str) -> None:
    """Note that an account accepted the rules."""
    add_person(db, challenge_id, user_id, by=user_id)
    _PEOPLE.update(db, *_person(challenge_id, user_id), accepted_at=now())
    _record(db, user_id, "challenge rules accepted", challenge_id)


def organisers(db: Connection, challenge_id: str) -> list[users.User]:
    """Return the accounts that run a challenge."""
    query = select(users_table).join(challenge_people, challenge_people.c.user_id == users_table.c.id)
    query = query.where(challenge_people.c.challenge == challenge_id, challenge_people.c.organiser == 1)
    return [users.user_of(row) for row in db.execute(query.order_by(users_table.c.login))]


def create(
    db: Connection, challenge_id: str, name: str, name_key: str, *, by: str, captain: str | None, kind: str = "team"
) -> Team:
    """Add a team and return it; its captain is in no other team and organises nothing here."""
    name = clean_name(name)
    _refuse_taken(db, challenge_id, name, name_key)
    if captain is not None:
        _check_free(db, challenge_id, captain)
    team = _TEAMS.insert(db, Team(new_id(), challenge_id, name, kind, captain, now()), name_key=name_key)
    if captain is not None:
        _join(db, team, captain)
    _record(db, by, "team created", challenge_id, team=team.id, kind=kind)
    return team


def rename(db: Connection, team: Team, name: str, name_key: str, *, by: str) -> None:
    """Give a team another name; one that could be taken for another team's is refused."""
    name = clean_name(name)
    _refuse_taken(db, team.challenge, name, name_key, but=team.id)
    _TEAMS.update(db, challenge_teams.c.id == team.id, name=name, name_key=name_key)
    _record(db, by, "team renamed", team.challenge, team=team.id, was=team.name, name=name)


def clean_name(name: str) -> str:
    """Return a team's name as it is shown; one that is empty, long or has control characters is refused."""
    name = " ".join(name.split())
    if not 2 <= len(name) <= 60 or not name.isprintable():
        raise UserError(f"A team's name has 2 to 60 characters on one line; this one has {len(name)}.", status=422)
    return name


def invite(db: Connection, team: Team, login: str, *, by: str) -> None:
    """Invite a login to a team; whether there is such an account is not told."""
    folded = users.clean_login(login)
    known = db.execute(select(func.count()).select_from(team_invitations).where(team_invitations.c.team == team.id))
    if known.scalar_one() >= 50:
        raise UserError("This team has 50 open invitations already. Take one back first.", status=409)
    own = (team_invitations.c.team == team.id, team_invitations.c.login == folded)
    if not db.execute(select(team_invitations.c.team).where(*own)).first():
        _INVITATIONS.insert(db, TeamInvitation(team.id, folded, now()), invited_by=by)
        _record(db, by, "team invitation made", team.challenge, team=team.id)


def take_back(db: Connection, team: Team, login: str, *, by: str) -> None:
    """Take an invitation back, or decline it."""
    own = (team_invitations.c.team == team.id, team_invitations.c.login == login)
    if db.execute(delete(team_invitations).where(*own)).rowcount:
        _record(db, by, "team invitation ended", team.challenge, team=team.id)


def invitations(db: Connection, team_id: str) -> list[TeamInvitation]:
    """Return a team's open invitations."""
    query = _INVITATIONS.select(team_invitations.c.team == team_id)
    return _INVITATIONS.list(db, query.order_by(team_invitations.c.login))


def invited_to(db: Connection, challenge_id: str, login: str) -> list[Team]:
    """Return the teams of a challenge that a login is invited to."""
    query = _TEAMS.select().join(team_invitations, team_invitations.c.team == challenge_teams.c.id)
    query = query.where(challenge_teams.c.challenge == challenge_id, team_invitations.c.login == login)
    return _TEAMS.list(db, query.order_by(challenge_teams.c.name))


def join(db: Connection, team: Team, user: users.User) -> None:
    """Put an account that was invited into a team; the invitation is used up."""
    _check_free(db, team.challenge, user.id)
    own = (team_invitations.c.team == team.id, team_invitations.c.login == user.login)
    if not db.execute(delete(team_invitations).where(*own)).rowcount:
        raise UserError("You were not invited to this team. Ask its captain.", status=403)
    _join(db, team, user.id)
    _record(db, user.id, "team joined", team.challenge, team=team.id)


def leave(db: Connection, team: Team, user_id: str, *, by: str) -> None:
    """Take an account out of a team; the captain stays as long as there is nobody else to hand over to."""
    if team.captain == user_id:
        raise UserError("You send for this team. Hand that over to another member first.", status=409)
    own = (*_person(team.challenge, user_id), challenge_people.c.team == team.id)
    if _PEOPLE.update(db, *own, team=None):
        _record(db, by, "team left", team.challenge, team=team.id, user=user_id)


def hand_over(db: Connection, team: Team, user_id: str, *, by: str) -> None:
    """Make another member the one account that sends."""
    person = find_person(db, team.challenge, user_id)
    if person is None or person.team != team.id:
        raise UserError("That person is not in the team.", status=404)
    _TEAMS.update(db, challenge_teams.c.id == team.id, captain=user_id)
    _record(db, by, "team handed over", team.challenge, team=team.id, user=user_id)


def set_withdrawn(db: Connection, team: Team, *, withdrawn: bool, by: str) -> None:
    """Leave a team out of the boards, or take it in again."""
    _TEAMS.update(db, challenge_teams.c.id == team.id, withdrawn_at=now() if withdrawn else None)
    _record(db, by, "team left out" if withdrawn else "team taken in", team.challenge, team=team.id)


def get(db: Connection, challenge_id: str, team_id: str, *, lock: bool = False) -> Team:
    """Return a team of a challenge; `lock` holds its row until the transaction ends."""
    own = (challenge_teams.c.id == team_id, challenge_teams.c.challenge == challenge_id)
    query = _TEAMS.select(*own)
    for team in _TEAMS.list(db, query.with_for_update() if lock else query):
        return team
    raise UserError("There is no such team in this challenge.", status=404)


def find_by_key(db: Connection, challenge_id: str, name_key: str) -> Team | None:
    """Return the team whose name looks like this, or None."""
    return _TEAMS.get(db, challenge_teams.c.challenge == challenge_id, challenge_teams.c.name_key == name_key)


def of_challenge(db: Connection, challenge_id: str) -> dict[str, Team]:
    """Return the teams of a challenge by id, in the order of their names."""
    query = _TEAMS.select(challenge_teams.c.challenge == challenge_id)
    return {team.id: team for team in _TEAMS.list(db, query.order_by(challenge_teams.c.name_key))}


def members(db: Connection, team_id: str) -> list[users.User]:
    """Return the accounts in a team."""
    query = select(users_table).join(challenge_people, challenge_people.c.user_id == users_table.c.id)
    query = query.where(challenge_people.c.team == team_id)
    return [users.user_of(row) for row in db.execute(query.order_by(users_table.c.login))]


def personal_data(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return a person's challenges and what they sent; nothing of a project."""
    if project_id is not None:
        return {}
    return {
        "challenges": plain_rows(db, challenge_people, challenge_people.c.user_id == user_id),
        "submissions": plain_rows(db, submissions, submissions.c.by == user_id),
    }


def forget_person(db: Connection, deletion: PersonDeletion) -> None:
    """Take an account that is deleted out of every challenge; what its team sent stays the team's."""
    user_id = deletion.user.id
    _TEAMS.update(db, challenge_teams.c.captain == user_id, captain=None)
    db.execute(delete(challenge_people).where(challenge_people.c.user_id == user_id))
    db.execute(delete(team_invitations).where(team_invitations.c.login == deletion.user.login))
    db.execute(update(submissions).where(submissions.c.by == user_id).values(by=None, address=None))


def _join(db: Connection, team: Team, user_id: str) -> None:
    _PEOPLE.update(db, *_person(team.challenge, user_id), team=team.id)


def _check_free(db: Connection, challenge_id: str, user_id: str) -> None:
    """Refuse who may not join a team: the rules not accepted, an organiser, somebody in a team."""
    person = find_person(db, challenge_id, user_id)
    if person is None or person.accepted_at is None:
        raise UserError("Accept the rules of this challenge first.", status=409)
    if person.organiser:
        raise UserError("Who organises a challenge can't be in a team of it.", status=409)
    if person.team is not None:
        raise UserError("You are in a team already. Leave it first.", status=409)


def _refuse_taken(db: Connection, challenge_id: str, name: str, name_key: str, *, but: str = "") -> None:
    taken = find_by_key(db, challenge_id, name_key)
    if taken is not None and taken.id != but:
        raise UserError(
            f"{name!r} can be taken for the team {taken.name!r}. Choose a name that looks different.", status=409
        )


def _person(challenge_id: str, user_id: str) -> tuple[Any, Any]:
    return challenge_people.c.challenge == challenge_id, challenge_people.c.user_id == user_id


def _record(db: Connection, by: str, what: str, challenge_id: str, **details: Any) -> None:
    events.record(db, by=by, what=what, about=f"challenge {challenge_id}", **details)
