"""Projects: the start page with yours and what waits in each, the list, and making a new one from a preset or a scheme.

The language switch of every page is here, too.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import images, project_creation, project_file
from davy.annotation.project.next_steps import NextSteps, next_steps
from davy.annotation.project.pages.add_posts import UploadedPosts, form_values, read_sent
from davy.annotation.project.pages.project_access import ProjectAccess
from davy.annotation.project.pages.upload_form import UploadForm, credit_in, sends_pictures
from davy.annotation.project.phase_kind import MAIN_KIND
from davy.annotation.project.project import PROJECT_ROLES
from davy.annotation.project.sample_project import create_sample
from davy.annotation.project.settings import Contact, ProjectSettings, RosterPerson
from davy.annotation.project.store import members, phases, picture_locks, post_pages, posts, projects
from davy.annotation.settling.store import verdicts
from davy.core import Scheme
from davy.core.errors import UserError
from davy.people.pages.visitor import Anyone, Form, allowed, field
from davy.people.store import users
from davy.people.store.users import User
from davy.scheme_editor.pages import schemes
from davy.scoring.queue.detectors import Detectors
from davy.store import Connection
from davy.web import cookies, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import LANGUAGES
from davy.web.refused_by import refusal

if TYPE_CHECKING:
    import polars as pl


router = APIRouter(include_in_schema=False)

Sees = Annotated[User, Depends(allowed("see projects"))]
Makes = Annotated[User, Depends(allowed("make projects"))]

MOST_FROM_STORE = 200_000
TYPED = (
    *("start", "name", "title", "roster", "posts", "lang", "answers"),
    *("picture_licence", "picture_credit"),
)
"""What a form for a new project holds besides its files; it stays when something is wrong."""
OWN = "own:"
"""How a start names a scheme that its author wrote here, before its id."""
MOST_PROJECTS = 30
"""Projects that the start page looks into; the others are on the page of projects."""


@router.get("/projects")
def list_projects(request: Request, who: Sees) -> Response:
    """Return the account's projects, and for admins the others on this server."""
    with context_of(request).store.read() as db:
        mine = projects.of_user(db, who.id)
        ids = {project.id for project, _ in mine}
        others = (
            [project for project in projects.list_projects(db) if project.id not in ids] if who.role == "admin" else []
        )
        rows: list[tuple[Any, Any]] = [*mine, *((project, None) for project in others)]
        about = {
            project.id: {
                "open": [phase.name for phase in phases.of_project(db, project.id) if phase.state == "open"],
                "people": len(members.of_project(db, project.id)),
            }
            for project, _ in rows
        }
    return render.page(request, "projects.html", rows=rows, about=about)


@router.get("/projects/new")
def new(request: Request, who: Makes, start: str = "") -> Response:
    """Return the form for a new project, begun with a preset where one is chosen."""
    return _page(request, who, {"start": start})


@router.post("/projects/new/upload")
async def make(request: Request, who: Makes, form: UploadForm) -> Response:
    """Make the project, or show its file first; what is wrong is said at the form, with all that was typed and sent."""
    typed = {name: field(form, name, most=20_000) for name in TYPED}
    typed |= {name: field(form, name) for name in form if name.startswith("posts.")}
    scheme = await to_thread.run_sync(_scheme_of, request, who, typed["start"])
    sent = await read_sent(request, form, who.id, scheme) if typed["posts"] == "file" else None
    again = partial(_page, request, who, typed, sent=sent, scheme=scheme)
    try:
        if sent is None and sends_pictures(form):
            raise LocalizedError("pictures_need_posts", status=422)
        if sent is not None and sent.wrong is not None:
            raise sent.wrong
        if sent is not None and sent.asks:
            return await to_thread.run_sync(again)
        if sent is not None and sent.frame is None:
            raise LocalizedError("no_file", status=422)
        plan = await to_thread.run_sync(_plan, request, typed, form)
        made = await to_thread.run_sync(_make, request, who, plan, sent, typed, credit_in(form))
    except UserError as error:
        return await to_thread.run_sync(partial(again, **refusal(request, error)))
    if sent is not None:
        await to_thread.run_sync(sent.kept.discard)
    if made.links:
        links = [(login, context_of(request).link(f"/invitation/{token}")) for login, token in made.links]
        return render.page(request, "project_made.html", project=made.project, links=links, left_out=made.left_out)
    if made.left_out:
        gone = ", ".join(made.left_out)
        return render.redirect(request, f"/projects/{made.project.id}", "project_made_without", phases=gone)
    return render.redirect(request, f"/projects/{made.project.id}", "project_made")


def _make(
    request: Request,
    who: User,
    plan: project_file.ProjectPlan,
    sent: UploadedPosts | None,
    typed: dict[str, str],
    credit: images.Credit,
) -> project_creation.CreatedProject:
    store = context_of(request).store
    frame = sent.frame if sent else None
    files = sent.kept.picture_files() if sent else None
    with ExitStack() as stack:
        pictures = None
        if files is not None and frame is not None:
            wanted = images.wanted_names([frame])
            pictures = stack.enter_context(images.storing_pictures(store, files, wanted, credit=credit))
        db = stack.enter_context(store.write())
        pool = [frame] if frame is not None else []
        if typed["posts"] == "store":
            pool = _from_store(db, typed["lang"])
        own = None
        if typed["start"].startswith(OWN):
            own = schemes.scheme_for_project(db, who, typed["start"].removeprefix(OWN))
            plan = replace(plan, scheme=own[0].name)
        preset = typed["start"].startswith("preset:")
        made = project_creation.create_project(
            db, plan, by=who.id, posts_in=pool, scheme=own, preset=preset, consent_unread=preset
        )
        images.add_pictures(db, made.project.id, pictures, by=who.id)
        if typed["posts"] == "store":
            verdicts.copy_published(db, made.project.id)
        return made


def _scheme_of(request: Request, who: User, start: str) -> Scheme | None:
    """Return the scheme that a start leads to, for the columns of right answers; None where it is not there yet."""
    kind, _, chosen = start.partition(":")
    with context_of(request).store.read() as db:
        try:
            return schemes.scheme_at(db, who, kind, chosen)
        except UserError:
            return None


def _from_store(db: Any, lang: str) -> list[pl.DataFrame]:
    """Return the posts of the shared shelf in a language, or all of them."""
    import polars as pl

    parts, n = [], 0
    for frame in posts.frames(db, project=None):
        part = frame.filter(pl.col("lang") == lang) if lang else frame
        n += part.height
        if n > MOST_FROM_STORE:
            raise LocalizedError("too_many_posts", status=413, most=MOST_FROM_STORE)
        parts.append(part)
    if not n:
        raise LocalizedError("no_posts", status=422)
    return parts


def _plan(request: Request, typed: dict[str, str], form: FormData) -> project_file.ProjectPlan:
    """Return what the form describes: a preset with its phases resized, or a scheme with one production phase."""
    kind, _, chosen = typed["start"].partition(":")
    if kind == "preset" and chosen in project_file.preset_names():
        plan = project_file.read_plan(chosen)
        plan = replace(plan, phases=tuple(_resized(phase, field(form, f"posts.{phase.name}")) for phase in plan.phases))
    elif kind in ("own", "scheme"):
        if kind == "scheme" and chosen not in _shared(request):
            raise LocalizedError("no_scheme", status=404)
        answers = field(form, "answers") or "3"
        if not re.fullmatch(r"[1-9][0-9]?", answers):
            raise LocalizedError("whole_number", status=422)
        phase = project_file.PhasePlan("main", MAIN_KIND, project_file.REST, answers)
        plan = project_file.ProjectPlan("", "", chosen, ProjectSettings(support=_contacts()), (phase,))
    else:
        raise LocalizedError("choose_start", status=422)
    return replace(plan, name=typed["name"], title=typed["title"], roster=roster_of(typed["roster"]))


def _resized(phase: project_file.PhasePlan, wanted: str) -> project_file.PhasePlan:
    if phase.count is None or not wanted:
        return phase
    if not re.fullmatch(r"[0-9]{1,6}", wanted):
        raise LocalizedError("whole_number", status=422)
    return replace(phase, posts=wanted)


def roster_of(text: str) -> tuple[RosterPerson, ...]:
    """Return the people of a text with one a line: a login, then their roles; without one they are annotators."""
    people = []
    for line in text.splitlines():
        login, *roles = re.split(r"[\s,;]+", line.strip().lower())
        if not login:
            continue
        unknown = [role for role in roles if role and role not in PROJECT_ROLES]
        if unknown:
            raise LocalizedError("unknown_role", status=422, role=unknown[0][:40], known=", ".join(PROJECT_ROLES))
        people.append(RosterPerson(login, tuple(role for role in roles if role) or ("annotator",)))
    return tuple(people)


def _shared(request: Request) -> set[str]:
    with context_of(request).store.read() as db:
        return {name for name, _ in schemes.shared_schemes(db, "en")}


def _page(
    request: Request,
    who: User,
    typed: dict[str, str],
    *,
    sent: UploadedPosts | None = None,
    scheme: Scheme | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    lang = render.translator_of(request).lang
    with context_of(request).store.read() as db:
        shared = schemes.shared_schemes(db, lang)
        own = schemes.own_drafts(db, who, lang)
        langs = post_pages.languages(db, None)
    chosen = [name for name in project_file.preset_names() if typed.get("start") == f"preset:{name}"]
    chosen_own = [it for it in own if typed.get("start") == f"{OWN}{it['id']}"]
    return render.page(
        request,
        "project_new.html",
        status=status,
        wrong=wrong,
        typed={**dict.fromkeys(TYPED, ""), **typed},
        presets=project_file.preset_names(),
        preset=project_file.read_plan(chosen[0]) if chosen else None,
        schemes=shared,
        own=own,
        start_name=chosen_own[0]["title"] if chosen_own else typed.get("start", "").partition(":")[2],
        langs=langs,
        **form_values(request, sent, scheme),
    )


def _contacts() -> tuple[Contact, ...]:
    """Return whom a project from a bare scheme begins with, until its manager names others."""
    return tuple(
        contact for preset in ("edos", "gmhp7k") for contact in project_file.read_plan(preset).settings.support
    )


@router.api_route("/", methods=["GET", "HEAD"])
def home(request: Request, who: Anyone) -> Response:
    """Return the start page, for visitors or for the account's role."""
    locked, mine, unused = {}, [], False
    with context_of(request).store.read() as db:
        if not who.account:
            unused = not users.count(db)
        else:
            locked = picture_locks.waiting_for(db, who.account.id, everywhere=who.account.role == "admin")
            mine = _open_projects(db, who.account)
    model = context_of(request).part(Detectors).default_model
    return render.page(request, "home.html", model=model, locked=locked, mine=mine, unused=unused)


@router.post("/projects/sample")
def make_sample(request: Request, who: Makes, form: Form) -> Response:  # noqa: ARG001
    """Make a project with sample posts, open for its maker."""
    words = render.translator_of(request)
    with context_of(request).store.write() as db:
        made = create_sample(db, title=words("home.sample_title"), by=who.id)
    return render.redirect(request, f"/projects/{made.id}", "sample_made")


def _open_projects(db: Connection, account: User) -> list[tuple[ProjectAccess, NextSteps]]:
    """Return the open projects that a person is in, each with what comes next there; those with work first."""
    listed = []
    for project, member in projects.of_user(db, account.id)[:MOST_PROJECTS]:
        if project.state == "open":
            place = ProjectAccess(project, member, account)
            listed.append((place, next_steps(db, project, member, place.may)))
    return sorted(listed, key=lambda one: one[1].main is None)


@router.post("/language")
def language(request: Request, who: Anyone, form: Form) -> Response:
    """Change the language of the pages: for the account where there is one, and for this browser."""
    lang = field(form, "lang")
    if lang not in LANGUAGES:
        raise LocalizedError("choice")
    if who.account:
        with context_of(request).store.write() as db:
            users.set_language(db, who.account.id, lang, by=who.account.id)
    response = render.redirect(request, render.own_path(field(form, "next", most=2000)))
    cookies.write(request, response, "lang", lang)
    return response
