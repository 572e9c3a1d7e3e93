"""A suite as a form: fill-ins and templates in plain lines, and back.

A suite's YAML in, a `SuiteForm` out where it says no more than a form can hold; a form in, YAML out. Near twins, tags
and word lists from files are for the YAML itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from davy.core.errors import UserError
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlText, parse_tree

MOST_ROWS = 12
"""Fill-ins, and functionalities, that a form has room for."""
_KEYS = {"name", "version", "lang", "scheme", "question", "title", "lexicons", "functionalities"}


@dataclass(frozen=True, slots=True)
class FillIn:
    """What a slot takes, a line each; with `target`, each is a group that cases are about."""

    name: str
    words: tuple[str, ...]
    target: bool = False


@dataclass(frozen=True, slots=True)
class SuitePart:
    """One functionality: what it tests, the label that its cases must get, and its templates, a line each."""

    title: str
    label: str
    templates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SuiteForm:
    """A suite that a form can hold."""

    title: str
    lang: str
    scheme: str
    question: str
    fills: tuple[FillIn, ...] = ()
    parts: tuple[SuitePart, ...] = ()

    def to_yaml(self, name: str) -> str:
        """Return the suite's file as text; ids of functionalities and templates follow from their places and titles."""
        file: dict[str, Any] = {
            "name": name,
            "version": 1,
            "lang": self.lang,
            "scheme": self.scheme,
            "question": self.question,
            "title": self.title,
            "lexicons": {fill.name: [_entry(word, fill.target) for word in fill.words] for fill in self.fills},
            "functionalities": [_part(part) for part in self.parts],
        }
        return yaml.safe_dump(file, allow_unicode=True, sort_keys=False, width=110)


def read_form(text: str) -> SuiteForm | None:
    """Return a suite's text as a form, or None where it holds more than one, or can't be read."""
    root = parse_tree(text, Problems("suite", what="suite", example=""))
    if root is None or not set(map(str, root)) <= _KEYS:
        return None
    lexicons = root.get("lexicons") or YamlMap()
    parts = root.get("functionalities") or YamlList()
    if not isinstance(lexicons, YamlMap) or not isinstance(parts, YamlList):
        return None
    try:
        fills = tuple(_fill(str(name), entries) for name, entries in lexicons.items())
        title, lang, scheme, question = (str(root.get(key) or "") for key in ("title", "lang", "scheme", "question"))
        form = SuiteForm(title, lang, scheme, question, fills=fills, parts=tuple(map(_read_part, parts)))
    except (TypeError, KeyError):
        return None
    return form if max(len(form.fills), len(form.parts)) <= MOST_ROWS else None


def _fill(name: str, entries: Any) -> FillIn:
    words, targets = [], []
    if not isinstance(entries, YamlList):
        raise TypeError
    for entry in entries:
        if isinstance(entry, YamlText):
            words.append(str(entry))
            targets.append(False)
        elif isinstance(entry, YamlMap) and set(entry) <= {"name", "target", "text"}:
            words.append(str(entry["text"]))
            targets.append("target" in entry)
        else:
            raise TypeError
    if len(set(targets)) > 1:
        raise TypeError
    return FillIn(name, tuple(words), any(targets))


def _read_part(part: Any) -> SuitePart:
    if not isinstance(part, YamlMap) or not set(part) <= {"name", "title", "label", "templates"}:
        raise TypeError
    templates: Any = part["templates"]
    if not isinstance(templates, YamlList):
        raise TypeError
    rows: list[Any] = list(templates)
    if any(set(one) != {"id", "text"} for one in rows):
        raise TypeError
    title = str(part.get("title") or part["name"])
    return SuitePart(title, str(part["label"]), tuple(str(one["text"]) for one in rows))


def _entry(word: str, target: bool) -> str | Mapping[str, str]:
    return {"name": word, "target": word.lower(), "text": word} if target else word


def _part(part: SuitePart) -> dict[str, Any]:
    name = plain_id(part.title)
    return {
        "name": name,
        "title": part.title,
        "label": part.label,
        "templates": [{"id": f"{name}-{at:02}", "text": text} for at, text in enumerate(part.templates, 1)],
    }


def plain_id(title: str) -> str:
    """Return a title as ids are written: small letters, digits and hyphens."""
    found = "".join(char if char.isascii() and char.isalnum() else "-" for char in title.lower())
    name = "-".join(filter(None, found.split("-")))[:60]
    if not name:
        raise UserError(f"{title[:80]!r} has no letter or digit to make a name from. Write another title.", status=422)
    return name if name[0].isalpha() else f"f-{name}"
