"""How a person wants to see posts: masked, blurred or plain; pictures grey, blurred or plain. Kept per project."""

from __future__ import annotations

from dataclasses import dataclass

from davy.core import Member, Project

TEXTS: tuple[str, ...] = ("masked", "blurred", "plain")
PICTURES: tuple[str, ...] = ("grey", "blurred", "plain")


@dataclass(frozen=True, slots=True)
class DisplayChoice:
    """What lies over a post until it is asked for."""

    text: str = "masked"
    pictures: str = "grey"


def display_choice_of(project: Project, member: Member) -> DisplayChoice:
    """Return a person's choice, else the project's; a choice that is not known counts as none."""
    care = project.settings.get("care") or {}
    text = member.choices.get("text", care.get("veil"))
    pictures = member.choices.get("pictures")
    return DisplayChoice(text if text in TEXTS else "masked", pictures if pictures in PICTURES else "grey")
