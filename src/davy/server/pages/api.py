"""`/api`: what programs can ask of this server, read from the same document as `/api/openapi.json`."""
# ruff: noqa: ARG001 — a route's signature says who it is for

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages.visitor import Anyone
from davy.server.api_description import list_operations
from davy.web import render

router = APIRouter(include_in_schema=False)


@router.get("/api")
def show_api(request: Request, who: Anyone) -> Response:
    """Return the page of operations and types."""
    document = request.app.openapi()
    types = {name: _fields(schema) for name, schema in sorted(document["components"]["schemas"].items())}
    keys = document["components"]["securitySchemes"]
    return render.page(request, "api.html", operations=list_operations(document), types=types, keys=keys)


def _fields(schema: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return the fields of a type: name, kind, and whether it must be there."""
    needed = schema.get("required", [])
    return [(name, _kind(field), name in needed) for name, field in schema.get("properties", {}).items()]


def _kind(field: dict[str, Any]) -> str:
    """Return what a field holds, in a few words."""
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "enum" in field or "const" in field:
        return " | ".join(map(str, field.get("enum", [field.get("const")])))
    if choices := field.get("anyOf") or field.get("oneOf"):
        return " | ".join(_kind(it) for it in choices)
    kind = str(field.get("type", "any"))
    if kind == "array":
        return f"list of {_kind(field.get('items', {}))}"
    inner = field.get("additionalProperties")
    if kind == "object" and isinstance(inner, dict) and inner:
        return f"map of {_kind(inner)}"
    return kind
