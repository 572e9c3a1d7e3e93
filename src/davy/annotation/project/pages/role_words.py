"""Roles as people write them: by their name in any language of the pages, or as files name them."""

from __future__ import annotations

import re

from davy.annotation.project.project import PROJECT_ROLES
from davy.annotation.project.settings import RosterPerson
from davy.web.errors import LocalizedError
from davy.web.i18n import LANGUAGES, Translator


def roster_of(text: str, words: Translator) -> tuple[RosterPerson, ...]:
    """Return the people of a text with one per line: a login, then roles. Without a role they are annotators."""
    named = {role: role for role in PROJECT_ROLES}
    for lang in LANGUAGES:
        named |= {Translator(lang)(f"project.role.{role}").lower(): role for role in PROJECT_ROLES}
    longest_first = "|".join(re.escape(name) for name in sorted(named, key=len, reverse=True))
    one = re.compile(rf"(?<!\S)(?:{longest_first})(?!\S)")
    people = []
    for line in text.splitlines():
        login, _, rest = re.sub(r"[\s,;]+", " ", line.strip().lower()).partition(" ")
        if not login:
            continue
        unknown = one.sub(" ", rest).split()
        if unknown:
            known = ", ".join(words(f"project.role.{role}") for role in PROJECT_ROLES)
            raise LocalizedError("unknown_role", status=422, role=unknown[0][:40], known=known)
        roles = tuple(dict.fromkeys(named[name] for name in one.findall(rest)))
        people.append(RosterPerson(login, roles or ("annotator",)))
    return tuple(people)
