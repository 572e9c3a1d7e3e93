"""Actions that want the password again: whoever sits down at a signed-in browser must not make keys or admins.

A sign-in counts for half an hour. After that such a form is kept on a page that asks for the password (`/confirm`). The
right one marks the session with a signed cookie for another half hour, and the browser sends the form again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.people.pages.visitor import Anyone, LargeForm, Visitor, allowed, check_rate, field
from davy.people.passwords import check_password
from davy.people.store.users import User
from davy.store import events
from davy.store.columns import now
from davy.web import cookies, render
from davy.web.context import context_of
from davy.web.errors import PasswordRequired

LASTS = timedelta(minutes=30)
OWN_FIELDS = ("csrf", "next", "resume", "password")
"""Fields of the password's form itself; every other one is of the form that was kept."""

router = APIRouter(include_in_schema=False)

Self = Annotated[User, Depends(allowed("change own account"))]


def mark_fresh(request: Request, response: Response, who: Visitor) -> None:
    """Mark the session as one whose owner has just given their password."""
    cookies.write(request, response, "confirmed", _signer(request).dumps(who.session_id))


def is_fresh(request: Request, who: Visitor) -> bool:
    """Return whether the password was given within the last half hour, at sign-in or since."""
    if who.since is not None and now() - who.since < LASTS:
        return True
    sealed = cookies.read(request, "confirmed")
    if not sealed:
        return False
    try:
        return bool(_signer(request).loads(sealed, max_age=int(LASTS.total_seconds())) == who.session_id)
    except BadSignature:
        return False


def _require(request: Request, who: Anyone) -> None:
    if not is_fresh(request, who):
        raise PasswordRequired


FreshPassword = Annotated[None, Depends(_require)]
"""What a route has in its signature, after its permission, where it wants the password again."""


def _signer(request: Request) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(context_of(request).settings.secret_key, salt="confirmed")


@router.get("/confirm")
def ask(request: Request, me: Self, next: str = "/") -> Response:  # noqa: ARG001
    """Return the page that asks for the password."""
    return _page(request, next)


@router.post("/confirm")
def confirm(request: Request, me: Self, who: Anyone, form: LargeForm) -> Response:
    """Send the form that was kept, or go back to where the person was, if the password is right."""
    next_path, resume = (render.own_path(field(form, name, most=2000)) for name in ("next", "resume"))
    check_rate(request, "password account", me.id)
    if not check_password(str(form.get("password") or ""), me.password_hash):
        with context_of(request).store.write() as db:
            events.record(db, by=me.id, what="password refused", about=f"user {me.id}")
        words = render.translator_of(request)
        kept = [(name, str(value)) for name, value in form.multi_items() if name not in OWN_FIELDS]
        wrong = words("error.wrong_password")
        return _page(request, next_path, resume=resume, kept=kept, wrong=wrong, status=403)
    if resume != "/":
        response: Response = RedirectResponse(resume, 307)  # the browser sends the same fields there
    else:
        response = render.redirect(request, next_path, "confirmed")
    mark_fresh(request, response, who)
    return response


def _page(
    request: Request,
    next_path: str,
    *,
    resume: str = "",
    kept: Sequence[tuple[str, str]] = (),
    wrong: str = "",
    status: int = 200,
) -> Response:
    shown: dict[str, Any] = {"next": render.own_path(next_path), "resume": resume, "kept": kept, "wrong": wrong}
    return render.page(request, "confirm.html", status=status, **shown)
