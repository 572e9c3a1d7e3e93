"""A project over HTTP for programs: its posts and results out, new posts and answers in. JSON in and out.

A key of the project opens these routes and no others; a key that is bound to none opens them where its owner
is in the project. What its owner may not do there, the key may not. Posts count towards the key's quota.
Entries of rounds are listed for the role for adversarial texts alone, and each time their texts are given is an event.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.exchange.exchange import add_posts
from davy.annotation.exchange.rows import AnsweredPost
from davy.annotation.labelling import labelling
from davy.annotation.labelling.labelling import Sheet
from davy.annotation.project.pages.project_access import ProjectAccess, project_by_key
from davy.annotation.project.store import phases, post_pages
from davy.annotation.project.store.post_pages import PostFilter
from davy.core.errors import UserError
from davy.scoring.queue.request_scoring import charge
from davy.store import events
from davy.store.columns import new_id
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(prefix="/api/projects/{project_id}")

MOST_POSTS = 500

Sees = Annotated[ProjectAccess, Depends(project_by_key("see the project", "read"))]
Reads = Annotated[ProjectAccess, Depends(project_by_key("see verdicts", "read"))]
Sends = Annotated[ProjectAccess, Depends(project_by_key("export", "annotate"))]
Labels = Annotated[ProjectAccess, Depends(project_by_key("label posts", "annotate"))]
After = Annotated[str, Query(max_length=200, description="The last id of the page before.")]
Limit = Annotated[int, Query(ge=1, le=MOST_POSTS)]


class PostToAdd(BaseModel):
    """One post to add."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    id: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1)
    lang: str | None = Field(default=None, max_length=20)
    source: str | None = Field(default=None, max_length=200)


class SentPosts(BaseModel):
    """Posts to add to a phase; one that is there already with the same text is passed over."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    phase: str = Field(min_length=1, max_length=200)
    posts: list[PostToAdd] = Field(min_length=1, max_length=MOST_POSTS)


class SentAnswer(BaseModel):
    """Answers to one post: question → labels. The same `id` again is the same answer."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    id: str = Field(default="", max_length=40, pattern="^[0-9a-zA-Z]*$")
    answers: dict[str, list[str]]
    flags: list[str] = Field(default=[], max_length=20)
    comment: str | None = Field(default=None, max_length=2_000)
    seconds: float | None = Field(default=None, ge=0, le=care.LONGEST_ITEM)


@router.get("")
def show(request: Request, place: Sees) -> dict[str, Any]:
    """Return the project's title, scheme and phases."""
    with context_of(request).store.read() as db:
        every = phases.of_project(db, place.project.id)
    project = place.project
    about = {"name": project.id, "title": project.title, "state": project.state}
    scheme = {"name": project.scheme, "version": project.scheme_version}
    return {**about, "scheme": scheme, "phases": [_phase(phase) for phase in every]}


@router.get("/posts")
def list_posts(request: Request, place: Reads, after: After = "", limit: Limit = 100) -> dict[str, Any]:
    """Return a page of posts by their id, with what was settled about each; `next` is the `after` of the next page."""
    return _listed(request, place, after, limit, texts=True)


@router.get("/results")
def list_results(request: Request, place: Reads, after: After = "", limit: Limit = 100) -> dict[str, Any]:
    """Return the same without texts."""
    return _listed(request, place, after, limit, texts=False)


@router.post("/posts")
def send_posts(request: Request, place: Sends, sent: SentPosts) -> dict[str, int]:
    """Add posts to a phase; all of them, or none where one does not fit."""
    charge(request, len(sent.posts))
    rows = [
        AnsweredPost(post.id, post.text, post.lang, source=post.source, place=f"post {number}")
        for number, post in enumerate(sent.posts, 1)
    ]
    added = add_posts(context_of(request).store, place.project.id, sent.phase, rows, by=place.account.id)
    return {"added": added.posts, "known": added.known}


@router.post("/label")
def next_post(request: Request, place: Labels) -> dict[str, Any]:
    """Return the next post for the key's owner, theirs for a while; `post` is null where there is none now."""
    _check_consent(place)
    with context_of(request).store.write() as db:
        if care.before_next(db, place.project, member_of(place)) is not None:
            raise LocalizedError("rest_now", status=409)
        sheet = labelling.next_sheet(db, place.project, member_of(place))
    return {"post": None} if sheet is None else _sheet(sheet)


@router.post("/label/{assignment_id}")
def answer(request: Request, place: Labels, assignment_id: str, sent: SentAnswer) -> dict[str, Any]:
    """Keep the answers of the key's owner about one post."""
    _check_consent(place)
    charge(request, 1)
    answers = {question: tuple(labels) for question, labels in sent.answers.items()}
    with context_of(request).store.write() as db:
        sheet = labelling.open_sheet(db, place.project, member_of(place), assignment_id)
        fresh = sheet.assignment.state != "done"
        saved = labelling.save(
            db,
            sheet,
            answers,
            annotation_id=sent.id or new_id(),
            flags=tuple(sent.flags),
            comment=sent.comment,
            seconds=sent.seconds,
        )
        if fresh:
            hard = care.is_hard(place.project, sheet.scheme, answers, post=sheet.post)
            care.after_save(db, place.project, member_of(place), saved.annotation, sent.seconds, hard=hard)
    return {"annotation": saved.annotation.id}


def _listed(request: Request, place: ProjectAccess, after: str, limit: int, *, texts: bool) -> dict[str, Any]:
    with context_of(request).store.read() as db:
        found = post_pages.page(
            db,
            place.project.id,
            PostFilter(),
            with_verdicts=True,
            hidden=place.may("manage"),
            entries=place.may("attack"),
            after=after,
            limit=limit,
        )
    charge(request, len(found))
    adversarial = sum(post.in_round for post in found)
    if texts and adversarial:
        with context_of(request).store.write() as db:
            where = f"project {place.project.id}"
            events.record(db, by=place.account.id, what="adversarial posts fetched", about=where, n=adversarial)
    listed = []
    for post in found:
        about: dict[str, Any] = {"id": post.id, "results": {name: list(labels) for _, name, labels in post.verdicts}}
        listed.append({**about, "text": post.text, "lang": post.lang} if texts else about)
    return {"posts": listed, "next": found[-1].id if len(found) == limit else None}


def _phase(phase: Any) -> dict[str, Any]:
    return {"name": phase.name, "kind": phase.kind, "state": phase.state, "answers": phase.answers}


def _sheet(sheet: Sheet) -> dict[str, Any]:
    asked = [
        {"name": it.name, "kind": it.kind, "labels": [label.name for label in it.labels]}
        for it in sheet.scheme.questions
    ]
    post = {"id": sheet.post.id, "text": sheet.post.text, "lang": sheet.post.lang}
    return {"assignment": sheet.assignment.id, "phase": sheet.phase.name, "post": post, "questions": asked}


def _check_consent(place: ProjectAccess) -> None:
    """Refuse who has not agreed to the work on its page yet."""
    if place.member is None or place.member.consented_at is None:
        raise UserError(
            f"Sign in and agree to the work first: {place.address}/consent. Then the key can label for you.", status=403
        )
