"""Drawings for the meme editor: the SVG of a layout while it is edited, and of a finished meme as a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from davy.annotation.project.pages.project_access import Labels, ProjectAccess, in_project
from davy.annotation.project.store import images, posts
from davy.core.errors import UserError
from davy.memes.building import picture_folder, usable_pictures
from davy.memes.meme_layout import MemeLayout
from davy.memes.meme_render import render_svg
from davy.memes.pages.meme_editor import draw_for_browser, read_layout
from davy.people.pages.visitor import Form
from davy.web import render
from davy.web.context import context_of

router = APIRouter(include_in_schema=False)

Exports = Annotated[ProjectAccess, Depends(in_project("export"))]

SVG = "image/svg+xml"


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
