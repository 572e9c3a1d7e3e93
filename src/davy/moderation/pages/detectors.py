"""Detectors: which ones this server knows, what each one's card says, and which answers.

Everybody who may score texts sees the active ones with their cards; admins load, swap or retire one without a restart.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from anyio import from_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.detectors import store as detectors
from davy.detectors.embedded import shipped_names
from davy.detectors.model_cards import ModelCard, model_cards
from davy.detectors.registered import register_detector
from davy.detectors.store import RegisteredDetector
from davy.jobs.store import Job
from davy.moderation.server_part import Moderation
from davy.moderation.shadow import compare_shadows
from davy.people.pages.visitor import Form, allowed, field
from davy.people.permissions import may
from davy.people.store import users
from davy.people.store.users import User
from davy.runs.pages.detector_choices import list_trained, trained_entry
from davy.scoring.queue.detector import label_title, question_title
from davy.scoring.queue.detectors import Detectors
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Manages = Annotated[User, Depends(allowed("manage detectors"))]
Looks = Annotated[User, Depends(allowed("score texts"))]

MOST_SHOWN = 50
"""Single differences of a pair of models on the page."""
STATES: dict[str, str] = {"activate": "active", "shadow": "shadow", "retire": "retired"}
"""The last part of a form's address, and the state that it asks for."""


STARTED = "started"
"""The address of the detector that the server was started with."""
OPEN = ("figures", "what it misses", "known misses", "who should not use it")
"""Sections of a card that are shown opened: their titles begin so, in small letters."""


@router.get("/detectors")
def show(request: Request, who: Looks) -> Response:
    """Return the detectors that answer, with languages and questions; for admins every version and its state."""
    return _page(request)


@router.get("/detectors/shadow")
def show_shadow(request: Request, who: Manages) -> Response:
    """Return where a shadow decides otherwise than the detector that answers; texts masked, where they are kept."""
    context = context_of(request)
    return render.page(
        request,
        "shadow.html",
        comparisons=compare_shadows(context.store, differences=MOST_SHOWN),
        shadow=context.part(Moderation).shadow,
        mask=context.mask,
    )


@router.get("/detectors/{detector_id}")
def show_one(request: Request, detector_id: str, who: Looks) -> Response:
    """Return one detector: its card with figures and known misses, its languages, questions and thresholds."""
    context = context_of(request)
    if detector_id == STARTED:
        model = context.part(Detectors).started.model
        source, name, version, given = context.settings.model, str(model["name"]), str(model["version"]), {}
        entry = None
    else:
        with context.store.read() as db:
            entry = detectors.get(db, detector_id)
        if entry.state != "active" and not may(who.role, "manage detectors"):
            raise LocalizedError("no_such", status=404)
        source, name, version, given = entry.source, entry.name, entry.version, dict(entry.thresholds)
    return render.page(
        request,
        "detector.html",
        name=name,
        version=version,
        entry=entry,
        is_default=context.part(Detectors).default_model["version"] == version,
        cards=model_cards(source),
        given=given,
        open_sections=OPEN,
        markdown=render_markdown,
        title_of=lambda question: question_title(question, render.translator_of(request).lang),
        label_of=lambda question, label: label_title(question, label, render.translator_of(request).lang),
    )


def _page(request: Request, *, form: FormData | None = None, wrong: str = "", status: int = 200) -> Response:
    context = context_of(request)
    with context.store.read() as db:
        entries = detectors.list_detectors(db)
        people = {user.id: user.name for user in users.list_users(db)}
    account = render.account_of(request)
    manages = account is not None and may(account.role, "manage detectors")
    entries = entries if manages else [entry for entry in entries if entry.state == "active"]
    order = sorted(entries, key=lambda entry: (detectors.STATES.index(entry.state), entry.name, entry.id))
    return render.page(
        request,
        "detectors.html",
        status=status,
        entries=order,
        people=people,
        started=context.part(Detectors).started,
        cards={entry.id: model_cards(entry.source) for entry in order} | {STARTED: model_cards(context.settings.model)},
        trained=_trained(request) if manages else [],
        installed=_installed(request, entries) if manages else [],
        manages=manages,
        title_of=lambda question: question_title(question, render.translator_of(request).lang),
        has_default=any(entry.is_default for entry in entries),
        loaded={f"{model['name']}@{model['version']}" for model in context.part(Detectors).loaded},
        refused=context.part(Detectors).refused,
        shadow=context.part(Moderation).shadow,
        source=field(form, "source", most=1000) if form is not None else "",
        wrong=wrong,
    )


@router.post("/detectors")
@refused_by(_page)
def add(request: Request, who: Manages, form: Form) -> Response:
    """Load a detector from a folder on the server, or an embedded one, and register it."""
    source = field(form, "source", most=1000)
    kind = field(form, "state")
    if kind not in ("active", "shadow", "default"):
        raise LocalizedError("choice")
    if not source.startswith(("/", "embedded")):  # a remote model sends posts elsewhere: that is for the shell
        raise LocalizedError("detector_source")
    entry = register_detector(
        context_of(request).store,
        source,
        by=who.id,
        name=field(form, "name") or None,
        shadow=kind == "shadow",
        default=kind == "default",
    )
    _refresh(request)
    return render.redirect(request, "/detectors", "detector_added", name=entry.full_name)


@router.post("/detectors/{detector_id}/default")
def make_default(request: Request, detector_id: str, who: Manages, form: Form) -> Response:
    """Let a detector answer whoever names none."""
    with context_of(request).store.write() as db:
        entry = detectors.set_default(db, detector_id, by=who.id)
    _refresh(request)
    return render.redirect(request, "/detectors", "detector_default", name=entry.full_name)


@router.post("/detectors/{detector_id}/{act}")
def change(request: Request, detector_id: str, act: str, who: Manages, form: Form) -> Response:
    """Activate or retire a version, or make it a shadow; the next page offers to undo it."""
    if act not in STATES:
        raise LocalizedError("no_such", status=404)
    with context_of(request).store.write() as db:
        before = detectors.get(db, detector_id)
        entry = detectors.set_state(db, detector_id, STATES[act], by=who.id)
    _refresh(request)
    back = next(name for name, state in STATES.items() if state == before.state)
    undo = f"/detectors/{detector_id}/{back}" if back != act and not before.is_default else None
    return render.redirect(request, "/detectors", f"detector_{entry.state}", undo=undo, name=entry.full_name)


def _refresh(request: Request) -> None:
    """Let this process know at once; the others look every two seconds."""
    from_thread.run(context_of(request).part(Detectors).refresh)


def _installed(request: Request, entries: Sequence[RegisteredDetector]) -> list[tuple[str, tuple[ModelCard, ...]]]:
    """Return the shipped detectors whose weights are installed and that the server does not use yet, with cards."""
    used = {context_of(request).settings.model, *(entry.source for entry in entries if entry.state == "active")}
    return [(name, model_cards(name)) for name in shipped_names() if name not in used]


def _trained(request: Request) -> list[tuple[Job, RegisteredDetector]]:
    """Return what projects trained and the server does not use yet, for an admin to put into use."""
    account = render.account_of(request)
    assert account is not None
    with context_of(request).store.read() as db:
        known = {entry.source for entry in detectors.list_detectors(db)}
        made = [(job, trained_entry(job)) for job in list_trained(db, account)]
    return [(job, entry) for job, entry in made if entry is not None and entry.source not in known]
