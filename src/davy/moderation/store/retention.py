"""What retention rules of the server can remove of moderation: decisions, reviewed corrections and shadow posts."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select

from davy.moderation.store.appeals import appeals
from davy.moderation.store.decisions import decisions
from davy.moderation.store.shadows import shadow_differences
from davy.moderation.store.suggestions import suggestions
from davy.people.store.retention import RetentionKind

RETENTION: Mapping[str, RetentionKind] = {
    # One that somebody appeals against stays until people have looked at it again.
    "decisions": RetentionKind(
        decisions,
        lambda before, _: (
            decisions.c.at < before,
            decisions.c.id.not_in(select(appeals.c.decision).where(appeals.c.state == "open")),
        ),
    ),
    "appeals": RetentionKind(appeals, lambda before, _: (appeals.c.state != "open", appeals.c.reviewed_at < before)),
    # Those that nobody has reviewed are labels on their way: they stay.
    "corrections": RetentionKind(
        suggestions, lambda before, _: (suggestions.c.state != "open", suggestions.c.reviewed_at < before)
    ),
    "shadow posts": RetentionKind(shadow_differences, lambda before, _: (shadow_differences.c.at < before,)),
}
