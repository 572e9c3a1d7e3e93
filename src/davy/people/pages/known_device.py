"""Browsers on which a person has signed in before.

A stranger who guesses at an account uses up its tries. Its owner, on a browser with this cookie, has tries of
their own, so that nobody can be kept out from elsewhere (OWASP's device cookies).
"""

from __future__ import annotations

import secrets

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from davy.web import cookies
from davy.web.context import context_of


def remember(request: Request, response: Response, user_id: str) -> None:
    """Mark this browser as one on which the person knows their password."""
    cookies.write(request, response, "device", _signer(request).dumps([user_id, secrets.token_hex(8)]))


def bucket(request: Request, user_id: str | None, login: str) -> tuple[str, str]:
    """Return the rate limit of a try to sign in: this browser's own where it is known, else the account's."""
    cookie = cookies.read(request, "device")
    if cookie and user_id is not None:
        try:
            owner, device = _signer(request).loads(cookie, max_age=cookies.YEAR)
        except (BadSignature, ValueError, TypeError):
            owner = device = None
        if owner == user_id:
            return "sign-in device", str(device)
    return "sign-in account", login


def _signer(request: Request) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(context_of(request).settings.secret_key, salt="device")
