"""The settings of one phase: answers a post, who works in it, quota and deadline, batches, gate or pass mark.

The same dataclasses check them as for a project file. Answers a post change only while nobody works in the phase;
an empty phase can be removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling.pages.questions import question_views
from davy.annotation.labelling.store import items
from davy.annotation.project import project_creation
from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.annotation.project.project import Phase
from davy.annotation.project.project_file import EVERYONE, PhasePlan
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.settings import AgreementGate, Batch, PassMark
from davy.annotation.project.store import members, phases
from davy.annotation.settling.agreement import COEFFICIENTS
from davy.core import Scheme, UserError
from davy.people.pages.visitor import Form, field, whole_number
from davy.people.store import users
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)


MOST_BATCHES = 12
_KEPT = ("gate", "pass", "batches", "lease_minutes", "quota", "deadline", "people")
"""What this page sets; other settings of a phase stay."""


@router.get("/projects/{project_id}/phases/{name}/settings")
def show(request: Request, place: Manages, name: str) -> Response:
    """Return the form."""
    return _page(request, place, name)


def _page(
    request: Request,
    place: ProjectAccess,
    name: str,
    *,
    form: FormData | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    words = render.translator_of(request)
    with context_of(request).store.read() as db:
        phase = phases.by_name(db, place.project.id, name)
        scheme = scheme_of(db, place.project)
        roster = members.of_project(db, place.project.id)
        people = [(member.user, users.get(db, member.user).name) for member in roster if _works(member.roles, phase)]
        started = phases.has_begun(db, phase.id)
        removable = project_creation.can_remove(db, phase)
        later = [one for one in phases.of_project(db, place.project.id) if one.state == "waiting"]
        dealt = items.count_batches(db, phase.id)
    batches = _shown_batches(phase, form)
    return project_page(
        request,
        place,
        "phase_settings.html",
        status=status,
        phase=phase,
        wrong=wrong,
        f=_fields(phase, form),
        people=people,
        pools=sorted({member.pool for member in roster if member.pool}),
        chosen=set(form.getlist("people") if form else phase.settings.get("people") or ()),
        batches=[*batches, *[("", Batch())] * (1 if len(batches) < MOST_BATCHES else 0)],
        dealt=dealt,
        coefficients=COEFFICIENTS,
        questions=question_views(scheme, scheme.guideline, words.lang),
        everyone=EVERYONE,
        started=started,
        removable=removable and not phase.behaviour.from_round,
        others=[one.name for one in later if one.id != phase.id],
        next_name=next((one.name for one in later if one.position > phase.position), ""),
    )


@router.post("/projects/{project_id}/phases/{name}/settings")
@refused_by(_page, but=(404,))
def save(request: Request, place: Manages, name: str, form: Form) -> Response:
    """Keep the settings, or remove the phase; what is wrong is shown at the form."""
    address = f"{place.address}/phases/{quote(name, safe='')}"
    with context_of(request).store.write() as db:
        phase = phases.by_name(db, place.project.id, name)
        if field(form, "do") == "remove":
            project_creation.remove_phase(db, phase, by=place.account.id)
            return render.redirect(request, place.address, "phase_removed", phase=name)
        try:
            if phase.state == "waiting" and "name" in form:
                phases.move(db, phase.id, before=field(form, "before", most=40) or None, by=place.account.id)
                phase = phases.rename(db, phase.id, field(form, "name", most=100), by=place.account.id)
                address = f"{place.address}/phases/{quote(phase.name, safe='')}"
            _keep(db, place, phase, form)
        except ValueError as error:
            raise UserError(f"{error}.", status=422) from None
    return render.redirect(request, address, "saved")


def _keep(db: Connection, place: ProjectAccess, phase: Phase, form: FormData) -> None:
    scheme = scheme_of(db, place.project)
    plan = _plan(phase, form, scheme)
    project_creation.check_phase(plan, scheme)
    wanted: dict[str, Any] = {name: value for name, value in plan.settings().items() if name in _KEPT}
    known = {one for member in members.of_project(db, place.project.id) for one in (member.user, member.pool) if one}
    for batch in wanted.get("batches", {}).values():
        batch["people"] = [one for one in batch["people"] if one in known]
        batch.pop("posts", None)
    wanted["people"] = [str(one) for one in form.getlist("people") if one in known]
    rest = {name: value for name, value in phase.settings.items() if name not in _KEPT}
    phases.change_settings(db, phase.id, {**rest, **{k: v for k, v in wanted.items() if v}}, by=place.account.id)
    if "answers" in form:
        phases.set_answers(db, phase.id, plan.people, by=place.account.id)
    if field(form, "deal") == "yes":
        items.deal_batches(db, phase, list(wanted.get("batches") or ()), by=place.account.id)


def _plan(phase: Phase, form: FormData, scheme: Scheme) -> PhasePlan:
    """Return what the form describes, as a project file would."""
    asked = [question.name for question in scheme.questions]
    if phase.behaviour.from_round:
        raise LocalizedError("round_phase", status=409)
    plan = PhasePlan(phase.name, phase.kind, answers=field(form, "answers", most=20) or None)
    chosen = tuple(name for name in asked if name in form.getlist("gate.questions"))
    gate = AgreementGate(
        field(form, "gate.coefficient") or AgreementGate().coefficient,
        _number(form, "gate.at_least", AgreementGate().at_least),
        chosen,
    )
    levels = tuple(
        f"{name}={given.replace(',', '.')}" for name in asked if (given := field(form, f"pass.level.{name}", most=8))
    )
    mark = PassMark(_number(form, "pass.accuracy", PassMark().accuracy), _marked(form, asked), levels)
    quota, lease = whole_number(form, "quota"), _number(form, "lease_minutes", None)
    return replace(
        plan,
        gate=gate if phase.behaviour.gate else None,
        pass_=mark if phase.behaviour.screens else None,
        quota=quota,
        deadline=field(form, "deadline") or None,
        lease_minutes=lease,
        batches=_batches(form),
    )


def _marked(form: FormData, asked: list[str]) -> tuple[str, ...]:
    return tuple(name for name in asked if name in form.getlist("pass.questions"))


def _batches(form: FormData) -> Mapping[str, Batch]:
    batches = {}
    for place in range(MOST_BATCHES):
        name = field(form, f"batch.{place}.name", most=40)
        if not name:
            continue
        if name in batches:
            raise LocalizedError("batch_twice", status=422, name=name)
        batches[name] = Batch(
            people=tuple(str(one) for one in form.getlist(f"batch.{place}.people")),
            quota=whole_number(form, f"batch.{place}.quota"),
            deadline=field(form, f"batch.{place}.deadline") or None,
        )
    return batches


def _number(form: FormData, name: str, usual: float | None) -> Any:
    given = field(form, name, most=20)
    if not given:
        return usual
    try:
        return float(given.replace(",", "."))
    except ValueError:
        raise LocalizedError("no_number", status=422, given=given) from None


def _works(roles: tuple[str, ...], phase: Phase) -> bool:
    return bool(set(roles) & set(phase.behaviour.roles))


def _fields(phase: Phase, typed: FormData | None) -> dict[str, Any]:
    """Return what the form shows: what was typed, else what is kept."""
    kept = phase.settings
    gate, mark = kept.get("gate") or {}, kept.get("pass") or {}
    values: dict[str, Any] = {
        "answers": EVERYONE if phase.answers is None else str(phase.answers),
        "quota": kept.get("quota") or "",
        "deadline": str(kept.get("deadline") or "")[:10],
        "lease_minutes": f"{kept['lease_minutes']:g}" if kept.get("lease_minutes") else "",
        "gate.coefficient": gate.get("coefficient", AgreementGate().coefficient),
        "gate.at_least": f"{gate.get('at_least', AgreementGate().at_least):g}",
        "gate.questions": set(gate.get("questions") or ()),
        "pass.accuracy": f"{mark.get('accuracy', PassMark().accuracy):g}",
        "pass.questions": set(mark.get("questions") or ()),
    }
    for level in mark.get("levels") or ():
        question, _, accuracy = str(level).partition("=")
        values[f"pass.level.{question}"] = accuracy
    if typed is not None:
        several = ("gate.questions", "pass.questions")
        values |= {key: set(typed.getlist(key)) if key in several else str(typed[key]) for key in typed}
    return values


def _shown_batches(phase: Phase, typed: FormData | None) -> list[tuple[str, Batch]]:
    if typed is not None:
        try:
            return list(_batches(typed).items())
        except (UserError, ValueError):
            pass
    return [
        (name, Batch(tuple(kept.get("people") or ()), kept.get("quota"), kept.get("deadline")))
        for name, kept in (phase.settings.get("batches") or {}).items()
    ]
