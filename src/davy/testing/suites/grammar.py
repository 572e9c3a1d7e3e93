"""The little language of a template's text: words with slots in braces.

A text in, its parts out. A slot is one of

    {identity}                 an entry of the lexicon `identity`, in its first form
    {identity.one}             the entry in its form `one`
    {Identity}                 the same, its first letter large
    {slur.many~leet}           the form, respelt as an entry of the lexicon `leet` says
    {'despise'~leet}           a word of the template, respelt
    {thing.number? one: is, many: are}    the word that agrees with what stands in `thing`

All slots of one lexicon in a template take the same entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_BRACES = re.compile(r"\{([^{}]*)\}")
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"(?P<name>{_NAME})(?:\.(?P<form>{_NAME}))?(?:~(?P<spell>{_NAME}))?")
_LITERAL = re.compile(rf"'(?P<word>[^']+)'~(?P<spell>{_NAME})")
_AGREES = re.compile(rf"(?P<name>{_NAME})\.(?P<form>{_NAME})\?(?P<options>.+)")


class SlotError(ValueError):
    """A brace that can't be read, with the reason."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One brace. `lexicon` is empty where a word of the template is respelt; `agree` maps a form's value to a word."""

    lexicon: str = ""
    form: str = ""
    spell: str = ""
    word: str = ""
    agree: Mapping[str, str] = field(default_factory=dict)
    large: bool = False

    @property
    def lexicons(self) -> tuple[str, ...]:
        """The lexicons that must be filled before this slot can be."""
        return tuple(name for name in (self.lexicon, self.spell) if name)


Part = str | Slot


def parse(text: str) -> tuple[Part, ...]:
    """Return a template's parts in order; a brace that can't be read raises `SlotError`."""
    parts: list[Part] = []
    last = 0
    for found in _BRACES.finditer(text):
        parts.append(_plain(text[last : found.start()]))
        parts.append(_slot(found.group(1).strip()))
        last = found.end()
    parts.append(_plain(text[last:]))
    return tuple(part for part in parts if part != "")


def lexicon_names(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """Return the lexicons that a template draws from, in the order of their first slot."""
    return tuple(dict.fromkeys(name for part in parts if isinstance(part, Slot) for name in part.lexicons))


def _plain(text: str) -> str:
    if "{" in text or "}" in text:
        raise SlotError("a brace is not closed, or one stands inside another. Write slots as {name}.")
    return text


def _slot(body: str) -> Slot:
    if found := _LITERAL.fullmatch(body):
        return Slot(spell=found["spell"], word=found["word"])
    if found := _AGREES.fullmatch(body):
        return Slot(_small(found["name"]), found["form"], agree=_options(found["options"]), large=_large(found["name"]))
    if found := _REFERENCE.fullmatch(body):
        name = found["name"]
        return Slot(_small(name), found["form"] or "", found["spell"] or "", large=_large(name))
    raise SlotError(f"the slot {{{body}}} can't be read. Write {{name}}, {{name.form}} or {{name~spelling}}.")


def _options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in text.split(","):
        value, colon, word = part.partition(":")
        if not colon or not value.strip():
            raise SlotError(f"{part.strip()!r} is no choice. Write them as {{thing.number? one: is, many: are}}.")
        options[value.strip()] = word.strip()
    return options


def _large(name: str) -> bool:
    return name[0].isupper()


def _small(name: str) -> str:
    return name[0].lower() + name[1:]
