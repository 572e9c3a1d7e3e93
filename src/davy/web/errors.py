"""What pages and the API refuse, and in which form whoever asked wants to hear it.

A key of the catalogues in, an error in the reader's language out. `error_pages.py` turns it into a response.
"""

from __future__ import annotations

from starlette.requests import Request

from davy.core.errors import UserError
from davy.web.i18n import Translator


class LocalizedError(UserError):
    """A `UserError` in the reader's language: `error.KEY` in the catalogues, filled with `values`."""

    def __init__(self, key: str, *, status: int = 400, wait: float = 0.0, **values: object) -> None:
        super().__init__(Translator("en")(f"error.{key}", **values), status=status)
        self.key = key
        self.values = values
        self.wait = wait


class SignInRequired(LocalizedError):
    """Nobody is signed in; a page sends the reader to the sign-in page and back."""

    def __init__(self) -> None:
        super().__init__("sign_in_needed", status=401)


class PasswordRequired(LocalizedError):
    """The password was given too long ago for this act; a page asks for it and leads back."""

    def __init__(self) -> None:
        super().__init__("confirm_needed", status=403)


def wants_json(request: Request) -> bool:
    """Return whether the client is a program: an API path, or JSON accepted and HTML not."""
    if request.url.path.startswith(("/v1/", "/v1alpha1/", "/api/", "/healthz", "/readyz", "/metrics", "/$discovery/")):
        return True
    accepts = request.headers.get("accept", "")
    return "json" in accepts and "html" not in accepts


def is_htmx(request: Request) -> bool:
    """Return whether htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true"
