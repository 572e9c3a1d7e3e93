"""The scheme that a project asks, as a `Scheme`, with the guidelines that were added during the work and
the translations that came with a newer Davy.

Reading its YAML takes tens of milliseconds, so what was read is kept under the
scheme's stamp, which differs whenever its questions, words or guidelines do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from davy.annotation.project.project import Project
from davy.annotation.project.store import guidelines
from davy.core import Scheme
from davy.schemes.store import schemes

if TYPE_CHECKING:
    from davy.store import Connection

MOST = 64

# What was read, by stamp. The key holds all that the value depends on, so it is a memory and no state.
_read: dict[tuple[Any, ...], Scheme] = {}


def scheme_of(db: Connection, project: Project) -> Scheme:
    """Return a project's scheme; in a write transaction its questions can't change until that ends."""
    stamp = schemes.stamp_of(db, project)
    known = _read.get(stamp)
    if known is None:
        if len(_read) >= MOST:
            _read.clear()
        known = _read[stamp] = _from_store(db, project)
    return known


def _from_store(db: Connection, project: Project) -> Scheme:
    from davy.schemes import parse, with_translations

    stored = schemes.get(db, project.scheme, project.scheme_version)
    kept = replace(parse(stored.yaml), guidelines=tuple(guidelines.of_project(db, project.id)))
    return with_translations(kept)
