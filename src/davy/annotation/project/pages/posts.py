"""Browse the posts of a project, or of the shelf that all share; words masked and pictures blurred until asked for.

Who sees which posts follows membership; annotators see no verdicts, those who run a project its hidden posts, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import ProjectAccess
from davy.annotation.project.store import post_pages, projects
from davy.people.pages.visitor import allowed
from davy.people.permissions import may
from davy.people.store.users import User
from davy.schemes import parse
from davy.schemes.store import schemes
from davy.store import Connection
from davy.web import render
from davy.web.context import Context, context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator

router = APIRouter(include_in_schema=False)

Browses = Annotated[User, Depends(allowed("browse posts"))]
Short = Annotated[str, Query(max_length=300)]
_PAGE = 50


@dataclass(frozen=True, slots=True)
class Shelf:
    """Posts that a person may browse: a project's, or with None the shared ones; and what they see of them."""

    project: str | None
    title: str
    verdicts: bool
    """Annotators see none: they would know the answer before they give theirs."""
    hidden: bool


@router.get("/posts")
def posts(
    request: Request,
    who: Browses,
    project: Short = "",
    lang: Short = "",
    label: Short = "",
    kind: Short = "",
    after: Short = "",
) -> Response:
    """Return one page of the posts that match: of a project, or without one of the shared shelf."""
    context, words = context_of(request), render.translator_of(request)
    with context.store.read() as db:
        shelves = shelves_of(db, who, words("posts.shelf"))
        shelf = next((each for each in shelves if each.project == (project or None)), None)
        if shelf is None and project:
            raise LocalizedError("not_in_project", status=403)
        shelf = shelf or next(iter(shelves), None)
        if shelf is None:
            return _page(request, [], shelves, None, {"lang": "", "kind": ""})
        wanted = post_pages.PostFilter(lang or None, (label or None) if shelf.verdicts else None, kind or None)
        seen = {"with_verdicts": shelf.verdicts, "hidden": shelf.hidden}
        filtered = wanted != post_pages.PostFilter()
        until = post_pages.end_of_look(db, shelf.project, after) if filtered else None
        end = post_pages.end_of_look(db, shelf.project) if filtered else None
        listed = post_pages.page(db, shelf.project, wanted, **seen, after=after, until=until, limit=_PAGE)
        total = post_pages.count(db, shelf.project, wanted, hidden=shelf.hidden, until=end)
        langs = post_pages.languages(db, shelf.project)
        labels = _labels(db, shelf.project) if shelf.verdicts else []
        asked = {scheme.name: question_names(scheme.yaml) for scheme in schemes.list_schemes(db)}
    chosen = {"project": shelf.project or "", "lang": lang, "label": label, "kind": kind}
    last = listed[-1].id if len(listed) == _PAGE else until
    older = "/posts?" + urlencode({**chosen, "after": last}) if last else None
    many = total == post_pages.MOST or end is not None
    shown = [_shown(context, post, asked, words) for post in listed]
    return _page(
        request, shown, shelves, shelf, chosen, total=total, many=many, langs=langs, labels=labels, older=older
    )


def shelves_of(db: Connection, who: User, shared: str) -> list[Shelf]:
    """Return what a person may browse: the shared shelf where their role may, and the projects they work in."""
    shelves = []
    if may(who.role, "browse the shelf"):
        shelves.append(Shelf(None, shared, verdicts=True, hidden=who.role == "admin"))
    mine = {project.id: ProjectAccess(project, member, who) for project, member in projects.of_user(db, who.id)}
    every = projects.list_projects(db) if who.role == "admin" else [place.project for place in mine.values()]
    for place in (mine.get(project.id) or ProjectAccess(project, None, who) for project in every):
        if place.may("browse posts"):
            sees, runs = place.may("see verdicts"), place.may("manage")
            shelves.append(Shelf(place.project.id, place.project.title, verdicts=sees, hidden=runs))
    return shelves


def _page(
    request: Request,
    posts: list[dict[str, Any]],
    shelves: list[Shelf],
    shelf: Shelf | None,
    chosen: dict[str, str],
    *,
    total: int = 0,
    many: bool = False,
    langs: Sequence[str] = (),
    labels: Sequence[str] = (),
    older: str | None = None,
) -> Response:
    return render.page(
        request,
        "posts.html",
        posts=posts,
        shelves=shelves,
        shelf=shelf,
        total=total,
        many=many,
        looked_at=post_pages.LOOKED_AT,
        langs=langs,
        labels=labels,
        chosen=chosen,
        older=older,
    )


def _labels(db: Connection, project: str | None) -> list[str]:
    """Return the labels to choose from: those of the project's scheme, and those that were given lately."""
    given = set(post_pages.labels(db, project))
    if project is not None:
        own = projects.get(db, project)
        given |= set(label_names(schemes.get(db, own.scheme, own.scheme_version).yaml))
    return sorted(given)


@lru_cache(maxsize=64)
def label_names(scheme: str) -> tuple[str, ...]:
    """Return the labels of all questions in a scheme's YAML."""
    return tuple(label for question in parse(scheme).questions for label in question.label_names)


@lru_cache(maxsize=64)
def question_names(scheme: str) -> tuple[str, ...]:
    """Return the names of the questions in a scheme's YAML, in their order."""
    return tuple(question.name for question in parse(scheme).questions)


def _shown(
    context: Context, post: post_pages.ListedPost, asked: dict[str, tuple[str, ...]], words: Translator
) -> dict[str, Any]:
    """Return a post for the template, with a line a scheme: its labels from the first question to the last."""
    given: dict[str, dict[str, str]] = {}
    for scheme, question, labels in post.verdicts:
        given.setdefault(scheme, {})[question] = ", ".join(map(words.label, labels))
    paths = {
        scheme: " › ".join(answers[question] for question in asked.get(scheme, ()) if answers.get(question))
        for scheme, answers in given.items()
    }
    return {
        "id": post.id,
        "text": post.text,
        "masked": context.mask(post.text),
        "lang": post.lang,
        "image": post.image,
        "hidden": post.hidden,
        "verdicts": [f"{scheme}: {path}" for scheme, path in paths.items()],
    }
