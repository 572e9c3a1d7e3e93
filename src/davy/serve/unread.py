"""What waits for a person in a project's pages: unread messages and, for a wellbeing contact, unseen check-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request

from davy.serve.context import context_of
from davy.store import check_ins, messages

if TYPE_CHECKING:
    from davy.serve.membership import Place


def unread_counts(request: Request, place: Place) -> dict[str, int]:
    """Return how many things wait in each room; rooms where nothing does are left out."""
    member = place.member
    if member is None or place.left:
        return {}
    with context_of(request).store.read() as db:
        found = {
            "channel": messages.unread(db, place.project.id, member.user, member.read_until),
            "care": check_ins.waiting(db, member),
        }
    return {room: n for room, n in found.items() if n}
