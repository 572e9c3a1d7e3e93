"""How a person likes to label, in every project and browser: keys, text size, definitions, going on by itself.

An account's `choices` in, a `WorkChoices` out; what is not known counts as not chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from davy.people.store.users import User

COMMANDS: Mapping[str, str] = {
    "undo": "u",
    "skip": "s",
    "refuse": "r",
    "flag": "f",
    "comment": "c",
    "veil": "v",
    "guideline": "g",
    "definitions": "d",
    "next": "n",
    "previous": "p",
    "mark": "m",
}
"""What a letter does unless somebody chose another one."""
TEXT_SIZES: tuple[str, ...] = ("usual", "large", "largest")
SWITCHES: tuple[str, ...] = ("on", "off")
MOST_GOAL = 10_000
CHOICES: Mapping[str, tuple[str, ...]] = {
    "text_size": TEXT_SIZES,
    "definitions": SWITCHES,
    "keys": SWITCHES,
    "auto_advance": SWITCHES,
    "day": SWITCHES,
}
"""What can be chosen, and from what."""


@dataclass(frozen=True, slots=True)
class WorkChoices:
    """What a person chose, or the usual."""

    text_size: str = "usual"
    definitions: str = "on"
    keys: str = "on"
    auto_advance: str = "off"
    day: str = "on"
    """Whether the strip with the day's work is shown."""
    goal: int | None = None
    """Posts a day that they want to do."""
    letters: Mapping[str, str] = field(default_factory=lambda: dict(COMMANDS))
    """Command → letter."""

    @property
    def page_class(self) -> str:
        """The classes of a page that looks as this person chose; none where all is as usual."""
        found = {
            f"text-{self.text_size}": self.text_size != "usual",
            "no-definitions": self.definitions == "off",
            "no-keys": self.keys == "off",
        }
        return " ".join(name for name, wanted in found.items() if wanted)

    @property
    def changed_keys(self) -> str:
        """What a letter of old is now, as JSON for the script: `{"u": "z"}`."""
        changed = {usual: self.letters[name] for name, usual in COMMANDS.items() if self.letters[name] != usual}
        return json.dumps(changed) if changed else ""


def choices_of(account: User | None) -> WorkChoices:
    """Return what an account chose."""
    kept: Mapping[str, Any] = (account.choices if account else None) or {}
    known = {name: kept[name] for name, values in CHOICES.items() if kept.get(name) in values}
    letters = {**COMMANDS, **{name: key for name, key in (kept.get("letters") or {}).items() if name in COMMANDS}}
    goal = kept.get("goal")
    return WorkChoices(**known, goal=goal if isinstance(goal, int) else None, letters=letters)
