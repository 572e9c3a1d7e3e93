"""The fields of a suite file: a tree of nodes in, the same tree out with only well-shaped values in it.

The checks are those of scheme files (`davy.schemes.scheme_fields`); here are a suite's fields.
"""

from __future__ import annotations

from functools import partial

from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlNode, YamlText
from davy.schemes import scheme_fields
from davy.schemes.scheme_fields import Check
from davy.testing.suite import SETS

COUNTS: tuple[str, ...] = ("cases", "templates", "labels", "targets", "cells")


def accept_any(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:  # noqa: ARG001
    """Return the value as it is; who reads it looks at its shape."""
    return value


def table(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a mapping."""
    if isinstance(value, YamlMap):
        return value
    problems.add(line, f"{what} must be a mapping.")
    return None


def version(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return the versions of a template in one set as a list of mappings: a text, a mapping, or a list of these."""
    items = value if isinstance(value, YamlList) else YamlList([value])
    kept = YamlList()
    kept.line = line
    for item in items:
        if isinstance(item, YamlText) and item:
            one = YamlMap({_key("text", item.line): item})
            one.line = item.line
            item = one
        if isinstance(item, YamlMap):
            fine = scheme_fields.mapping(item, what, line, problems, fields=VERSION, needs=("text",))
            if fine is not None:
                kept.append(fine)
        else:
            problems.add(line, f"{what} must be a text, a mapping with `text:`, or a list of these.")
    return kept


VERSION: dict[str, Check] = {
    "text": scheme_fields.text,
    "label": scheme_fields.text,
    "fills": table,
    "only": scheme_fields.texts,
    "without": scheme_fields.texts,
    "test": scheme_fields.text,
    "expect": scheme_fields.text,
    "note": scheme_fields.text,
}


def suite_fields(sets: tuple[str, ...]) -> dict[str, Check]:
    """Return the fields of a suite whose templates have versions in these sets."""
    template: dict[str, Check] = {"id": scheme_fields.text, **VERSION, **dict.fromkeys(sets, version)}
    functionality: dict[str, Check] = {
        "name": scheme_fields.text,
        "title": scheme_fields.text,
        "description": scheme_fields.text,
        "capability": scheme_fields.text,
        "label": scheme_fields.text,
        "labels": table,
        "without": scheme_fields.texts,
        "templates": partial(
            scheme_fields.sequence,
            of=partial(scheme_fields.mapping, fields=template, needs=("id", "text")),
            called="template",
        ),
    }
    listed = partial(scheme_fields.mapping, fields=functionality, needs=("name", "label", "templates"))
    return {
        "name": scheme_fields.text,
        "version": scheme_fields.number,
        "lang": scheme_fields.text,
        "scheme": scheme_fields.text,
        "question": scheme_fields.text,
        "title": scheme_fields.text,
        "description": scheme_fields.text,
        "source": scheme_fields.text,
        "warning": scheme_fields.text,
        "validation": scheme_fields.text,
        "sets": table,
        "lexicons": table,
        "counts": partial(scheme_fields.mapping, fields=dict.fromkeys(COUNTS, accept_any), needs=()),
        "functionalities": partial(scheme_fields.sequence, of=listed, called="functional test"),
    }


def check_fields(root: YamlMap, problems: Problems) -> YamlMap:
    """Return the suite's mapping with only well-shaped values in it."""
    declared = root.get("sets")
    sets = tuple(str(name) for name in declared) if isinstance(declared, YamlMap) else SETS[1:]
    fields = suite_fields(sets)
    fine = scheme_fields.mapping(
        root, "suite", root.line, problems, fields=fields, needs=("name", "version", "functionalities")
    )
    return fine if isinstance(fine, YamlMap) else YamlMap()


def _key(name: str, line: int) -> YamlText:
    key = YamlText(name)
    key.line = line
    return key
