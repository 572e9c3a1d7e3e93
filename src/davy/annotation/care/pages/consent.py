"""What the work is like, what people may do at any time, and how they want to see posts. Without it no post shows."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.annotation.care import consent_text
from davy.annotation.labelling import labelling
from davy.annotation.labelling.pages.sheets import PICTURES, TEXTS, display_choice_of
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, project_page
from davy.annotation.project.phase_kind import TASK_KINDS
from davy.annotation.project.project import Member
from davy.annotation.project.store import members, phases
from davy.core import Wording
from davy.people.pages.visitor import Form, field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/consent")
def ask(request: Request, place: Labels, next: str = "") -> Response:
    """Return the page; who agreed already sees when, and may change how posts are shown."""
    return _page(request, place, leads_to=next)


@router.post("/projects/{project_id}/consent")
def agree(request: Request, place: Labels, form: Form) -> Response:
    """Keep how this person sees posts and, the first time, that they agreed."""
    member = member_of(place)
    text, pictures = field(form, "text"), field(form, "pictures")
    if text not in TEXTS or pictures not in PICTURES:
        raise LocalizedError("choice")
    first = member.consented_at is None
    agreed, leads_to = field(form, "agree") == "yes", field(form, "next", most=2000)
    with context_of(request).store.write() as db:
        has_memes = phases.has_kind(db, place.project.id, TASK_KINDS)
        members.choose(db, place.project.id, member.user, text=text, pictures=pictures)
        if first and agreed:
            members.consent(db, place.project.id, member.user)
    if first and not agreed:
        chosen = ProjectAccess(place.project, _with_choices(member, text, pictures), place.account)
        return _page(request, chosen, wrong=True, leads_to=leads_to)
    if first and leads_to.startswith(f"{place.address}/"):
        return RedirectResponse(render.own_path(leads_to), 303)
    if first:
        room = "memes" if has_memes else "label" if "annotator" in member.roles else "expert"
        return RedirectResponse(f"{place.address}/{room}", 303)
    return render.redirect(request, f"{place.address}/label", "saved")


def member_of(place: ProjectAccess) -> Member:
    """Return the membership of a place whose permission only members have."""
    assert place.member is not None
    return place.member


def _with_choices(member: Member, text: str, pictures: str) -> Member:
    from dataclasses import replace

    return replace(member, choices={**member.choices, "text": text, "pictures": pictures})


def _page(request: Request, place: ProjectAccess, *, wrong: bool = False, leads_to: str = "") -> Response:
    member = member_of(place)
    lang = render.translator_of(request).lang
    with context_of(request).store.read() as db:
        scheme = labelling.scheme_of(db, place.project)
        figures = consent_text.consent_figures(db, place.project, member.roles)
    own = consent_text.fill_consent(Wording(place.project.settings.get("consent") or "").said_in(lang), figures)
    return project_page(
        request,
        place,
        "consent.html",
        status=422 if wrong else 200,
        member=member,
        leads_to=leads_to,
        display=display_choice_of(place.project, member),
        texts=TEXTS,
        pictures=PICTURES,
        own=render_markdown(own) if own else "",
        warning=scheme.warning.said_in(lang),
        wrong=wrong,
    )
