"""The image library: its page in a project, where its manager fills it, and choosing from it in other pages.

Searched by words and by likeness. `picker_of` gives the part its values; its choices belong to another form of the
page, by that form's id. Licence and credit are beside every picture.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, HTTPException
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Here, Manages, ProjectAccess, project_page
from davy.annotation.project.pages.upload_form import UploadForm, credit_in, pictures_in, upload_limits
from davy.annotation.project.store import images
from davy.core.errors import UserError
from davy.image.image_folder import is_image_key
from davy.image.perceptual_hash import likeness, unpack_likenesses
from davy.image.picture import on_white
from davy.memes.building import picture_folder
from davy.memes.image_library import MOST, add_to_library, search_library
from davy.memes.store import image_library
from davy.people.pages.visitor import field as form_field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.refused_by import refused_by

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,40}")

router = APIRouter(include_in_schema=False)


_THUMBNAIL = (320, 320)
_TYPED = ("picture_licence", "picture_credit", "words")


def picker_of(
    request: Request,
    place: ProjectAccess,
    *,
    field: str = "replacement",
    several: bool = False,
    like: str | None = None,
    chosen: Sequence[str] = (),
    form: str = "",
    without: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the values of `parts/library_picker.html`: what was searched for, and the pictures that fit.

    The choice is sent as `field` with the form of the page whose id is `form`. `like` is a picture to resemble; the
    address of the page may name another one, and words (`?words=`, `?like=`). What is `chosen`, here or in the
    address, stays in sight whatever is searched for; `without`, or `?without=`, is not offered.
    """
    asked = request.query_params
    chosen = [*dict.fromkeys([*chosen, *asked.getlist(field)])][:MOST]
    words, wanted = asked.get("words", "")[:200], asked.get("like") or like
    if not _NAME.fullmatch(field) or (form and not _NAME.fullmatch(form)):
        raise UserError("This form does not come from one of our pages. Open the page again.")
    store = context_of(request).store
    with store.read() as db:
        without = [*without, *asked.getlist("without")][:MOST]
        library = [row for row in image_library.all_images(db) if row.key not in without]
        known = images.find(db, place.project.id, wanted) if is_image_key(wanted) and wanted else None
    vector = None
    if known is not None:
        own = next((row.likeness for row in library if row.key == known.key), None)
        vector = unpack_likenesses([own])[0] if own else likeness(picture_folder(store).read(known.key).image)
    hits = search_library(library, words, like=vector)
    held = [row for row in library if row.key in chosen]
    return {
        "address": f"{place.address}/library",
        "field": field,
        "form": form,
        "several": several,
        "chosen": tuple(chosen),
        "without": tuple(without),
        "words": words,
        "like": known.key if known else "",
        "rows": [*held, *(row for row in hits if row not in held)],
        "total": len(library),
        "most": MOST,
    }


@router.get("/projects/{project_id}/library")
def library(
    request: Request, place: Here, field: str = "replacement", form: str = "", several: bool = False
) -> Response:
    """Return the library, or for htmx the pictures that a search finds, as choices of another page's form."""
    if is_htmx(request):
        picker = picker_of(request, place, field=field, form=form, several=several)
        return render.page(request, "parts/library_results.html", place=place, picker=picker)
    return _page(request, place)


def _page(
    request: Request, place: ProjectAccess, *, form: FormData | None = None, wrong: str = "", status: int = 200
) -> Response:
    return project_page(
        request,
        place,
        "library.html",
        status=status,
        wrong=wrong,
        picker=picker_of(request, place),
        typed={name: form_field(form, name) if form is not None else "" for name in _TYPED},
        **upload_limits(request),
    )


@router.post("/projects/{project_id}/library/upload")
@refused_by(_page)
async def upload(request: Request, place: Manages, form: UploadForm) -> Response:
    """Add licensed pictures to the library, which every project here may build from; all of them or none."""
    async with pictures_in(request, form) as files:
        if files is None:
            raise LocalizedError("no_file", status=422)
        add = partial(
            add_to_library,
            context_of(request).store,
            files,
            credit=credit_in(form),
            words=form_field(form, "words"),
            by=place.account.id,
        )
        new, given = await to_thread.run_sync(add)
    number = render.translator_of(request).number
    return render.redirect(request, f"{place.address}/library", "library_added", n=number(new), given=number(given))


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
