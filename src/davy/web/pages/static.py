"""Scripts, styles and the icon, from memory. Their addresses carry a hash, so browsers may keep them for good."""

from __future__ import annotations

import mimetypes
from functools import cache

from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import Response

from davy.web import render

router = APIRouter(include_in_schema=False)

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@cache
def _files() -> dict[str, bytes]:
    return render.static_files()


@router.get("/static/{name:path}")
def static(request: Request, name: str) -> Response:
    """Return one file; only names that are in the package are known, so no path leads out of it."""
    content = _files().get(name)
    if content is None:
        raise HTTPException(404)
    suffix = "." + name.rpartition(".")[2]
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    kept = "public, max-age=31536000, immutable" if "v" in request.query_params else "no-cache"
    return Response(content, media_type=kind, headers={"Cache-Control": kept})


@router.get("/favicon.ico")
def favicon(request: Request) -> Response:
    """Return the icon to browsers that ask for it by its old name."""
    return static(request, "favicon.svg")
