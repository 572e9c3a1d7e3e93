"""Browse posts: filtered by language, label and kind; words masked and pictures blurred until asked for."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from davy.schemes import parse
from davy.serve import render
from davy.serve.context import Context, context_of
from davy.serve.visitor import allowed
from davy.store import post_pages, schemes
from davy.store.users import User

router = APIRouter(include_in_schema=False)

Browses = Annotated[User, Depends(allowed("browse posts"))]
Short = Annotated[str, Query(max_length=300)]
_PAGE = 50


@router.get("/posts")
def posts(
    request: Request, who: Browses, lang: Short = "", label: Short = "", kind: Short = "", after: Short = ""
) -> Response:
    """Return one page of the posts that match."""
    context = context_of(request)
    wanted = post_pages.PostFilter(lang or None, label or None, kind or None)
    with context.store.read() as db:
        found = post_pages.page(db, wanted, after=after, limit=_PAGE)
        total = post_pages.count(db, wanted)
        langs, labels = post_pages.languages(db), post_pages.labels(db)
        asked = {scheme.name: question_names(scheme.yaml) for scheme in schemes.list_schemes(db)}
    chosen = {"lang": lang, "label": label, "kind": kind}
    older = "/posts?" + urlencode({**chosen, "after": found[-1].id}) if len(found) == _PAGE else None
    return render.page(
        request,
        "posts.html",
        posts=[_shown(context, post, asked) for post in found],
        total=total,
        many=total == post_pages.MOST,
        langs=langs,
        labels=labels,
        chosen=chosen,
        older=older,
    )


@lru_cache(maxsize=64)
def question_names(scheme: str) -> tuple[str, ...]:
    """Return the names of the questions in a scheme's YAML, in their order."""
    return tuple(question.name for question in parse(scheme).questions)


def _shown(context: Context, post: post_pages.ListedPost, asked: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return a post for the template, with a line a scheme: its labels from the first question to the last."""
    given: dict[str, dict[str, str]] = {}
    for scheme, question, labels in post.verdicts:
        given.setdefault(scheme, {})[question] = ", ".join(labels)
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
        "verdicts": [f"{scheme}: {path}" for scheme, path in paths.items()],
    }
