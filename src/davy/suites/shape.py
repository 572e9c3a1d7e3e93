"""The fields of a suite file: a tree of nodes in, the same tree out with only well-shaped values in it.

The checks are those of scheme files (`davy.schemes.shape`); here are a suite's fields.
"""

from __future__ import annotations

from functools import partial

from davy.core.suite import SETS
from davy.schemes import shape
from davy.schemes.nodes import List, Map, Node, Problems, Text
from davy.schemes.shape import Check

COUNTS: tuple[str, ...] = ("cases", "templates", "labels", "targets", "cells")


def anything(value: Node, what: str, line: int, problems: Problems) -> Node:  # noqa: ARG001
    """Return the value as it is; who reads it looks at its shape."""
    return value


def table(value: Node, what: str, line: int, problems: Problems) -> Node:
    """Return a mapping."""
    if isinstance(value, Map):
        return value
    problems.add(line, f"{what} must be a mapping.")
    return None


def version(value: Node, what: str, line: int, problems: Problems) -> Node:
    """Return the versions of a template in one set as a list of mappings: a text, a mapping, or a list of these."""
    items = value if isinstance(value, List) else List([value])
    kept = List()
    kept.line = line
    for item in items:
        if isinstance(item, Text) and item:
            one = Map({_key("text", item.line): item})
            one.line = item.line
            item = one
        if isinstance(item, Map):
            fine = shape.mapping(item, what, line, problems, fields=VERSION, needs=("text",))
            if fine is not None:
                kept.append(fine)
        else:
            problems.add(line, f"{what} must be a text, a mapping with `text:`, or a list of these.")
    return kept


VERSION: dict[str, Check] = {
    "text": shape.text,
    "label": shape.text,
    "fills": table,
    "only": shape.texts,
    "without": shape.texts,
    "test": shape.text,
    "expect": shape.text,
    "note": shape.text,
}


def suite_fields(sets: tuple[str, ...]) -> dict[str, Check]:
    """Return the fields of a suite whose templates have versions in these sets."""
    template: dict[str, Check] = {"id": shape.text, **VERSION, **dict.fromkeys(sets, version)}
    functionality: dict[str, Check] = {
        "name": shape.text,
        "title": shape.text,
        "description": shape.text,
        "label": shape.text,
        "labels": table,
        "templates": partial(
            shape.sequence, of=partial(shape.mapping, fields=template, needs=("id", "text")), called="template"
        ),
    }
    listed = partial(shape.mapping, fields=functionality, needs=("name", "label", "templates"))
    return {
        "name": shape.text,
        "version": shape.number,
        "lang": shape.text,
        "scheme": shape.text,
        "question": shape.text,
        "title": shape.text,
        "description": shape.text,
        "source": shape.text,
        "warning": shape.text,
        "sets": table,
        "lexicons": table,
        "counts": partial(shape.mapping, fields=dict.fromkeys(COUNTS, anything), needs=()),
        "functionalities": partial(shape.sequence, of=listed, called="functional test"),
    }


def shaped(root: Map, problems: Problems) -> Map:
    """Return the suite's mapping with only well-shaped values in it."""
    declared = root.get("sets")
    sets = tuple(str(name) for name in declared) if isinstance(declared, Map) else SETS[1:]
    fields = suite_fields(sets)
    fine = shape.mapping(
        root, "suite", root.line, problems, fields=fields, needs=("name", "version", "functionalities")
    )
    return fine if isinstance(fine, Map) else Map()


def _key(name: str, line: int) -> Text:
    key = Text(name)
    key.line = line
    return key
