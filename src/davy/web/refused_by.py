"""A form that was refused: its page again, with the reason on it and the status of the refusal.

A route under `@refused_by(page)` raises what it refuses. The page then gets those of the route's arguments that it has
a parameter for, such as `place`, `error` if it has one, and `wrong` and `status`. Its form is filled in again.
What the sign-in or a rate limit refuses, a status in `but`, and all that htmx asks for are answered as everywhere
(`error_pages.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, TypeVar, cast

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.web import render
from davy.web.errors import is_htmx
from davy.web.filled_form import fill_form

Route = TypeVar("Route", bound=Callable[..., Any])


def refused_by(page: Callable[..., Response], *, but: Collection[int] = ()) -> Callable[[Route], Route]:
    """Return a decorator: the route's `UserError` shows `page`, except one with a status in `but`."""
    names = inspect.signature(page).parameters
    needed = {name for name, it in names.items() if it.default is it.empty and it.kind is not it.VAR_KEYWORD}

    def show(error: UserError, arguments: dict[str, Any]) -> Response:
        given = {**arguments, "error": error}
        taken = {name: value for name, value in given.items() if name in names}
        request = arguments["request"]
        shown = page(**taken, **refusal(request, error))
        return _filled_in(request, shown, arguments.get("form"), error)

    def passes(error: UserError, arguments: dict[str, Any]) -> bool:
        limited = bool(getattr(error, "wait", 0.0))
        return limited or error.status == 401 or error.status in but or is_htmx(arguments["request"])

    def decorate(route: Route) -> Route:
        assert needed <= set(inspect.signature(route).parameters), (route, needed)
        if inspect.iscoroutinefunction(route):

            @wraps(route)
            async def answer(**arguments: Any) -> Any:
                try:
                    return await route(**arguments)
                except UserError as error:
                    if passes(error, arguments):
                        raise
                    return await to_thread.run_sync(show, error, arguments)

            return cast(Route, answer)

        @wraps(route)
        def answer_in_thread(**arguments: Any) -> Any:
            try:
                return route(**arguments)
            except UserError as error:
                if passes(error, arguments):
                    raise
                return show(error, arguments)

        return cast(Route, answer_in_thread)

    return decorate


def _filled_in(request: Request, shown: Response, form: Any, error: UserError) -> Response:
    """Return the page with what was typed in its form, and the error beside its field."""
    if not isinstance(form, FormData):
        return shown
    fields = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    html = fill_form(bytes(shown.body).decode(), request.url.path, fields, error, render.error_text(request, error))
    shown.body = html.encode()
    shown.headers["Content-Length"] = str(len(shown.body))
    return shown


def refusal(request: Request, error: UserError) -> dict[str, Any]:
    """Return what a page shows of an error: `wrong`, its sentence in the reader's language, and `status`."""
    return {"wrong": render.error_text(request, error), "status": error.status}
