"""The fields of a scheme file, and whether a file's values have the right shape.

A tree of nodes in, the same tree out with every ill-shaped value left out and
a problem noted for it, so that the rules that follow can trust the types and
one run reports everything that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from davy.core.errors import nearest
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlNode, YamlText, line_at

LANG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
NUMBER = re.compile(r"[1-9][0-9]{0,8}")
FLAGS = {"true": True, "yes": True, "false": False, "no": False}

T = TypeVar("T", YamlText, YamlList, YamlMap)
Check = Callable[[YamlNode, str, int, Problems], YamlNode]
"""Takes a value, what it is called, the line of its key, and where to note problems; returns it or None."""


def text(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a plain text."""
    if isinstance(value, YamlText) and value:
        return value
    problems.add(line, f"{what} must be a text, but it is {_kind(value)}.")
    return None


def wording(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a text, or one text for each language."""
    if isinstance(value, YamlText) and value:
        return value
    if not isinstance(value, YamlMap) or not value:
        problems.add(line, f"{what} must be a text or `{{en: …, de: …}}`, but it is {_kind(value)}.")
        return None
    fine = _like(value, YamlMap())
    for lang, said in value.items():
        if not LANG.fullmatch(lang):
            problems.add(line_at(lang, line), f"{what}: {str(lang)!r} is not a language code such as `en` or `de`.")
        elif text(said, f"{what} in {str(lang)!r}", line_at(lang, line), problems):
            fine[lang] = said
    return fine


def number(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a whole number from 1."""
    if isinstance(value, YamlText) and NUMBER.fullmatch(value):
        return value
    said = repr(str(value)) if isinstance(value, YamlText) else _kind(value)
    problems.add(line, f"{what} must be a whole number from 1, but it is {said}.")
    return None


def flag(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return true or false."""
    if isinstance(value, YamlText) and value.lower() in FLAGS:
        return value
    problems.add(line, f"{what} must be true or false, but it is {_kind(value)}.")
    return None


def texts(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a list of texts; one text alone is a list of one."""
    return _each(text, _as_list(value), what, line, problems)


def wordings(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a list of wordings."""
    return _each(wording, value, what, line, problems)


def notes(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a mapping of short names to wordings."""
    if not isinstance(value, YamlMap):
        problems.add(line, f"{what} must be a mapping of names to texts, but it is {_kind(value)}.")
        return None
    fine = _like(value, YamlMap())
    for name, said in value.items():
        if (kept := wording(said, f"{what}: {str(name)!r}", line_at(name, line), problems)) is not None:
            fine[name] = kept
    return fine


def under(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a parent's name, or `{parent: labels}`."""
    if isinstance(value, YamlText) and value:
        return value
    if not isinstance(value, YamlMap) or len(value) != 1:
        problems.add(line, f"{what} must be a question's name or `{{question: [labels]}}`, but it is {_kind(value)}.")
        return None
    parent, labels = next(iter(value.items()))
    kept = texts(labels, f"{what}, the labels of {str(parent)!r}", line_at(parent, line), problems)
    if not kept:
        return None
    return _like(value, YamlMap({parent: kept}))


def derived(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return `{question: {its label: this question's label}}`."""
    table = next(iter(value.values())) if isinstance(value, YamlMap) and len(value) == 1 else None
    if not isinstance(value, YamlMap) or not isinstance(table, YamlMap) or not table:
        problems.add(line, f"{what} must be `{{question: {{its label: label here}}}}`, but it is {_kind(value)}.")
        return None
    fine = _like(table, YamlMap())
    for label, mine in table.items():
        if text(mine, f"{what}: {str(label)!r}", line_at(label, line), problems):
            fine[label] = mine
    return _like(value, YamlMap({next(iter(value)): fine}))


def mapping(
    value: YamlNode, what: str, line: int, problems: Problems, *, fields: dict[str, Check], needs: tuple[str, ...]
) -> YamlNode:
    """Return a mapping with its well-shaped fields; unknown and missing keys are problems."""
    if isinstance(value, YamlText) and value and fields is LABEL:
        value = _like(value, YamlMap({_like(value, YamlText("name")): value}))
    if not isinstance(value, YamlMap):
        problems.add(line, f"{what} must be a mapping, but it is {_kind(value)}.")
        return None
    name = value.get("name")
    if isinstance(name, YamlText):
        what = f"{what} {str(name)!r}"
    fine = _like(value, YamlMap())
    for key, item in value.items():
        if key not in fields:
            known = ", ".join(fields)
            problems.add(
                line_at(key, line), f"{what} has no field {str(key)!r}; known: {known}.{nearest(key, list(fields))}"
            )
        elif (kept := fields[key](item, f"{what}: `{key}`", line_at(key, line), problems)) is not None:
            fine[key] = kept
    for key in needs:
        if key not in value:
            problems.add(value.line, f"{what} lacks `{key}:`. Add it.")
    return fine


def sequence(value: YamlNode, what: str, line: int, problems: Problems, *, of: Check, called: str) -> YamlNode:
    """Return a list of mappings."""
    if not isinstance(value, YamlList) or not value:
        problems.add(line, f"{what} must be a list of {called}s, but it is {_kind(value)}.")
        return None
    kept = [of(item, called, line_at(item, line), problems) for item in value]
    return _like(value, YamlList(item for item in kept if item is not None))


def _each(check: Check, value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    if not isinstance(value, YamlList):
        problems.add(line, f"{what} must be a list, but it is {_kind(value)}.")
        return None
    kept = [check(item, what, line_at(item, line), problems) for item in value]
    return _like(value, YamlList(item for item in kept if item is not None))


def _as_list(value: YamlNode) -> YamlNode:
    return _like(value, YamlList([value])) if isinstance(value, YamlText) and value else value


def _like(value: YamlText | YamlList | YamlMap, new: T) -> T:
    new.line = value.line
    return new


def _kind(value: YamlNode) -> str:
    if not value:
        return "empty"
    return {YamlText: "a text", YamlList: "a list", YamlMap: "a mapping"}[type(value)]


LABEL: dict[str, Check] = {
    "name": text,
    "title": wording,
    "definition": wording,
    "code": text,
    "examples": wordings,
    "aliases": texts,
    "under": texts,
    "group": text,
    "of": texts,
    "priority": flag,
    "severe": flag,
}
QUESTION: dict[str, Check] = {
    "name": text,
    "kind": text,
    "title": wording,
    "definition": wording,
    "positive": text,
    "under": under,
    "open": flag,
    "required": flag,
    "absent": texts,
    "derived": derived,
    "labels": partial(sequence, of=partial(mapping, fields=LABEL, needs=("name",)), called="label"),
}
GUIDELINE: dict[str, Check] = {"version": number, "changes": text, "text": wording, "notes": notes}
SCHEME: dict[str, Check] = {
    "name": text,
    "version": number,
    "title": wording,
    "description": wording,
    "source": text,
    "warning": wording,
    "include": texts,
    "questions": partial(sequence, of=partial(mapping, fields=QUESTION, needs=("name",)), called="question"),
    "guidelines": partial(
        sequence, of=partial(mapping, fields=GUIDELINE, needs=("version", "text")), called="guideline"
    ),
}


def check_fields(root: YamlMap, problems: Problems) -> YamlMap:
    """Return the scheme's mapping with only well-shaped values in it."""
    fine = mapping(root, "scheme", root.line, problems, fields=SCHEME, needs=("name", "version"))
    return fine if isinstance(fine, YamlMap) else YamlMap()
