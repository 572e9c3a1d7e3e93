"""A project's settings: how answers are settled, care, contacts, texts, pay. A form a section, or all of it as YAML."""

from __future__ import annotations

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import consent_text
from davy.annotation.labelling.pages.questions import question_views
from davy.annotation.labelling.pages.sheets import flag_titles
from davy.annotation.project import project_creation, project_file
from davy.annotation.project import settings as project_settings
from davy.annotation.project.pages import settings_form
from davy.annotation.project.pages.project_access import Manages, Place, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.settings import CONSENT_UNREAD, ProjectSettings
from davy.annotation.project.store import projects
from davy.people.pages.visitor import Form, field
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)


LONGEST = 200_000


@router.get("/projects/{project_id}/settings")
def settings(request: Request, place: Manages) -> Response:
    """Return the settings as forms, and as YAML below them."""
    return _page(request, place)


def _page(
    request: Request,
    place: Place,
    *,
    form: FormData | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    words, section = render.translator_of(request), _section(form) if form is not None else ""
    with context_of(request).store.read() as db:
        project = projects.get(db, place.project.id)
        scheme = scheme_of(db, project)
        figures = consent_text.consent_figures(db, project)
    kept = project_settings.from_dict(project.settings)
    values: dict[str, Any] = settings_form.field_values(kept, scheme)
    typed = settings_form.typed_fields(form) if form is not None else {}
    asked = question_views(scheme, scheme.guideline, words.lang)
    filled = {lang: consent_text.fill_consent(text, figures) for lang, text in kept.consent.items() if text}
    return project_page(
        request,
        Place(project, place.member, place.account),
        "project_settings.html",
        status=status,
        wrong={section: wrong},
        f={**values, **typed},
        text=typed.get("yaml") or project_settings.to_yaml(kept),
        questions=asked,
        scales={question.name for question in scheme.questions if question.ordered},
        flags=flag_titles(words),
        rules=project_settings.RULES,
        otherwise=project_settings.OTHERWISE,
        contacts=min(len(kept.support) + 2, settings_form.MOST_CONTACTS),
        consent={lang: render_markdown(text) for lang, text in filled.items()},
        figures=figures,
        figure_names=consent_text.FIGURES,
        unread=bool(project.settings.get(CONSENT_UNREAD)),
        zones=_zones(),
    )


@router.post("/projects/{project_id}/settings")
@refused_by(_page)
def save(request: Request, place: Manages, form: Form) -> Response:
    """Keep one section, or the YAML of all; what is wrong is shown there, and nothing is changed."""
    section = _section(form)
    with context_of(request).store.write() as db:
        if section == "read":
            _say_read(db, place)
        else:
            wanted = _wanted(db, request, place, section, form)
            read = (CONSENT_UNREAD,) if section == "texts" else ()  # who wrote the texts has read them
            project_creation.change_settings(db, place.project.id, wanted, by=place.account.id, without=read)
    return render.redirect(request, f"{place.address}/settings#{section}", "saved")


def _section(form: FormData) -> str:
    section = field(form, "section") or "yaml"
    if section not in (*settings_form.SECTIONS, "yaml", "read"):
        raise LocalizedError("choice")
    return section


def _wanted(db: Connection, request: Request, place: Place, section: str, form: FormData) -> ProjectSettings:
    """Return the settings that a form asks for."""
    if section == "yaml":
        text, words = field(form, "yaml", most=LONGEST).replace("\r\n", "\n"), render.translator_of(request)
        return project_file.parse_settings(text.encode(), words("settings.line"))
    now = projects.get(db, place.project.id)
    kept = project_settings.from_dict(now.settings)
    return settings_form.read_section(section, form, kept, scheme_of(db, now))


def _say_read(db: Connection, place: Place) -> None:
    """Note that a manager has read the consent text and says that it is true."""
    kept = dict(projects.get(db, place.project.id).settings)
    kept.pop(CONSENT_UNREAD, None)
    projects.change_settings(db, place.project.id, kept, by=place.account.id)


@cache
def _zones() -> tuple[str, ...]:
    """Return the time zones that this machine knows, Europe's first."""
    return tuple(sorted(available_timezones(), key=lambda name: (not name.startswith("Europe/"), name)))
