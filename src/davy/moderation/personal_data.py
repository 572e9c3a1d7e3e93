"""What moderation keeps about a person: the corrections and appeals that their keys sent."""

from __future__ import annotations

from typing import Any

from davy.moderation.store import appeals, suggestions
from davy.people.store.personal_data import PersonDeletion
from davy.store import Connection


def personal_data(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return a person's corrections and appeals; nothing of a project."""
    return {
        **suggestions.personal_data(db, user_id, project_id),
        **appeals.personal_data(db, user_id, project_id),
    }


def forget_person(db: Connection, deletion: PersonDeletion) -> None:
    """Take a deleted account's keys off its corrections and appeals."""
    suggestions.forget_person(db, deletion)
    appeals.forget_person(db, deletion)
