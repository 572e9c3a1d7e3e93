"""Open coding: posts on one side, the codes that the team has made on the other, until a scheme has grown.

A code is put on a post by typing its name; one that is not there yet is made.
Others' codes on a post show once you have coded it yourself, so that people
see for themselves first; `others=yes` shows them all.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy import schemes
from davy.annotation.labelling import labelling
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.store import members, posts
from davy.annotation.settling import open_coding
from davy.annotation.settling.store import codes
from davy.annotation.settling.store.codes import Code, CodedPost
from davy.people.pages.visitor import Form, field
from davy.store import Connection
from davy.web import render
from davy.web.context import Context, context_of
from davy.web.errors import LocalizedError, is_htmx

router = APIRouter(include_in_schema=False)

Codes = Annotated[ProjectAccess, Depends(in_project("code posts"))]

PAGE = 10
SHOWS = ("new", "all")


@router.get("/projects/{project_id}/coding")
def show(
    request: Request, place: Codes, show: str = "new", code: str = "", after: str = "", others: str = ""
) -> Response:
    """Return posts to code, beside the codes."""
    context = context_of(request)
    chosen = show if show in SHOWS else "new"
    with context.store.read() as db:
        every = codes.list_codes(db, place.project.id)
        here = codes.get(db, place.project.id, code) if code else None
        wanted = open_coding.page_of(
            db,
            place.project,
            by=place.account.id,
            show=chosen,
            code=here.id if here else "",
            after=after,
            limit=PAGE + 1,
        )
        shown = _posts(db, context, place, wanted[:PAGE], every, others=others == "yes")
        book = _book(db, context, place, every)
    where = {"show": chosen, "code": here.id if here else "", "others": others}
    kept = urlencode({key: value for key, value in where.items() if value})
    older = f"{place.address}/coding?{kept}&{urlencode({'after': wanted[PAGE - 1]})}" if len(wanted) > PAGE else None
    return project_page(
        request,
        place,
        "coding.html",
        posts=shown,
        book=book,
        here=here and _here(context, here, every),
        here_id=here.id if here else "",
        shows=SHOWS,
        chosen="" if here else chosen,
        others=others == "yes",
        back=f"{place.address}/coding?{kept}" + (f"&{urlencode({'after': after})}" if after else ""),
        older=older,
    )


@router.post("/projects/{project_id}/coding/posts")
def change_post(request: Request, place: Codes, form: Form) -> Response:
    """Put a post under a code by its name, or take your own code off it again."""
    post_id, name, code = field(form, "post", most=300), field(form, "name", most=200), field(form, "code", most=40)
    context = context_of(request)
    if not name and not code:
        raise LocalizedError("code_empty", status=422)
    with context.store.write() as db:
        post = posts.find_key(db, place.project.id, post_id)
        if posts.is_hidden(db, post):
            raise LocalizedError("no_such", status=404)
        if code:
            codes.take(db, place.project.id, code, post, by=place.account.id)
        else:
            open_coding.put_named(db, place.project, name, post, by=place.account.id)
        if is_htmx(request):
            every = codes.list_codes(db, place.project.id)
            shown = _posts(db, context, place, [post], every, others=field(form, "others") == "yes")
            book = _book(db, context, place, every)
    if not is_htmx(request):
        return render.redirect(request, _back(form, place) + f"#{_anchor(post_id)}")
    return render.page(
        request, "parts/coded_post.html", place=place, one=shown[0], book=book, back=_back(form, place),
        others=field(form, "others") == "yes", swapped=True, here_id="",
    )  # fmt: skip


@router.post("/projects/{project_id}/coding/codes")
def make(request: Request, place: Codes, form: Form) -> Response:
    """Make a code."""
    with context_of(request).store.write() as db:
        codes.create(
            db,
            place.project.id,
            field(form, "name"),
            by=place.account.id,
            description=field(form, "description", most=codes.LONGEST_DESCRIPTION),
            parent=field(form, "parent") or None,
        )
    return render.redirect(request, f"{place.address}/coding", "saved")


@router.post("/projects/{project_id}/coding/codes/{code_id}")
def change(request: Request, place: Codes, code_id: str, form: Form) -> Response:
    """Rename, describe or move a code; or merge it into another."""
    into, parent = field(form, "into"), field(form, "parent")
    with context_of(request).store.write() as db:
        if into:
            codes.merge(db, place.project.id, code_id, into, by=place.account.id)
        else:
            codes.change(
                db,
                place.project.id,
                code_id,
                by=place.account.id,
                name=field(form, "name"),
                description=field(form, "description", most=codes.LONGEST_DESCRIPTION),
                parent=parent or None,
                top=not parent,
            )
    here = f"{place.address}/coding?{urlencode({'code': into or code_id})}"
    return render.redirect(request, here, "merged" if into else "saved")


@router.post("/projects/{project_id}/coding/begin")
def begin(request: Request, place: Codes, form: Form) -> Response:
    """Begin with the labels of the project's scheme, as those who start from theory do."""
    with context_of(request).store.write() as db:
        scheme = labelling.scheme_of(db, place.project)
        open_coding.begin_from(db, place.project, scheme, by=place.account.id)
    return render.redirect(request, f"{place.address}/coding", "saved")


@router.get("/projects/{project_id}/coding/draft.yaml")
def draft(request: Request, place: Codes) -> Response:
    """Return the codes as the draft of a scheme, which `davy scheme check` accepts."""
    with context_of(request).store.read() as db:
        scheme = open_coding.draft_scheme(place.project, codes.list_codes(db, place.project.id))
    headers = {"Content-Disposition": f'attachment; filename="{scheme.name}.yaml"'}
    return Response(schemes.to_yaml(scheme), media_type="application/yaml; charset=utf-8", headers=headers)


def _posts(
    db: Connection, context: Context, place: ProjectAccess, keys: Sequence[str], every: Sequence[Code], *, others: bool
) -> list[dict[str, Any]]:
    on = codes.on_posts(db, place.project.id, keys)
    names = {each.id: context.mask(each.name) for each in every}
    made = []
    for key in keys:
        post = posts.get(db, key)
        mine = {coded.code for coded in on[key] if coded.by == place.account.id}
        made.append(
            {
                "id": post.id,
                "anchor": _anchor(post.id),
                "text": post.text,
                "masked": context.mask(post.text),
                "lang": post.lang or "",
                "mine": [{"id": code, "name": names[code]} for code in names if code in mine],
                "theirs": _theirs(on[key], mine, names, place.account.id) if others or mine else None,
            }
        )
    return made


def _here(context: Context, code: Code, every: Sequence[Code]) -> dict[str, Any]:
    """Return the code whose posts are shown, with its counts and what lies beneath it."""
    counted = next(each for each in every if each.id == code.id)
    return {
        "code": counted,
        "name": context.mask(code.name),
        "words": context.mask(code.description),
        "beneath": open_coding.codes_beneath(every, code.id),
    }


def _theirs(on: Sequence[CodedPost], mine: set[str], names: dict[str, str], me: str) -> list[dict[str, Any]]:
    """Return the codes that others put on a post, with how many did, and whether I did, too."""
    counted: dict[str, int] = {}
    for coded in on:
        if coded.by != me:
            counted[coded.code] = counted.get(coded.code, 0) + 1
    return [{"name": names[code], "n": n, "shared": code in mine} for code, n in counted.items() if code in names]


def _book(db: Connection, context: Context, place: ProjectAccess, every: Sequence[Code]) -> dict[str, Any]:
    """Return what the codes' side shows: the tree with its counts, and who coded how much."""
    names = {member.user: member.pseudonym for member in members.of_project(db, place.project.id, left=True)}
    coders = codes.coders(db, place.project.id)
    return {
        "branches": open_coding.tree(every),
        "masked": {each.id: context.mask(each.name) for each in every},
        "often": sorted((each for each in every if each.posts), key=lambda each: (-each.posts, each.name))[:9],
        "coders": sorted((names.get(by, by), n) for by, n in coders.items()),
        "mine": coders.get(place.account.id, 0),
        "late": codes.count_recent(db, place.project.id),
    }


def _back(form: Any, place: ProjectAccess) -> str:
    """Return where the form came from, within this page."""
    wanted = field(form, "back", most=1_000)
    return wanted if wanted.startswith(f"{place.address}/coding") else f"{place.address}/coding"


def _anchor(post_id: str) -> str:
    """Return an id for a post's place on the page: ids of posts may hold anything."""
    return "p" + hashlib.sha256(post_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
