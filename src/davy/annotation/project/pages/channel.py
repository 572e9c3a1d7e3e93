"""The channel: announcements, questions about a post or anything, answers that may go into the guideline.

People are shown by their pseudonym. Texts are masked; a post that a question is
about must be in the project, and is shown to those who may browse its posts. Opening the page marks everything as read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Here, ProjectAccess, in_project, project_page
from davy.annotation.project.store import members, messages, posts
from davy.annotation.project.store.messages import ChannelMessage, ChannelThread
from davy.people.pages.visitor import Form, check_rate, field
from davy.store import Connection
from davy.store.columns import now
from davy.web import render
from davy.web.context import Context, context_of
from davy.web.errors import LocalizedError

router = APIRouter(include_in_schema=False)

Announces = Annotated[ProjectAccess, Depends(in_project("announce"))]
Writes = Annotated[ProjectAccess, Depends(in_project("write in the channel"))]

PAGE = 20
FILTERS = ("all", "open", "announcements")


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as a page shows it."""

    it: ChannelMessage
    who: str
    mine: bool
    masked: str
    post_masked: str | None = None
    post_text: str | None = None


@router.get("/projects/{project_id}/channel")
def show(request: Request, place: Here, post: str = "", before: str = "", show: str = "all") -> Response:
    """Return the channel; with `post`, the form asks about that post."""
    context = context_of(request)
    wanted = show if show in FILTERS else "all"
    kind = {"open": "question", "announcements": "announcement"}.get(wanted)
    with context.store.read() as db:
        about = _shown_post(db, context, place, _find_post(db, place, post))
        threads = messages.threads(
            db, place.project.id, before=before or None, limit=PAGE + 1, kind=kind, open_only=wanted == "open"
        )
        who = _names(db, place)
        shown = [_thread(db, context, place, thread, who) for thread in threads[:PAGE]]
        since = place.member.read_until if place.member else None
        fresh = messages.unread(db, place.project.id, place.account.id, since) if place.member else 0
    if fresh and not before and place.member is not None:
        read_until = now()
        with context.store.write() as db:
            members.read_until(db, place.project.id, place.account.id, read_until)
        place = replace(place, member=replace(place.member, read_until=read_until))
    older = (
        f"{place.address}/channel?show={wanted}&before={threads[PAGE - 1].first.id}" if len(threads) > PAGE else None
    )
    return project_page(
        request,
        place,
        "channel.html",
        threads=shown,
        about=about,
        filters=FILTERS,
        chosen=wanted,
        older=older,
    )


@router.post("/projects/{project_id}/channel/announce")
def announce(request: Request, place: Announces, form: Form) -> Response:
    """Tell everyone something."""
    text = _text(request, place, form)
    with context_of(request).store.write() as db:
        messages.announce(db, place.project.id, text, by=place.account.id)
    return render.redirect(request, f"{place.address}/channel", "announced")


@router.post("/projects/{project_id}/channel/ask")
def ask(request: Request, place: Writes, form: Form) -> Response:
    """Ask the team something, about a post of the project where one is named."""
    text, post = _text(request, place, form), field(form, "post", most=300)
    with context_of(request).store.write() as db:
        about = _find_post(db, place, post)
        messages.ask(db, place.project.id, text, by=place.account.id, post=about)
    return render.redirect(request, f"{place.address}/channel", "asked")


@router.post("/projects/{project_id}/channel/{message_id}/answer")
def answer(request: Request, place: Writes, message_id: str, form: Form) -> Response:
    """Answer a question; who asked may add to it."""
    text = _text(request, place, form)
    with context_of(request).store.write() as db:
        asked = messages.get(db, place.project.id, message_id)
        if not place.may("answer questions") and asked.by != place.account.id:
            raise LocalizedError("not_allowed_here", status=403)
        messages.answer(db, place.project.id, message_id, text, by=place.account.id)
    return render.redirect(request, f"{place.address}/channel#m-{message_id}", "answered")


def _text(request: Request, place: ProjectAccess, form: Any) -> str:
    check_rate(request, "words of a person", place.account.id)
    text = field(form, "text", most=messages.LONGEST)
    if not text:
        raise LocalizedError("message_empty", status=422)
    return text


def _names(db: Connection, place: ProjectAccess) -> dict[str, tuple[str, tuple[str, ...]]]:
    everyone = members.of_project(db, place.project.id, left=True)
    return {member.user: (member.pseudonym, member.roles) for member in everyone}


def _thread(
    db: Connection,
    context: Context,
    place: ProjectAccess,
    thread: ChannelThread,
    who: Mapping[str, tuple[str, tuple[str, ...]]],
) -> dict[str, Any]:
    since = place.member.read_until if place.member else now()
    everything = (thread.first, *thread.answers)
    return {
        "first": _said(context, place, thread.first, who, _shown_post(db, context, place, thread.first.post)),
        "answers": [_said(context, place, message, who) for message in thread.answers],
        "unread": any(
            message.by != place.account.id and (since is None or message.at > since) for message in everything
        ),
        "may_answer": place.may("answer questions") or thread.first.by == place.account.id,
    }


def _said(
    context: Context,
    place: ProjectAccess,
    it: ChannelMessage,
    who: Mapping[str, tuple[str, tuple[str, ...]]],
    post: Mapping[str, Any] | None = None,
) -> MessageView:
    # Somebody whose data was deleted is in `by` under their pseudonym; an admin who is on no roster is "the team".
    pseudonym, _ = who.get(it.by, (it.by if it.by in {name for name, _ in who.values()} else "", ()))
    return MessageView(
        it,
        pseudonym,
        it.by == place.account.id,
        context.mask(it.text),
        post["masked"] if post else None,
        post["text"] if post else None,
    )


def _find_post(db: Connection, place: ProjectAccess, post_id: str) -> str | None:
    """Return the key of the post that somebody asks about, who has to be one of those who may browse posts."""
    if not post_id:
        return None
    if not place.may("browse posts"):  # whoever labels may: they ask about the post before them
        raise LocalizedError("no_such", status=404)
    return posts.find_key(db, place.project.id, post_id)


def _shown_post(db: Connection, context: Context, place: ProjectAccess, key: str | None) -> dict[str, Any] | None:
    """Return the post that a question is about; the words of a hidden one are for those who run the project."""
    if key is None or not place.may("browse posts"):
        return None
    post = posts.get(db, key)
    text = post.text if place.may("manage") or not posts.is_hidden(db, key) else ""
    return {"id": post.id, "text": text, "masked": context.mask(text), "lang": post.lang or ""}
