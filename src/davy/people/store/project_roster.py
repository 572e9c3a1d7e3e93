"""Projects as accounts, keys and jobs know them: what one is called and who is in it.

The feature that has projects answers: its `project_roster` names a module with these functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pkgutil import resolve_name
from typing import Any, Protocol

from sqlalchemy import Connection

from davy.core.feature import features


class ProjectRoster(Protocol):
    """What is asked of the feature that has projects; an id that none has is refused."""

    def title(self, db: Connection, project_id: str) -> str:
        """Return what a project is called."""
        ...

    def titles(self, db: Connection) -> dict[str, str]:
        """Return what each project is called, by id."""
        ...

    def is_member(self, db: Connection, project_id: str, user_id: str) -> bool:
        """Return whether a person is in a project and has not left it."""
        ...

    def managed_by(self, db: Connection, user_id: str) -> list[str]:
        """Return the ids of the projects that a person manages."""
        ...

    def check_roles(self, roles: Iterable[str]) -> tuple[str, ...]:
        """Return roles in their usual order, each once; an unknown one is refused."""
        ...

    def add(
        self, db: Connection, project_id: str, user_id: str, roles: Iterable[str], *, by: str, pool: str | None = None
    ) -> Any:
        """Put a person on a project's roster."""
        ...


@cache
def project_roster() -> ProjectRoster:
    """Return the roster of the feature that has projects."""
    roster: ProjectRoster = next(resolve_name(each.project_roster) for each in features() if each.project_roster)
    return roster
