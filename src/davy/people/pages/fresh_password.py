"""Acts that want the password again: whoever sits down at a signed-in browser must not make keys or admins.

A sign-in counts for half an hour. After that such an act leads to `/confirm`, which asks for the password and marks the
session with a signed cookie for another half hour.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import Depends
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages.visitor import Anyone, Visitor
from davy.store.columns import now
from davy.web import cookies
from davy.web.context import context_of
from davy.web.errors import PasswordRequired

LASTS = timedelta(minutes=30)


def confirm(request: Request, response: Response, who: Visitor) -> None:
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
