"""Schemes of one's own: the list, and a new one from nothing, a file, a copy, or a project's open coding.

A scheme is its author's alone. Nobody else, no admin either, sees it before a project is made from it. A project may
begin with a shipped scheme, with one that the operator added, or with its maker's own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy import schemes as shipped
from davy.annotation.project import project_file
from davy.annotation.project.pages.project_access import ProjectAccess, in_project
from davy.annotation.project.pages.upload_form import UploadForm, sent_file
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, projects
from davy.annotation.settling import open_coding
from davy.annotation.settling.store import codes
from davy.core import Scheme, Wording
from davy.core.errors import UserError
from davy.people.pages.visitor import Form, allowed, field
from davy.people.permissions import may
from davy.people.store.users import User
from davy.scheme_editor import draft
from davy.scheme_editor import store as scheme_drafts
from davy.scheme_editor.draft import Values
from davy.scheme_editor.pages.scheme_form import LONGEST_TITLE
from davy.schemes.store import schemes
from davy.store import Connection, events
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Makes = Annotated[User, Depends(allowed("make projects"))]
Codes = Annotated[ProjectAccess, Depends(in_project("code posts"))]

LARGEST_FILE = 256 * 1024
_MORE = re.compile(r" \(\d+ more: davy scheme check \S+\)$")
OPERATOR = (events.SHELL, events.SYSTEM)


@router.get("/schemes")
def overview(request: Request, who: Makes) -> Response:
    """Return the schemes that somebody wrote, and the ways to begin another."""
    return _page(request, who)


def _page(request: Request, who: User, *, wrong: str = "", status: int = 200) -> Response:
    lang = render.translator_of(request).lang
    with context_of(request).store.read() as db:
        return render.page(
            request,
            "schemes.html",
            status=status,
            wrong=wrong,
            drafts=own_drafts(db, who, lang),
            shared=shared_schemes(db, lang),
            managed=[project for project, member in projects.of_user(db, who.id) if "manager" in member.roles],
            largest=LARGEST_FILE // 1024,
        )


@router.post("/schemes")
@refused_by(_page)
async def make(request: Request, who: Makes, form: UploadForm) -> Response:
    """Begin a scheme: an empty one, one from a file, or a copy of one that ships or of a project's."""
    text = await _text_of(form) if field(form, "from") == "file" else ""
    return await to_thread.run_sync(_make, request, who, form, text)


@router.post("/projects/{project_id}/coding/draft")
def from_codes(request: Request, place: Codes, form: Form) -> Response:  # noqa: ARG001 — a checked form
    """Begin a scheme with what a project's open coding found."""
    if not may(place.account.role, "make projects"):
        raise LocalizedError("not_allowed", status=403)
    with context_of(request).store.write() as db:
        found = open_coding.draft_scheme(place.project, codes.list_codes(db, place.project.id))
        made = _add(db, place.account, draft.draft_of(found))
    return render.redirect(request, f"/schemes/{made.id}", "scheme_made")


def _make(request: Request, who: User, form: FormData, text: str) -> Response:
    begin, title = field(form, "from"), field(form, "title", most=LONGEST_TITLE)
    words = render.translator_of(request)
    with context_of(request).store.write() as db:
        if begin == "file":
            values = draft.draft_of(_parsed(text, words))
        elif begin == "copy":
            values = draft.draft_of(_source(db, who, field(form, "scheme")))
        elif begin == "empty" and title:
            values = draft.blank_draft(draft.plain_name(title, otherwise="scheme"), {words.lang: title})
        else:
            raise LocalizedError("scheme_title", status=422)
        made = _add(db, who, values)
    return render.redirect(request, f"/schemes/{made.id}", "scheme_made")


def _add(db: Connection, who: User, values: Values) -> scheme_drafts.SchemeDraft:
    """Add a draft under a name that its author has no other scheme of."""
    mine = [it.name for it in scheme_drafts.of_owner(db, who.id)]
    return scheme_drafts.create(db, who.id, {**values, "name": draft.copy_name(values["name"], mine)})


def _source(db: Connection, who: User, chosen: str) -> Scheme:
    """Return the scheme to copy: a shared one by name, or that of a project which this person manages."""
    kind, _, name = chosen.partition(":")
    if kind == "project":
        member = members.get(db, name, who.id)
        if member is None or member.left_at is not None or "manager" not in member.roles:
            raise LocalizedError("no_scheme", status=404)
        return scheme_of(db, projects.get(db, name))
    return scheme_at(db, who, "scheme" if kind == "scheme" else "", name)


async def _text_of(form: FormData) -> str:
    raw = await sent_file(form).read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise LocalizedError("scheme_file_size", status=413, most=LARGEST_FILE // 1024)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LocalizedError("scheme_file_utf8", status=422) from None


def _parsed(text: str, words: Translator) -> Scheme:
    try:
        return shipped.parse(text, "file")
    except UserError as error:
        problem = _MORE.sub("", error.message.removeprefix("file:"))
        line, colon, rest = problem.partition(": ")
        if colon and line.isdecimal():
            raise LocalizedError("scheme_file_line", status=422, line=line, problem=words.error(rest)) from None
        raise LocalizedError("scheme_file", status=422, problem=words.error(problem)) from None


@cache
def shipped_titles(lang: str) -> tuple[tuple[str, str], ...]:
    """Return the shipped schemes with their titles; they are read once, since that takes a while."""
    return tuple((name, shipped.load(name).title.said_in(lang) or name) for name in shipped.names())


def shared_schemes(db: Connection, lang: str) -> list[tuple[str, str]]:
    """Return (name, title) of the schemes that everybody here may use; what people wrote for themselves is not."""
    titles = dict(shipped_titles(lang))
    added = {row.name for row in schemes.list_schemes(db) if row.added_by in OPERATOR}
    return [(name, titles.get(name, name)) for name in sorted(added | set(titles))]


def own_drafts(db: Connection, who: User, lang: str) -> list[dict[str, Any]]:
    """Return somebody's own schemes for a list: id, name, title, how many questions, whether it can be used."""
    return [
        {
            "id": it.id,
            "name": it.name,
            "title": Wording(it.content.get("title") or "").said_in(lang) or it.name,
            "questions": len(it.content["questions"]),
            "ready": not draft.problems(it.content),
            "saved_at": it.saved_at,
        }
        for it in scheme_drafts.of_owner(db, who.id)
    ]


def scheme_for_project(db: Connection, who: User, draft_id: str) -> tuple[Scheme, str]:
    """Return somebody's own draft as a scheme of the database, with its YAML, for a project that is being made."""
    found = own_draft(db, who, draft_id)
    if draft.problems(found.content):
        raise LocalizedError("scheme_not_ready", status=422)
    scheme = draft.finished(found.content)
    kept = scheme_drafts.add_own(db, scheme, shipped.to_yaml, by=who.id, taken=shipped.names())
    return kept, shipped.to_yaml(kept)


def scheme_at(db: Connection, who: User, kind: str, name: str) -> Scheme:
    """Return the scheme that a new project begins with: a preset's, a shared one's or somebody's own."""
    if kind == "own":
        return draft.finished(own_draft(db, who, name).content)
    if kind == "preset" and name in project_file.preset_names():
        name = project_file.read_plan(name).scheme
    elif kind != "scheme" or name not in dict(shared_schemes(db, "en")):
        raise LocalizedError("no_scheme", status=404)
    return shipped.load(name) if name in shipped.names() else shipped.parse(schemes.get(db, name).yaml)


def own_draft(db: Connection, who: User, draft_id: str) -> scheme_drafts.SchemeDraft:
    """Return somebody's own draft; another's is not found."""
    try:
        return scheme_drafts.get(db, who.id, draft_id)
    except UserError:
        raise LocalizedError("no_scheme", status=404) from None
