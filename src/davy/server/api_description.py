"""The API's description (OpenAPI): what FastAPI finds in the routes, with keys, scopes and errors as they are.

The app in, the document out. A route's dependencies say which scope its key needs and where the key may be
(`people.pages.visitor.ApiAccess`). Errors have the shape of the service that the route follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import BaseRoute

from davy.people.pages.visitor import ApiAccess
from davy.web.error_pages import OPENAI, PERSPECTIVE

SCHEMES: dict[str, dict[str, str]] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key: Authorization: Bearer davy_…"},
    "key": {
        "type": "apiKey",
        "in": "query",
        "name": "key",
        "description": "An API key in the address, ?key=davy_…, as Google's.",
    },
    "google": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Goog-Api-Key",
        "description": "An API key in the header X-Goog-Api-Key.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "davy-session",
        "description": "A person's session, with the header X-CSRF-Token for POST.",
    },
}


class Error(BaseModel):
    """What is wrong, and what to do next. `id` is a fault's number in the server's log."""

    error: str
    status: int
    id: str | None = None


class GoogleErrorBody(BaseModel):
    """An error as Google's services word it."""

    code: int
    message: str
    status: str
    details: list[dict[str, Any]] = []


class GoogleError(BaseModel):
    """An error of the addresses in Perspective's shape."""

    error: GoogleErrorBody


class OpenAIErrorBody(BaseModel):
    """An error as OpenAI's service words it."""

    message: str
    type: str
    param: None
    code: str | None


class OpenAIError(BaseModel):
    """An error of the addresses in OpenAI's shape."""

    error: OpenAIErrorBody


MEANINGS: dict[str, str] = {
    "400": "The request is wrong: the message says where.",
    "401": "No key, or one that is not known, has ended or was revoked.",
    "403": "The key lacks the scope, or may not do this.",
    "404": "There is nothing of this name.",
    "413": "Too much at once.",
    "422": "The request is wrong: the message says where.",
    "429": "Too many requests, a quota that is used up, or a busy server; Retry-After says when to come back.",
    "503": "The detector takes too long, the server is stopping, or the database can't be used.",
}


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One operation, as a page shows it."""

    method: str
    path: str
    about: str
    scope: str | None
    takes: str | None
    gives: str | None
    errors: tuple[str, ...]


def describe_api(app: FastAPI, routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Return the document of an app with these routes; made once, since they don't change while a server runs."""
    if app.openapi_schema:
        return app.openapi_schema
    document = FastAPI.openapi(app)
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for model in (Error, GoogleError, OpenAIError):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {})
        schemas[model.__name__] = schema
    document["components"]["securitySchemes"] = SCHEMES
    for path, method, access in _accesses(routes):
        if operation := document["paths"].get(path, {}).get(method):  # pages are not in it
            _complete(operation, path, method, access)
    return document


def list_operations(document: dict[str, Any]) -> list[ApiRoute]:
    """Return the operations of a document, in its order."""
    return [
        ApiRoute(
            method.upper(),
            path,
            operation.get("description", operation.get("summary", "")),
            operation.get("x-davy-scope"),
            _schema_name(operation.get("requestBody", {})),
            _schema_name(operation["responses"].get("200", {})),
            tuple(status for status in operation["responses"] if status != "200"),
        )
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _schema_name(part: dict[str, Any]) -> str | None:
    """Return the name of the type that a body has."""
    content: dict[str, dict[str, Any]] = part.get("content", {})
    schema: dict[str, Any] = next((it.get("schema", {}) for it in content.values()), {})
    reference = schema.get("$ref") or schema.get("items", {}).get("$ref", "")
    return str(reference).rpartition("/")[2] or None


def _accesses(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str, ApiAccess | None]]:
    for route in routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            access = next((it for it in _calls(route.dependant.dependencies) if isinstance(it, ApiAccess)), None)
            for method in sorted(route.methods or ()):
                yield route.path_format, method.lower(), access


def _calls(dependencies: Iterable[Any]) -> Iterator[Any]:
    for dependency in dependencies:
        yield getattr(dependency.call, "access", None)
        yield from _calls(dependency.dependencies)


def _complete(operation: dict[str, Any], path: str, method: str, access: ApiAccess | None) -> None:
    """Give an operation its scope, its keys and its errors."""
    follows = "GoogleError" if path.startswith(PERSPECTIVE) else "OpenAIError" if path.startswith(OPENAI) else "Error"
    wrong = "422" if follows == "Error" else "400"  # the status that the other services have for it
    responses = operation["responses"]
    had_fields = responses.pop("422", None) is not None
    statuses = [wrong] if had_fields else []
    if access is not None:
        operation["security"] = [{place: []} for place in access.places]
        operation["x-davy-scope"] = access.scope
        statuses += ["400" if follows == "GoogleError" else "401", "403", "429", "503"]
    if "{" in path:
        statuses.append("404")
    if method == "post":
        statuses.append("400" if follows == "GoogleError" else "413")
    for status in sorted(set(statuses)):
        schema = {"schema": {"$ref": f"#/components/schemas/{follows}"}}
        responses[status] = {"description": MEANINGS[status], "content": {"application/json": schema}}
