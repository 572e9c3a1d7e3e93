"""Your account and your data: language, how words are shown, password, sessions; export and deletion.

Nobody else's data can be reached here: every query is for the account that asks.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.people.pages.visitor import Anyone, Form, Visitor, allowed, check_rate, field
from davy.people.passwords import SHORTEST, check_password, hash_password
from davy.people.store import personal_data, sessions, users
from davy.people.store.users import User
from davy.people.work_choices import CHOICES, COMMANDS, MOST_GOAL
from davy.web import cookies, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.i18n import LANGUAGES
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Self = Annotated[User, Depends(allowed("change own account"))]


@router.get("/account")
def account(request: Request, me: Self, who: Anyone) -> Response:
    """Return the account page."""
    return _page(request, me, who)


@router.post("/account")
def save(request: Request, me: Self, form: Form) -> Response:
    """Save the language, and whether this browser masks hurtful words."""
    lang, plain = field(form, "lang"), field(form, "plain")
    if lang not in LANGUAGES or plain not in ("yes", "no"):
        raise LocalizedError("choice")
    if lang != me.language:
        with context_of(request).store.write() as db:
            users.set_language(db, me.id, lang, by=me.id)
    response = render.redirect(request, "/account", "saved")
    cookies.write(request, response, "lang", lang)
    cookies.write(request, response, "plain", plain)
    return response


def _page(request: Request, me: User, who: Visitor, *, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        mine = sessions.of_user(db, me.id)
    return render.page(
        request, "account.html", status=status, sessions=mine, session_id=who.session_id, wrong=wrong, shortest=SHORTEST
    )


@router.post("/account/labelling")
@refused_by(_page)
def save_work_choices(request: Request, me: Self, who: Anyone, form: Form) -> Response:
    """Keep how this person likes to label; what the form does not have stays as it is."""
    wanted = _choices_in(form)
    with context_of(request).store.write() as db:
        users.choose(db, me.id, **wanted)
    if is_htmx(request):
        return Response(status_code=204)
    return render.redirect(request, "/account#labelling", "saved")


@router.post("/account/password")
@refused_by(_page)
def change_password(request: Request, me: Self, who: Anyone, form: Form) -> Response:
    """Change the password; all other sessions end."""
    check_rate(request, "password account", me.id)
    password = str(form.get("password") or "")
    if not check_password(str(form.get("current") or ""), me.password_hash):
        raise LocalizedError("wrong_password", status=403)
    if password != str(form.get("again") or ""):
        raise LocalizedError("passwords_differ")
    hashed = hash_password(password, login=me.login)
    with context_of(request).store.write() as db:
        users.set_password(db, me.id, hashed, by=me.id, keep_session=who.session_id)
    return render.redirect(request, "/account", "password")


@router.post("/account/sessions/{session_id}/end")
def end_session(request: Request, session_id: str, me: Self, form: Form) -> Response:
    """End one of your own sessions; somebody else's is not found."""
    with context_of(request).store.write() as db:
        if session_id not in {session.id for session in sessions.of_user(db, me.id)}:
            raise LocalizedError("no_such", status=404)
        sessions.end(db, session_id, by=me.id)
    return render.redirect(request, "/account", "session_ended")


def _choices_in(form: FormData) -> dict[str, Any]:
    """Return what a form chooses; what it does not have stays as it is."""
    wanted: dict[str, Any] = {}
    for name, values in CHOICES.items():
        if name in form:
            given = field(form, name)
            if given not in values:
                raise LocalizedError("choice")
            wanted[name] = given
    if "goal" in form:
        given = field(form, "goal", most=6)
        if given and not (given.isascii() and given.isdigit() and 0 < int(given) <= MOST_GOAL):
            raise LocalizedError("number", given=given)
        wanted["goal"] = int(given) if given else None
    if any(f"key.{name}" in form for name in COMMANDS):
        wanted["letters"] = _letters(form)
    return wanted


def _letters(form: FormData) -> dict[str, str]:
    """Return command → letter where it differs from the usual; two commands with one letter are refused."""
    letters = {name: field(form, f"key.{name}", most=1).lower() or usual for name, usual in COMMANDS.items()}
    for letter in letters.values():
        if not (letter.isascii() and letter.isalpha()):
            raise LocalizedError("key_letter", status=422, letter=letter)
        if list(letters.values()).count(letter) > 1:
            raise LocalizedError("key_twice", status=422, letter=letter)
    return {name: letter for name, letter in letters.items() if letter != COMMANDS[name]}


@router.get("/account/my-data.json")
def export_all(request: Request, me: Self) -> Response:
    """Return everything that this server keeps about you."""
    with context_of(request).store.read() as db:
        made = personal_data.export(db, me.id)
    return json_file(made, "my-data.json")


@router.post("/account/delete")
def delete_account(request: Request, me: Self, form: Form) -> Response:
    """Delete your account and your personal data in all projects; the password proves that it is you."""
    check_rate(request, "password account", me.id)
    if field(form, "sure") != "yes":
        raise LocalizedError("not_sure")
    if not check_password(str(form.get("password") or ""), me.password_hash):
        raise LocalizedError("wrong_password", status=403)
    store = context_of(request).store
    try:
        with store.write() as db:
            personal_data.delete_account(db, me.id, by=me.id, comments=field(form, "keep_comments") != "yes")
    except UserError as error:
        if error.status != 409:
            raise
        raise LocalizedError("last_admin", status=409) from None
    store.truncate_log()
    response = render.redirect(request, "/sign-in", "account_deleted")
    cookies.clear(request, response, "session")
    return response


def json_file(made: object, name: str) -> Response:
    """Return a person's data as a file."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    text = json.dumps(made, ensure_ascii=False, indent=2)
    return Response(text, media_type="application/json; charset=utf-8", headers=headers)
