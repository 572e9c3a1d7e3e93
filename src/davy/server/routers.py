"""The screens and the API: the routers of every feature."""

from pkgutil import resolve_name

from fastapi import APIRouter

from davy.core.feature import features


def load_routers() -> list[APIRouter]:
    """Return all routers, the busy ones first: a request is compared with route after route."""
    busy = [name for feature in features() for name in feature.busy_routers]
    return [resolve_name(name) for name in (*busy, *(name for feature in features() for name in feature.routers))]
