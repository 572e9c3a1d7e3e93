"""The cookies, by name and by rule.

`session`, `visitor`, `device` and `confirmed` are secrets: HttpOnly, SameSite=Lax, and over TLS Secure
with the `__Host-` prefix, so that no other host or path can set them. `lang` and
`plain` are preferences; `note` is the signed message that the next page shows.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from davy.web.context import context_of

YEAR = 365 * 24 * 3600
_LASTS: dict[str, int | None] = {
    "session": None,
    "visitor": None,
    "device": YEAR,
    "confirmed": 1800,
    "lang": YEAR,
    "plain": YEAR,
    "note": 300,
}


def read(request: Request, name: str) -> str | None:
    """Return a cookie's value, or None."""
    return request.cookies.get(_full_name(request, name))


def write(request: Request, response: Response, name: str, value: str, *, lasts: int | None = None) -> None:
    """Set a cookie by the rules above; without `lasts` it goes when the rule says, or with the browser."""
    response.set_cookie(
        _full_name(request, name),
        value,
        max_age=lasts if lasts is not None else _LASTS[name],
        path="/",
        secure=context_of(request).settings.https,
        httponly=True,
        samesite="lax",
    )


def clear(request: Request, response: Response, name: str) -> None:
    """Take a cookie back."""
    response.delete_cookie(
        _full_name(request, name),
        path="/",
        secure=context_of(request).settings.https,
        httponly=True,
        samesite="lax",
    )


def _full_name(request: Request, name: str) -> str:
    return f"__Host-davy-{name}" if context_of(request).settings.https else f"davy-{name}"
