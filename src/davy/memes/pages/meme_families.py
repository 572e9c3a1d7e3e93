"""Memes with their confounders and kinds, as those see them who may see verdicts: raters must not."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling.pages.sheets import DisplayChoice, display_choice_of
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.core.meme import MEME_KINDS
from davy.memes import meme_families
from davy.memes.store.meme_steps import RatedMeme
from davy.web.context import context_of

router = APIRouter(include_in_schema=False)

Sees = Annotated[ProjectAccess, Depends(in_project("see verdicts"))]

A_PAGE = 20


@router.get("/projects/{project_id}/memes/families")
def families(
    request: Request, place: Sees, kind: str = "", page: Annotated[int, Query(ge=1, le=100_000)] = 1
) -> Response:
    """Return the memes of one kind, or of all, each with what flips it; and how many there are of each kind."""
    context = context_of(request)
    with context.store.read() as db:
        has_rating = meme_families.meme_phases(db, place.project).rating is not None
        found = meme_families.families(db, place.project) if has_rating else []
        kinds = meme_families.kinds_of(db, place.project)
    counts = meme_families.count_kinds(kinds)
    if kind in MEME_KINDS:
        found = [it for it in found if kind in (it.kind, *(kinds.get(key) for key in _confounders(it)))]
    shown = found[(page - 1) * A_PAGE : page * A_PAGE]
    return project_page(
        request,
        place,
        "meme_families.html",
        families=shown,
        masks={it.key: context.mask(it.text) for family in shown for it in _members(family)},
        kinds=kinds,
        counts=[(name, counts.get(name, 0)) for name in MEME_KINDS],
        kind=kind if kind in MEME_KINDS else "",
        page=page,
        more=len(found) > page * A_PAGE,
        total=len(found),
        display=display_choice_of(place.project, place.member) if place.member else DisplayChoice(),
    )


def _confounders(family: meme_families.MemeFamily) -> list[str]:
    return [side.confounder.key for side in family.sides.values() if side.confounder is not None]


def _members(family: meme_families.MemeFamily) -> list[RatedMeme]:
    return [family.meme, *(side.confounder for side in family.sides.values() if side.confounder is not None)]
