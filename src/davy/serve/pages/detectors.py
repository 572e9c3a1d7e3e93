"""Detectors: which ones this server knows, and load, swap or retire one without a restart. For admins."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated

from anyio import from_thread
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.actions.detectors import register_detector
from davy.actions.shadow import compare_shadows
from davy.core.errors import UserError
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.errors import LocalizedError
from davy.serve.visitor import Form, allowed, field
from davy.store import detectors, users
from davy.store.users import User

router = APIRouter(include_in_schema=False)

Manages = Annotated[User, Depends(allowed("manage detectors"))]

MOST_SHOWN = 50
"""Single differences of a pair of models on the page."""
STATES: dict[str, str] = {"activate": "active", "shadow": "shadow", "retire": "retired"}
"""The last part of a form's address, and the state that it asks for."""


@router.get("/detectors")
def show(request: Request, who: Manages) -> Response:
    """Return every detector that the server knows, with its version, questions and state."""
    return _page(request)


@router.get("/detectors/shadow")
def show_shadow(request: Request, who: Manages) -> Response:
    """Return where a shadow decides otherwise than the detector that answers; texts masked, where they are kept."""
    context = context_of(request)
    return render.page(
        request,
        "shadow.html",
        comparisons=compare_shadows(context.store, differences=MOST_SHOWN),
        shadow=context.shadow,
        mask=context.mask,
    )


@router.post("/detectors")
def add(request: Request, who: Manages, form: Form) -> Response:
    """Load a detector from a folder on the server, or an embedded one, and register it."""
    source = field(form, "source", most=1000)
    kind = field(form, "state")
    try:
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
    except UserError as error:
        return _page(request, source=source, wrong=render.error_text(request, error), status=error.status)
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
    from_thread.run(context_of(request).detectors.refresh)


def _page(request: Request, *, source: str = "", wrong: str = "", status: int = 200) -> Response:
    context = context_of(request)
    with context.store.read() as db:
        entries = detectors.list_detectors(db)
        people = {user.id: user.name for user in users.list_users(db)}
    order = sorted(entries, key=lambda entry: (detectors.STATES.index(entry.state), entry.name, entry.id))
    return render.page(
        request,
        "detectors.html",
        status=status,
        entries=order,
        people=people,
        started=context.detectors.started,
        has_default=any(entry.is_default for entry in entries),
        loaded={f"{model['name']}@{model['version']}" for model in context.detectors.loaded},
        refused=context.detectors.refused,
        shadow=context.shadow,
        source=source,
        wrong=wrong,
    )
