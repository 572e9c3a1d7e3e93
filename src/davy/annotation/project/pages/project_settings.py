"""A project's settings: how answers are settled, care, contacts, texts, pay. A form a section, or all of it as YAML.

`field_values` gives what the forms show; `read_section` gives the settings with one section as a form has it. The
dataclasses of `project.settings` check the values, as they do for a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
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
from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.settings import (
    CONSENT_UNREAD,
    LANGUAGES,
    AdjudicationRule,
    Care,
    Contact,
    Deletion,
    Pay,
    ProjectSettings,
)
from davy.annotation.project.store import projects
from davy.annotation.settling.rules import read_rules
from davy.core import FLAGS, Question, Scheme, UserError
from davy.people.pages.visitor import Form, field
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)


LONGEST = 200_000
SETTLED_FLAGS: tuple[str, ...] = tuple(flag for flag in FLAGS if flag != "refused")
MOST_CONTACTS = 8
LONGEST_TEXT = 20_000
_CARE_NUMBERS = (
    "break_after_minutes",
    "break_minutes",
    "break_after_hard",
    "daily_minutes",
    "daily_items",
    "postpone_minutes",
    "severity",
)
_NEEDED = ("break_minutes", "postpone_minutes")
_WHOLE = ("break_after_hard", "daily_items")
_CONTACT = ("name", "en", "de", "phone", "link")

Fields = dict[str, Any]
"""Field → its text; for boxes of several choices, the set of those ticked."""


@router.get("/projects/{project_id}/settings")
def settings(request: Request, place: Manages) -> Response:
    """Return the settings as forms, and as YAML below them."""
    return _page(request, place)


def _page(
    request: Request,
    place: ProjectAccess,
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
    values: dict[str, Any] = field_values(kept, scheme)
    typed = typed_fields(form) if form is not None else {}
    asked = question_views(scheme, scheme.guideline, words.lang)
    filled = {lang: consent_text.fill_consent(text, figures) for lang, text in kept.consent.items() if text}
    return project_page(
        request,
        ProjectAccess(project, place.member, place.account),
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
        contacts=min(len(kept.support) + 2, MOST_CONTACTS),
        consent={lang: render_markdown(filled[lang]) for lang in sorted(filled, key=lambda it: it != words.lang)},
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
        elif section == "title":
            projects.rename(db, place.project.id, field(form, "title", most=500), by=place.account.id)
        else:
            wanted = _wanted(db, request, place, section, form)
            read = (CONSENT_UNREAD,) if section == "texts" else ()  # who wrote the texts has read them
            project_creation.change_settings(db, place.project.id, wanted, by=place.account.id, without=read)
    if section == "read":
        return render.redirect(request, place.address, "saved")
    return render.redirect(request, f"{place.address}/settings#{section}", "saved")


def _section(form: FormData) -> str:
    section = field(form, "section") or "yaml"
    if section not in (*SECTIONS, "yaml", "read", "title"):
        raise LocalizedError("choice")
    return section


def _wanted(db: Connection, request: Request, place: ProjectAccess, section: str, form: FormData) -> ProjectSettings:
    """Return the settings that a form asks for."""
    if section == "yaml":
        text, words = field(form, "yaml", most=LONGEST).replace("\r\n", "\n"), render.translator_of(request)
        return project_file.parse_settings(text.encode(), words("settings.line"))
    now = projects.get(db, place.project.id)
    kept = project_settings.from_dict(now.settings)
    return read_section(section, form, kept, scheme_of(db, now))


def _say_read(db: Connection, place: ProjectAccess) -> None:
    """Note that a manager has read the consent text and says that it is true."""
    kept = dict(projects.get(db, place.project.id).settings)
    kept.pop(CONSENT_UNREAD, None)
    projects.change_settings(db, place.project.id, kept, by=place.account.id)


@cache
def _zones() -> tuple[str, ...]:
    """Return the time zones that this machine knows, Europe's first."""
    return tuple(sorted(available_timezones(), key=lambda name: (not name.startswith("Europe/"), name)))


def asked_questions(scheme: Scheme) -> list[Question]:
    """Return the questions that have a rule: those that people answer."""
    return [question for question in scheme.questions if question.derived is None]


def field_values(settings: ProjectSettings, scheme: Scheme) -> Fields:
    """Return what every section's form shows."""
    values: Fields = {"languages": set(settings.languages)}
    for name, rule in read_rules(scheme, settings.adjudication).items():
        values |= _rule_fields(f"rule.{name}", rule)
    for flag in SETTLED_FLAGS:
        values |= _rule_fields(f"flag.{flag}", settings.flags.get(flag))
    for name in _CARE_NUMBERS:
        values[f"care.{name}"] = _text(getattr(settings.care, name))
    values |= {"care.may_postpone": "yes" if settings.care.may_postpone else "no"}
    values |= {"care.timezone": settings.care.timezone, "care.veil": settings.care.veil}
    values |= {f"care.hard.{name}": set(labels) for name, labels in settings.care.hard.items()}
    for place, contact in enumerate(settings.support[:MOST_CONTACTS]):
        fields = {"name": contact.name, "phone": contact.phone, "link": contact.link, **contact.words}
        values |= {f"contact.{place}.{part}": fields.get(part, "") for part in _CONTACT}
    for lang in LANGUAGES:
        values |= {f"consent.{lang}": settings.consent.get(lang, ""), f"debrief.{lang}": settings.debrief.get(lang, "")}
    pay = settings.pay or Pay()
    values |= {"pay.currency": pay.currency, "pay.per_hour": _text(pay.per_hour or None)}
    values |= {"pay.expert_per_hour": _text(pay.expert_per_hour or None)}
    values["deletion"] = settings.deletion.answers if settings.deletion else Deletion().answers
    return values


def typed_fields(form: FormData) -> Fields:
    """Return what a form that was refused had in it, to show it again."""
    typed: Fields = {}
    for name in form:
        given = [value for value in form.getlist(name) if isinstance(value, str)]
        typed[name] = set(given) if name == "languages" or name.startswith("care.hard.") else given[0] if given else ""
    return typed


def read_section(section: str, form: FormData, settings: ProjectSettings, scheme: Scheme) -> ProjectSettings:
    """Return the settings with one section as a form has it; what its dataclass refuses is a `UserError`."""
    try:
        return replace(settings, **SECTIONS[section](form, settings, scheme))
    except ValueError as error:
        raise UserError(f"{str(error)[:1].upper()}{str(error)[1:]}.", status=422) from None


def _settling(form: FormData, settings: ProjectSettings, scheme: Scheme) -> Mapping[str, Any]:
    before = read_rules(scheme, settings.adjudication)
    names = [question.name for question in asked_questions(scheme)]
    rules = {name: _rule(form, f"rule.{name}", before[name]) for name in names}
    flags = {}
    for flag in SETTLED_FLAGS:
        if field(form, f"flag.{flag}.rule"):
            flags[flag] = _rule(form, f"flag.{flag}", settings.flags.get(flag, AdjudicationRule()))
    return {"adjudication": rules, "flags": flags}


def _care(form: FormData, settings: ProjectSettings, scheme: Scheme) -> Mapping[str, Any]:
    values: dict[str, Any] = {name: _number(form, f"care.{name}", whole=name in _WHOLE) for name in _CARE_NUMBERS}
    for name in _NEEDED:
        if values[name] is None:
            values[name] = getattr(settings.care, name)
    hard = {}
    for question in asked_questions(scheme):
        labels = tuple(str(label) for label in form.getlist(f"care.hard.{question.name}"))
        if labels:
            hard[question.name] = labels
    may_postpone = field(form, "care.may_postpone") == "yes"
    zone, veil = field(form, "care.timezone") or "UTC", field(form, "care.veil")
    return {"care": Care(**values, may_postpone=may_postpone, hard=hard, timezone=zone, veil=veil)}


def _contacts(form: FormData, settings: ProjectSettings, scheme: Scheme) -> Mapping[str, Any]:  # noqa: ARG001
    contacts = []
    for place in range(MOST_CONTACTS):
        fields = {part: field(form, f"contact.{place}.{part}", most=500) for part in _CONTACT}
        if not any(fields.values()):
            continue
        if not fields["name"]:
            raise LocalizedError("contact_name", status=422)
        words = {lang: fields[lang] for lang in LANGUAGES if fields[lang]}
        contacts.append(Contact(fields["name"], words, fields["link"], fields["phone"]))
    return {"support": (*contacts, *settings.support[MOST_CONTACTS:])}


def _texts(form: FormData, settings: ProjectSettings, scheme: Scheme) -> Mapping[str, Any]:  # noqa: ARG001
    languages = tuple(lang for lang in LANGUAGES if lang in form.getlist("languages"))
    if not languages:
        raise LocalizedError("no_language", status=422)
    return {
        "languages": languages,
        "consent": _wording(form, "consent", settings.consent),
        "debrief": _wording(form, "debrief", settings.debrief),
    }


def _pay(form: FormData, settings: ProjectSettings, scheme: Scheme) -> Mapping[str, Any]:  # noqa: ARG001
    per_hour, experts = _number(form, "pay.per_hour") or 0.0, _number(form, "pay.expert_per_hour") or 0.0
    currency = field(form, "pay.currency", most=12) or Pay().currency
    pay = Pay(currency, per_hour, experts) if per_hour or experts else None
    return {"pay": pay, "deletion": Deletion(field(form, "deletion"))}


SECTIONS: Mapping[str, Callable[[FormData, ProjectSettings, Scheme], Mapping[str, Any]]] = {
    "settling": _settling,
    "care": _care,
    "contacts": _contacts,
    "texts": _texts,
    "pay": _pay,
}
"""How each section's form becomes settings."""


def _rule(form: FormData, name: str, before: AdjudicationRule) -> AdjudicationRule:
    """Return the rule that a form has under a name; what it does not show stays as it was."""
    values: dict[str, Any] = {}
    for part in ("rule", "share", "otherwise", "middle"):
        if given := field(form, f"{name}.{part}", most=20):
            values[part] = given
    for part in ("experts", "least"):
        if (number := _number(form, f"{name}.{part}", whole=True)) is not None:
            values[part] = number
    return replace(before, **values)


def _rule_fields(name: str, rule: AdjudicationRule | None) -> Fields:
    if rule is None:
        return {f"{name}.rule": "", f"{name}.share": "1/2", f"{name}.otherwise": "expert"}
    parts = ("rule", "share", "otherwise", "experts", "least", "middle")
    return {f"{name}.{part}": str(getattr(rule, part)) for part in parts}


def _wording(form: FormData, name: str, before: Mapping[str, str]) -> dict[str, str]:
    """Return a text by language; languages that the form does not show keep theirs."""
    wording = {lang: field(form, f"{name}.{lang}", most=LONGEST_TEXT).replace("\r\n", "\n") for lang in LANGUAGES}
    rest = {lang: text for lang, text in before.items() if lang not in LANGUAGES}
    return {**rest, **{lang: text for lang, text in wording.items() if text}}


def _number(form: FormData, name: str, *, whole: bool = False) -> Any:
    """Return a number of a form, with a comma or a point; None where the field is empty."""
    given = field(form, name, most=20)
    if not given:
        return None
    try:
        number = float(given.replace(",", "."))
    except ValueError:
        raise LocalizedError("no_number", status=422, given=given) from None
    if number != number or abs(number) > 1e9 or number < 0 or (whole and not number.is_integer()):
        raise LocalizedError("no_number", status=422, given=given)
    return int(number) if whole or number.is_integer() else number


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
