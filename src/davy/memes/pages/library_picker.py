"""Choosing pictures of the image library, as a part of other pages: searched by words and by likeness.

`picker_of` gives the part its values; its choices belong to another form of the page, by that form's id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request

from davy.annotation.project.pages.project_access import ProjectAccess
from davy.annotation.project.store import images
from davy.core.errors import UserError
from davy.image.image_folder import is_image_key
from davy.image.perceptual_hash import likeness, unpack_likenesses
from davy.memes.building import picture_folder
from davy.memes.image_library import MOST, search_library
from davy.memes.store import image_library
from davy.web.context import context_of

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,40}")


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
