"""The image library in a project: search it by words and likeness. Licence and credit stand with every picture."""

from __future__ import annotations

import io

from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Here, project_page
from davy.annotation.project.store import images
from davy.image.picture import on_white
from davy.memes.building import picture_folder
from davy.memes.pages.library_picker import picker_of
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import is_htmx

router = APIRouter(include_in_schema=False)


_THUMBNAIL = (320, 320)


@router.get("/projects/{project_id}/library")
def library(
    request: Request, place: Here, field: str = "replacement", form: str = "", several: bool = False
) -> Response:
    """Return the library, or for htmx the pictures that a search finds, as choices of another page's form."""
    picker = picker_of(request, place, field=field, form=form, several=several)
    if is_htmx(request):
        return render.page(request, "parts/library_results.html", place=place, picker=picker)
    return project_page(request, place, "library.html", picker=picker)


@router.get("/projects/{project_id}/library/{key}/small.jpg")
def thumbnail(request: Request, place: Here, key: str) -> Response:  # noqa: ARG001 — the permission
    """Return a small copy of a picture on the shelf; these are licensed for showing, so nothing is blurred."""
    store = context_of(request).store
    with store.read() as db:
        known = images.find(db, None, key)
    if known is None:
        raise HTTPException(404)
    image = picture_folder(store).read(key).image
    image.thumbnail(_THUMBNAIL)
    target = io.BytesIO()
    (on_white(image) if image.mode == "RGBA" else image).save(target, "JPEG", quality=85)
    kept = {"Cache-Control": "private, max-age=3600", "Vary": "Cookie"}
    return Response(target.getvalue(), media_type="image/jpeg", headers=kept)
