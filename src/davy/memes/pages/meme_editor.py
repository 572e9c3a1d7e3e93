"""The meme editor as a part of other pages: its values, what it sends back, and the drawings that people see.

`editor_of` fills `parts/meme_editor.html`; the page's own handler reads the form with `layout_in` and keeps the meme
with `davy.memes.building.keep_meme`. What the browser shows is the renderer's own SVG, also as a file to export.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from davy.annotation.labelling.pages.sheets import display_choice_of
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, in_project
from davy.annotation.project.store import images, posts
from davy.core.errors import UserError
from davy.memes.building import picture_folder, require_same, usable_pictures
from davy.memes.meme_layout import ALIGNS, FONTS, PLACES, SIZES, MemeLayout, caption
from davy.memes.meme_render import draw_svg, render_svg
from davy.memes.store import image_library
from davy.people.pages.visitor import Form
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError

KEEPS: dict[str, tuple[str, ...]] = {"all": (), "image": ("text",), "text": ("image",)}
"""What may be changed → what has to stay."""
MOST_LAYOUT = 200_000

router = APIRouter(include_in_schema=False)

Exports = Annotated[ProjectAccess, Depends(in_project("export"))]

SVG = "image/svg+xml"


def editor_of(
    request: Request,
    place: ProjectAccess,
    *,
    save: str,
    layout: MemeLayout,
    change: str = "all",
    source: str | None = None,
    source_text: str = "",
    images: Sequence[str] = (),
    hidden: Mapping[str, str] | None = None,
    title: str = "editor.source",
    report: str = "",
) -> dict[str, Any]:
    """Return the values of `parts/meme_editor.html`.

    It posts to `save` with the fields in `hidden`. `images` are the pictures that may be put on the canvas, besides
    those of the layout; `source` is the key of the meme to build after, shown as this person sees pictures. `title` is
    the key of the words above it, `report` the address where it is reported.
    """
    assert change in KEEPS, change
    keys = list(dict.fromkeys([*(placed.image for placed in layout.images), *images]))
    choice = display_choice_of(place.project, place.member).pictures if place.member else "grey"
    lines = [box.text for box in sorted(layout.texts, key=lambda box: box.y)]
    return {
        "save": save,
        "change": change,
        "layout": json.dumps(layout.to_dict()),
        "canvas": (layout.width, layout.height),
        "pictures": _picture_values(request, place, keys),
        "on_canvas": tuple(placed.image for placed in layout.images),
        "source": source,
        "source_text": source_text,
        "source_title": title,
        "report": report,
        "choice": choice,
        "hidden": dict(hidden or {}),
        "draw": f"{place.address}/memes/draw",
        "fonts": FONTS,
        "aligns": ALIGNS,
        "places": PLACES,
        "sizes": SIZES,
        "top": lines[0] if lines else "",
        "bottom": "\n".join(lines[1:]),
    }


def layout_in(
    request: Request, place: ProjectAccess, form: FormData, *, base: MemeLayout | None = None, change: str = "all"
) -> MemeLayout:
    """Return the layout that the editor's form holds, checked; without scripts, `base` with the two captions."""
    sent = form.get("layout")
    if form.get("scripted") == "1" and isinstance(sent, str):
        layout = read_layout(sent)
    elif base is None:
        raise LocalizedError("bad_form")
    else:
        top, bottom = (str(form.get(name) or "").replace("\r", "").strip() for name in ("top", "bottom"))
        layout = base if change == "image" else caption(base, top, bottom)
    if base is not None:
        require_same(base, layout, KEEPS[change])
    with context_of(request).store.read() as db:
        usable_pictures(db, place.project.id, [placed.image for placed in layout.images])
    if not layout.images:
        raise LocalizedError("meme_without_picture", status=422)
    return layout


def sent_layout(form: FormData) -> MemeLayout | None:
    """Return the layout that the editor's form holds, to show it again; None where it can't be read."""
    sent = form.get("layout")
    try:
        return read_layout(sent) if form.get("scripted") == "1" and isinstance(sent, str) else None
    except UserError:
        return None


def read_layout(text: str) -> MemeLayout:
    """Return the layout in a field's JSON."""
    if len(text) > MOST_LAYOUT:
        raise UserError(f"The layout has {len(text):,} characters; at most {MOST_LAYOUT:,}.", status=413)
    try:
        return MemeLayout.from_dict(json.loads(text))
    except (ValueError, RecursionError):
        raise LocalizedError("bad_form") from None


def draw_for_browser(request: Request, place: ProjectAccess, layout: MemeLayout) -> str:
    """Return the SVG that people edit: the renderer's text over pictures by their addresses."""
    with context_of(request).store.read() as db:
        usable_pictures(db, place.project.id, list({placed.image for placed in layout.images}))
    return draw_svg(layout, lambda placed: f"{place.address}/images/{placed.image}?sharp=1")


def _picture_values(request: Request, place: ProjectAccess, keys: Sequence[str]) -> list[dict[str, Any]]:
    with context_of(request).store.read() as db:
        known = {it.key: it for it in images.of_posts(db, place.project.id, keys)}
        words = {row.key: row.words for row in image_library.find_images(db, keys)}
    return [
        {
            "key": key,
            "width": known[key].width,
            "height": known[key].height,
            "name": words.get(key) or known[key].name,
            "licence": known[key].licence or "",
            "credit": known[key].credit or "",
        }
        for key in keys
        if key in known
    ]


@router.post("/projects/{project_id}/memes/draw")
def draw(request: Request, place: Labels, form: Form) -> Response:
    """Return a layout as SVG; what is wrong with it as one line of text."""
    try:
        svg = draw_for_browser(request, place, read_layout(str(form.get("layout") or "")))
    except UserError as error:
        return PlainTextResponse(render.error_text(request, error), error.status)
    return Response(svg, media_type=SVG)


@router.get("/projects/{project_id}/memes/{post}/meme.svg")
def meme_svg(request: Request, place: Exports, post: str) -> Response:
    """Return a built meme as an SVG file: its pictures inside, its text as text."""
    store, project = context_of(request).store, place.project.id
    with store.read() as db:
        meme = posts.get(db, posts.find_key(db, project, post))
        layout = meme.meta.get("layout")
        # A locked meme has no picture here, and neither has a post that is no meme.
        if layout is None or images.find(db, project, meme.image or "") is None:
            raise HTTPException(404)
        drawn = MemeLayout.from_dict(layout)
        usable_pictures(db, project, [placed.image for placed in drawn.images])
    svg = render_svg(drawn, picture_folder(store).read)
    return Response(svg, media_type=SVG, headers={"Content-Disposition": 'attachment; filename="meme.svg"'})
