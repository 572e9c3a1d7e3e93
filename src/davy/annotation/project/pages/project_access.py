"""Who may do what in a project: one line a permission, and the dependency that project pages ask for.

A route under `/projects/{project_id}/` says `Depends(in_project("label posts"))` and gets a `ProjectAccess`:
the project, the membership and the account. Who is not in a project is answered alike
whether it exists or not, so that addresses tell strangers nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care.care import zone_of
from davy.annotation.care.store import check_ins
from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import members, messages, picture_locks, projects
from davy.core import Wording
from davy.core.feature import features
from davy.people.pages.visitor import ApiAccess, authorise, find_visitor, set_visitor, touch, with_access
from davy.people.store import users
from davy.people.store.users import User
from davy.store import Connection
from davy.web import cookies, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, SignInRequired

PROJECT_MAY: dict[str, tuple[str, ...]] = {
    "see the project": ("manager", "expert", "annotator", "wellbeing", "adversarial"),
    "label posts": ("annotator", "expert"),
    "enter texts": ("annotator", "expert"),
    "settle cases": ("expert",),
    "browse posts": ("manager", "expert", "annotator"),
    "see verdicts": ("manager", "expert"),
    "watch": ("manager", "expert"),
    "manage": ("manager",),
    "change guidelines": ("manager",),
    "announce": ("manager",),
    "answer questions": ("manager", "expert"),
    "write in the channel": ("manager", "expert", "annotator", "wellbeing", "adversarial"),
    "code posts": ("manager", "expert", "annotator"),
    "check in": ("manager", "expert", "annotator", "wellbeing", "adversarial"),
    "read check-ins": ("wellbeing",),
    "see hours": ("manager",),
    "export": ("manager",),
    "train": ("manager",),
    # Texts that get past a detector: no manager and no admin has this by being one.
    "attack": ("adversarial",),
}

ADMINS_MAY: tuple[str, ...] = (
    "see the project",
    "browse posts",
    "see verdicts",
    "watch",
    "manage",
    "change guidelines",
    "announce",
    "see hours",
    "export",
    "train",
)
"""What an admin of the server may do in every project: run it, but neither label, settle nor read check-ins."""

PROJECT_TABS: dict[str, tuple[tuple[str, str], ...]] = {
    "overview": (("", "see the project"),),
    "work": (
        ("label", "label posts"),
        ("expert", "settle cases"),
        ("rounds", "see the project"),
        ("memes", "see the project"),
        ("guideline", "see the project"),
        ("coding", "code posts"),
        ("mine", "label posts"),
    ),
    "results": (("watch", "watch"), ("verdicts", "see verdicts"), ("exports", "export")),
    "detectors": (("train", "train"), ("attack", "attack")),
    "team": (("roster", "manage"), ("channel", "write in the channel"), ("care", "check in")),
    "settings": (
        ("settings", "manage"),
        ("images", "manage"),
        ("keys", "manage"),
        ("retention", "manage"),
        ("audit", "manage"),
    ),
}
"""The pages of a project by group, in the order of its navigation, each with the permission it takes."""
WITHOUT_TAB: dict[str, tuple[str, ...]] = {"work": ("consent", "discussion")}
"""Pages that belong to a group and have no tab of their own."""


@dataclass(frozen=True, slots=True)
class TabGroup:
    """A group of the navigation: its pages as (name, address), those that this person may open."""

    name: str
    tabs: tuple[tuple[str, str], ...]
    also: tuple[str, ...] = ()
    """Addresses of pages that belong to it and have no tab."""

    def is_on(self, path: str) -> bool:
        """Return whether a path is on one of its pages."""
        return bool(self.current(path)) or path in self.also

    def current(self, path: str) -> str:
        """Return the name of its page that a path is on; empty where it is on none."""
        for tab, address in self.tabs:
            if path == address or (tab != "overview" and path.startswith(f"{address}/")):
                return tab
        return ""

    def news(self, marks: Mapping[str, int]) -> int:
        """Return how much waits on its pages."""
        return sum(marks.get(tab, 0) for tab, _ in self.tabs)


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """Where a request is: in which project, as whom. `member` is None for an admin who is not on the roster."""

    project: Project
    member: Member | None
    account: User

    def may(self, act: str) -> bool:
        """Return whether this person has a permission here; an unknown permission is a bug and raises KeyError."""
        roles = self.member.roles if self.member is not None and self.member.left_at is None else ()
        return bool(set(roles) & set(PROJECT_MAY[act])) or (self.account.role == "admin" and act in ADMINS_MAY)

    @property
    def left(self) -> bool:
        """Whether this person was in the project and left it."""
        return self.member is not None and self.member.left_at is not None

    @property
    def address(self) -> str:
        """Where the project's pages begin."""
        return f"/projects/{self.project.id}"


class RoleRequired(LocalizedError):
    """The person's roles in a project don't allow an act; the page says which role does and who gives it."""

    def __init__(self, act: str) -> None:
        super().__init__("not_allowed_here", status=403)
        self.roles = PROJECT_MAY[act]


def in_project(act: str, *, left: bool = False) -> Callable[..., ProjectAccess]:
    """Return a dependency that gives the `ProjectAccess` of who has the permission; with `left`, past members too."""
    assert act in PROJECT_MAY, act

    # Not `Anyone`: who asks and where they are is one query and one turn in a worker thread.
    def check(request: Request, project_id: str) -> ProjectAccess:
        token = session_token(request)
        with context_of(request).store.read() as db:
            place = find_access(request, db, token, project_id)
        touch(request, find_visitor(request))
        return require_permission(place, act, left=left)

    return check


Here = Annotated[ProjectAccess, Depends(in_project("see the project"))]
Labels = Annotated[ProjectAccess, Depends(in_project("label posts"))]
Manages = Annotated[ProjectAccess, Depends(in_project("manage"))]


def project_by_key(act: str, scope: str) -> Callable[..., Awaitable[ProjectAccess]]:
    """Return the same for the API: a key with the scope, whose owner has the permission here, or a session."""
    assert act in PROJECT_MAY, act

    async def check(request: Request, project_id: str) -> ProjectAccess:
        account = await authorise(request, scope, "see projects", project=project_id)

        def place() -> ProjectAccess:
            with context_of(request).store.read() as db:
                project = projects.find(db, project_id)
                member = members.get(db, project_id, account.id) if project is not None else None
            return require_permission(_access(project, member, account), act)

        return await to_thread.run_sync(place)

    return with_access(check, ApiAccess(scope))


def session_token(request: Request) -> str:
    """Return the token of the request's session; without one, nobody is signed in."""
    token = cookies.read(request, "session")
    if not token:
        set_visitor(request, None)
        raise SignInRequired
    return token


def find_access(request: Request, db: Connection, token: str, project_id: str) -> ProjectAccess:
    """Return where the sender stands in a project; one that they have no part in is refused like one there isn't."""
    requester = members.find_requester(db, token, project_id)
    who = set_visitor(request, requester[:2] if requester else None)
    if requester is None or who.account is None:
        raise SignInRequired
    _, account, project, member = requester
    place = _access(project, member, account)
    request.state.zone = zone_of((place.project.settings.get("care") or {}).get("timezone"))
    if not place.left:
        request.state.error_page = partial(_error_page, place=place)
    return place


def _access(project: Project | None, member: Member | None, account: User) -> ProjectAccess:
    if (project is None or member is None) and account.role != "admin":
        raise LocalizedError("not_in_project", status=403)
    if project is None:
        raise LocalizedError("no_project", status=404)
    return ProjectAccess(project, member, account)


def require_permission(place: ProjectAccess, act: str, *, left: bool = False) -> ProjectAccess:
    """Return the place if its person has the permission there; with `left`, past members too."""
    if place.may(act) or (left and place.left):
        return place
    if place.left and place.account.role != "admin":
        raise LocalizedError("left_project", status=403)
    raise RoleRequired(act)


def project_page(
    request: Request, place: ProjectAccess, template: str, *, status: int = 200, **values: Any
) -> Response:
    """Return a page of a project: what `render.page` gives, with its navigation and its support contacts."""
    without = _unused_tabs(request, place)
    locked = _locked_pictures(request, place)
    lang = render.translator_of(request).lang
    return render.page(
        request,
        template,
        status=status,
        place=place,
        project=place.project,
        rooms=navigation(place, without=without),
        marks=unread_counts(request, place),
        locked_pictures=locked,
        support=[_contact(it, lang) for it in place.project.settings.get("support") or ()],
        **values,
    )


def _error_page(request: Request, error: Exception, *, place: ProjectAccess, **values: Any) -> Response:
    """Return an error within a project, with its navigation and, if a role is missing, who can give it."""
    missing = error.roles if isinstance(error, RoleRequired) else ()
    managers: list[str] = []
    if missing:
        with context_of(request).store.read() as db:
            people = members.of_project(db, place.project.id, role="manager")
            managers = [users.get(db, each.user).name for each in people]
    own = place.member.roles if place.member is not None else ()
    shown: dict[str, Any] = {"missing": missing, "own_roles": own, "managers": managers}
    return project_page(request, place, "project_error.html", **shown, **values)


def unread_counts(request: Request, place: ProjectAccess) -> dict[str, int]:
    """Return what waits for a person in each room: unread messages, and check-ins for a wellbeing contact to see."""
    member = place.member
    if member is None or place.left:
        return {}
    with context_of(request).store.read() as db:
        counts = {
            "channel": messages.unread(db, place.project.id, member.user, member.read_until),
            "care": check_ins.waiting(db, member),
        }
    return {room: n for room, n in counts.items() if n}


def navigation(place: ProjectAccess, *, without: Collection[str] = ()) -> list[TabGroup]:
    """Return the groups of the project's pages that this person may open; none of the pages named."""
    groups = []
    for name, tabs in PROJECT_TABS.items():
        own = tuple(
            (tab or "overview", f"{place.address}/{tab}" if tab else place.address)
            for tab, act in tabs
            if place.may(act) and tab not in without
        )
        if own:
            also = tuple(f"{place.address}/{page}" for page in WITHOUT_TAB.get(name, ()))
            groups.append(TabGroup(name, own, also))
    return groups


def _unused_tabs(request: Request, place: ProjectAccess) -> set[str]:
    """Return the tabs that a project has no use for, as the features that have them say."""
    hooks = [resolve_name(each.unused_tabs) for each in features() if each.unused_tabs is not None]
    with context_of(request).store.read() as db:
        return {tab for unused in hooks for tab in unused(db, place)}


def _locked_pictures(request: Request, place: ProjectAccess) -> int:
    """Return how many locked pictures wait for this person, who runs the project, to deal with them."""
    if not place.may("manage"):
        return 0
    with context_of(request).store.read() as db:
        return picture_locks.waiting(db, place.project.id)


def _contact(kept: dict[str, Any], lang: str) -> dict[str, str]:
    """Return a contact in one language; a link that is no web or mail address is left out."""
    link = str(kept.get("link") or "")
    return {
        "name": str(kept.get("name") or ""),
        "words": Wording(kept.get("words") or "").said_in(lang),
        "phone": str(kept.get("phone") or ""),
        "link": link if link.startswith(("https://", "http://", "mailto:")) else "",
    }
