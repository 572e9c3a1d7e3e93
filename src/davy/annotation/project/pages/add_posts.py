"""Bringing posts into a phase: a file with a preview, pictures with it, and what was new in it."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import images, project_creation
from davy.annotation.project.pages.posts_form import UploadedPosts, form_values, read_sent
from davy.annotation.project.pages.project_access import Manages, Place, project_page
from davy.annotation.project.pages.upload_form import UploadForm, credit_in
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases
from davy.core import Scheme
from davy.core.errors import UserError
from davy.people.pages.visitor import field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refusal

router = APIRouter(include_in_schema=False)

_TYPED = ("picture_licence", "picture_credit")


@router.get("/projects/{project_id}/phases/{name}/posts")
def form_page(request: Request, place: Manages, name: str) -> Response:
    """Return the form that brings posts into a phase."""
    return _page(request, place, name, None, _scheme(request, place))


@router.post("/projects/{project_id}/phases/{name}/upload")
async def upload(request: Request, place: Manages, name: str, form: UploadForm) -> Response:
    """Add the posts of a file to a phase, or show the file first; say what is new in it."""
    scheme = await to_thread.run_sync(_scheme, request, place)
    sent = await read_sent(request, form, place.account.id, scheme)
    typed = {key: field(form, key) for key in _TYPED}
    again = partial(_page, request, place, name, sent, scheme, typed=typed)
    try:
        if sent.wrong is not None:
            raise sent.wrong
        if sent.asks:
            return await to_thread.run_sync(again)
        if sent.frame is None:
            raise LocalizedError("no_file", status=422)
        added = await to_thread.run_sync(_add, request, place, name, sent, scheme, credit_in(form))
    except UserError as error:
        return await to_thread.run_sync(partial(again, **refusal(request, error)))
    await to_thread.run_sync(sent.kept.discard)
    number = render.translator_of(request).number
    left_out = sent.repeated + sent.blank
    counts = {"n": number(added.new), "known": number(added.known), "left_out": number(left_out), "phase": name}
    return render.redirect(request, place.address, _note(added, left_out), **counts)


def _note(added: project_creation.AddedPosts, left_out: int) -> str:
    """Return the key of the note that says what a file brought."""
    if added.known:
        return "posts_added_known_left_out" if left_out else "posts_added_known"
    return "posts_added_left_out" if left_out else "posts_added"


def _add(
    request: Request, place: Place, name: str, sent: UploadedPosts, scheme: Scheme, credit: images.Credit
) -> project_creation.AddedPosts:
    store, by, frame = context_of(request).store, place.account.id, sent.frame
    files = sent.kept.picture_files()
    assert frame is not None
    with ExitStack() as stack:
        pictures = None
        if files is not None:
            wanted = images.wanted_names([frame])
            pictures = stack.enter_context(images.storing_pictures(store, files, wanted, credit=credit, later=True))
        db = stack.enter_context(store.write())
        images.add_pictures(db, place.project.id, pictures, by=by)
        phase = phases.by_name(db, place.project.id, name)
        return project_creation.add_new_posts(db, place.project, phase, frame, scheme, by=by)


def _scheme(request: Request, place: Place) -> Scheme:
    with context_of(request).store.read() as db:
        return scheme_of(db, place.project)


def _page(
    request: Request,
    place: Place,
    name: str,
    sent: UploadedPosts | None,
    scheme: Scheme,
    *,
    typed: dict[str, str] | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    with context_of(request).store.read() as db:
        phase = phases.by_name(db, place.project.id, name)
    return project_page(
        request,
        place,
        "add_posts.html",
        status=status,
        phase=phase,
        wrong=wrong,
        typed={**dict.fromkeys(_TYPED, ""), **(typed or {})},
        **form_values(request, sent, scheme),
    )
