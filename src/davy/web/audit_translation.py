"""The audit in the reader's language: what was recorded in, words out.

Records are English and never change. Ids of people become their names; a value that pages have words for, such as a
role or a kind of phase, is said in those words. Everything else stays as it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from davy.store.events import AuditEvent
from davy.web.i18n import Translator

FAMILIES: Mapping[str, str] = {
    "role": "role.",
    "roles": "project.role.",
    "member was": "project.role.",
    "user was": "role.",
    "basis": "basis.",
    "scopes": "scope.",
    "support": "rounds.support.",
    "language": "language.",
    "decision": "many.",
    "job kind": "jobs.does.",
    "phase kind": "project.kind.",
    "case kind": "case.kind.",
    "retention kind": "retention.kind.",
    "team kind": "board.mark.",
    "detector state": "detectors.state.",
    "screening state": "screening.state.",
}
"""The family of page keys that has words for a detail's values, for some with the event's first word before it."""

TWO_WORDS = "scheme draft"
"""The only kind of thing in the audit whose name has two words."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One event as a page shows it."""

    at: datetime
    by: str
    what: str
    about: str
    details: str


def audit_rows(words: Translator, recorded: Iterable[AuditEvent], names: Mapping[str, str]) -> list[AuditRow]:
    """Return the rows of an audit; `names` are those of people by their ids."""
    return [
        AuditRow(
            event.at,
            names.get(event.by) or _kind_and_id(words, event.by),
            words.event(event.what),
            _about(words, event, names),
            "; ".join(
                f"{words.event(name)}: {_value(words, event, name, it, names)}" for name, it in event.details.items()
            ),
        )
        for event in recorded
    ]


def _about(words: Translator, event: AuditEvent, names: Mapping[str, str]) -> str:
    """Return a person's name, else the kind of thing and its id."""
    person = names.get(event.about.removeprefix("user "))
    if person is not None:
        return person
    return _kind_and_id(words, event.about)


def _kind_and_id(words: Translator, named: str) -> str:
    """Return what something is, such as an invitation, in the reader's language, with its id."""
    kind = TWO_WORDS if named.startswith(f"{TWO_WORDS} ") else named.partition(" ")[0]
    return words.event(kind) + named.removeprefix(kind)


def _value(words: Translator, event: AuditEvent, name: str, value: Any, names: Mapping[str, str]) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return words("settings.answer.yes" if value else "settings.answer.no")
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_value(words, event, name, it, names)}" for key, it in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_value(words, event, name, it, names) for it in value)
    if not isinstance(value, str):
        return str(value)
    if value in names:
        return names[value]
    if name == "rule":
        return words.error(value)
    subject = event.what.partition(" ")[0]
    family = FAMILIES.get(name) or FAMILIES.get(f"{subject} {name}")
    if family is None:
        return value
    key = family + value.replace(" ", "_")
    return words(key) if words.has(key) else words.event(value)
