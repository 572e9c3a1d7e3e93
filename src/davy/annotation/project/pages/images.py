"""Pictures of a project: blurred by the server until a person asks for the sharp one; and the page that adds them.

Only members get a project's pictures, and whoever may browse the shelf the shelf's: to all others there are none.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from davy.annotation.labelling.pages.sheets import display_choice_of
from davy.annotation.project import images as pictures
from davy.annotation.project.pages.project_access import (
    Manages,
    ProjectAccess,
    find_access,
    in_project,
    project_page,
    require_permission,
    session_token,
)
from davy.annotation.project.pages.upload_form import UploadForm, credit_in, pictures_in, upload_limits
from davy.annotation.project.store import images
from davy.image.image_folder import MIME, PREVIEW_MIME
from davy.people.pages.visitor import allowed
from davy.people.store.users import User
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, SignInRequired
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Browses = Annotated[User, Depends(allowed("browse the shelf"))]
Exports = Annotated[ProjectAccess, Depends(in_project("export"))]

_MOST_MISSING = 50


def _member(request: Request, project_id: str) -> ProjectAccess:
    token = session_token(request)
    with context_of(request).store.read() as db:
        try:
            return require_permission(find_access(request, db, token, project_id), "see the project")
        except SignInRequired:
            raise
        except LocalizedError:
            raise HTTPException(404) from None


@router.get("/projects/{project_id}/images/{key}")
def one(request: Request, key: str, place: Annotated[ProjectAccess, Depends(_member)], sharp: bool = False) -> Response:
    """Return a picture: as this person chose to see pictures first, or sharp where they ask for it."""
    choice = display_choice_of(place.project, place.member).pictures if place.member else "grey"
    return _picture(request, place.project.id, key, sharp=sharp, kind="blurred" if choice == "blurred" else "grey")


@router.get("/images/{key}")
def shared(request: Request, key: str, who: Browses, sharp: bool = False) -> Response:  # noqa: ARG001 — the permission
    """Return a picture of the shared shelf."""
    return _picture(request, None, key, sharp=sharp, kind="grey")


@router.get("/projects/{project_id}/images")
def overview(request: Request, place: Manages) -> Response:
    """Return how many pictures there are, which are missing, and the form to add some."""
    return _page(request, place)


@router.get("/projects/{project_id}/images.zip")
def all_of_them(request: Request, place: Exports) -> Response:
    """Return all pictures with their credits as a zip, which is made while it is sent."""
    store = context_of(request).store
    with store.read() as db:
        own = {row.key for row in images.of_project(db, place.project.id)}
        rows = images.of_posts(db, place.project.id, own.union(images.names_wanted(db, place.project.id)))
    if not rows:
        raise HTTPException(404)
    headers = {"Content-Disposition": f'attachment; filename="{place.project.id}-pictures.zip"'}
    files = pictures.files_of(pictures.folder_of(store), rows)
    return StreamingResponse(_zipped(files), media_type="application/zip", headers=headers)


def _zipped(files: list[tuple[str, Path | bytes]]) -> Iterator[bytes]:
    sent = _Sent()
    with zipfile.ZipFile(sent, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(name, data if isinstance(data, bytes) else data.read_bytes())
            yield sent.take()
    yield sent.take()


class _Sent(io.RawIOBase):
    """What a zip writes, until it is taken and sent."""

    def __init__(self) -> None:
        self._data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._data += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._data)
        self._data.clear()
        return taken


def _page(request: Request, place: ProjectAccess, *, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        n = images.count(db, place.project.id)
        missing = pictures.missing_names(db, place.project.id)
    return project_page(
        request,
        place,
        "images.html",
        status=status,
        wrong=wrong,
        n=n,
        missing=missing[:_MOST_MISSING],
        more=max(0, len(missing) - _MOST_MISSING),
        total_missing=len(missing),
        **upload_limits(request),
    )


@router.post("/projects/{project_id}/images/upload")
@refused_by(_page)
async def upload(request: Request, place: Manages, form: UploadForm) -> Response:
    """Add the pictures that posts name; others are left out."""
    async with pictures_in(request, form) as files:
        if files is None:
            raise LocalizedError("no_file", status=422)
        n = await to_thread.run_sync(_add, request, place, files, credit_in(form))
    said = render.translator_of(request).number(n)
    return render.redirect(request, f"{place.address}/images", "pictures_added", n=said)


def _add(request: Request, place: ProjectAccess, files: pictures.PictureFiles, credit: pictures.Credit) -> int:
    store = context_of(request).store
    n, _ = pictures.add_missing(store, place.project.id, files, by=place.account.id, credit=credit)
    if not n:
        raise LocalizedError("no_such_pictures", status=422)
    return n


def _picture(request: Request, project: str | None, key: str, *, sharp: bool, kind: str) -> Response:
    store = context_of(request).store
    with store.read() as db:
        known = images.find(db, project, key)
    folder = pictures.folder_of(store) if known else None
    path = None if folder is None else folder.find(key) if sharp else folder.preview(key, kind)
    if path is None:
        raise HTTPException(404)
    kept = {"Cache-Control": "private, max-age=3600", "Vary": "Cookie"}
    return FileResponse(path, media_type=MIME if sharp else PREVIEW_MIME, headers=kept)
