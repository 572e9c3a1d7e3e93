"""Who may do what in a challenge: one line a permission, and the dependency that its pages ask for.

A route under `/challenges/{challenge_id}` says `Depends(in_challenge("submit"))` and gets a `ChallengePlace`. Who may
not see a challenge is answered as if there were none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from davy.challenges.challenge import Challenge, ChallengePerson, ChallengePhase, Team
from davy.challenges.store import challenges, teams
from davy.core.errors import UserError
from davy.people.pages.visitor import ApiAccess, find_visitor, key_or_session, with_access
from davy.people.store.users import User
from davy.store import Connection
from davy.store.columns import now
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, SignInRequired

CHALLENGE_MAY: dict[str, tuple[str, ...]] = {
    "see the challenge": ("organiser", "team", "person", "account", "world"),
    "accept the rules": ("team", "person", "account"),
    "download": ("organiser", "team", "person"),
    "have a team": ("team", "person"),
    "submit": ("team",),
    "organise": ("organiser",),
}
"""What each part in a challenge may do. `person` accepted the rules; `account` has not, `world` is not signed in."""

ROOMS: tuple[tuple[str, str], ...] = (
    ("", "see the challenge"),
    ("board", "see the challenge"),
    ("team", "have a team"),
    ("submit", "submit"),
    ("organise", "organise"),
    ("analysis", "organise"),
)


@dataclass(frozen=True, slots=True)
class ChallengePlace:
    """Where a request is: in which challenge, as whom, in which team."""

    challenge: Challenge
    person: ChallengePerson | None
    team: Team | None
    account: User | None

    @property
    def part(self) -> str:
        """What this visitor is in the challenge."""
        if self.account is None:
            return "world"
        if self.account.role == "admin" or (self.person is not None and self.person.organiser):
            return "organiser"
        if self.team is not None:
            return "team"
        return "person" if self.person is not None and self.person.accepted_at is not None else "account"

    def may(self, act: str) -> bool:
        """Return whether this visitor has a permission here; an unknown permission is a bug and raises KeyError."""
        return self.part in CHALLENGE_MAY[act]

    def reads_board(self, phase: ChallengePhase, at: datetime) -> bool:
        """Return whether this visitor reads the figures of a phase now."""
        readers = phase.board_readers(at)
        return self.part == "organiser" or readers == "public" or (readers == "teams" and self.part == "team")

    @property
    def address(self) -> str:
        """Where the challenge's pages begin."""
        return f"/challenges/{self.challenge.id}"

    @property
    def user(self) -> User:
        """The account; only for permissions that nobody has without one."""
        if self.account is None:
            raise SignInRequired
        return self.account


def in_challenge(act: str) -> Callable[..., ChallengePlace]:
    """Return a dependency that gives the `ChallengePlace` if this visitor has the permission."""
    assert act in CHALLENGE_MAY, act

    def check(request: Request, challenge_id: str) -> ChallengePlace:
        account = find_visitor(request).account
        with context_of(request).store.read() as db:
            return require(find_place(db, challenge_id, account), act)

    return check


def by_key(act: str, scope: str) -> Callable[..., Awaitable[ChallengePlace]]:
    """Return the same for the API: a key with the scope, or a session."""
    assert act in CHALLENGE_MAY, act
    authorised = key_or_session(scope, "see projects")

    async def check(request: Request, challenge_id: str) -> ChallengePlace:
        account = await authorised(request)

        def place() -> ChallengePlace:
            with context_of(request).store.read() as db:
                return require(find_place(db, challenge_id, account), act)

        return await to_thread.run_sync(place)

    return with_access(check, ApiAccess(scope))


def find_place(db: Connection, challenge_id: str, account: User | None) -> ChallengePlace:
    """Return where somebody stands in a challenge; one that they may not see is refused like one there isn't."""
    try:
        challenge = challenges.get(db, challenge_id)
    except UserError:
        if account is None:
            raise SignInRequired from None
        raise LocalizedError("no_such", status=404) from None
    person = None if account is None else teams.find_person(db, challenge_id, account.id)
    if account is None and challenge.visibility != "world":
        raise SignInRequired
    team = teams.get(db, challenge_id, person.team) if person is not None and person.team is not None else None
    place = ChallengePlace(challenge, person, team, account)
    if challenge.visibility == "people" and person is None and place.part != "organiser":
        raise LocalizedError("no_such", status=404)
    return place


def require(place: ChallengePlace, act: str) -> ChallengePlace:
    """Return the place if its visitor has the permission there."""
    if place.may(act):
        return place
    if place.account is None:
        raise SignInRequired
    raise LocalizedError("not_in_challenge", status=403)


def challenge_page(
    request: Request, place: ChallengePlace, template: str, *, status: int = 200, **values: Any
) -> Response:
    """Return a page of a challenge, with its navigation."""
    rooms = [
        (room or "overview", f"{place.address}/{room}" if room else place.address)
        for room, act in ROOMS
        if place.may(act)
    ]
    return render.page(
        request, template, status=status, place=place, challenge=place.challenge, rooms=rooms, at=now(), **values
    )
