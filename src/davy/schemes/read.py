"""Schemes by name or path: a YAML file in, a `Scheme` or a list of problems with their lines out.

Reading has three steps, each in its module: `nodes` (safe YAML with lines),
`shape` (fields and types), `rules` (what must hold between them). All problems
of a file are reported together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.core.scheme import Scheme
from davy.files import yaml_nodes
from davy.files.yaml_nodes import Problem, Problems, YamlMap
from davy.files.yaml_objects import read_bytes, read_shipped_or_file, shipped_names
from davy.schemes import build, rules, scheme_fields

PACKAGE = "davy.schemes"


def names() -> list[str]:
    """Return the names of the schemes that ship with Davy."""
    return shipped_names(PACKAGE)


def load(name_or_path: str | Path) -> Scheme:
    """Return a shipped scheme by its name, or the scheme in a YAML file."""
    return _scheme(text_of(name_or_path), str(name_or_path))


def read(path: str | Path) -> Scheme:
    """Return the scheme in a YAML file; the first problem in it becomes a `UserError`."""
    return _scheme(read_bytes(Path(path), PACKAGE, "scheme"), str(path))


def check(path: str | Path) -> list[Problem]:
    """Return everything that is wrong with a scheme file, from its top to its end."""
    problems = Problems(str(path))
    _parsed(yaml_nodes.decode(read_bytes(Path(path), PACKAGE, "scheme"), problems), problems)
    return problems.sorted()


def text_of(name_or_path: str | Path) -> bytes:
    """Return the bytes of a shipped scheme's file, or of a file at a path."""
    return read_shipped_or_file(name_or_path, PACKAGE, "scheme")


def renamed(text: str, name: str) -> str:
    """Return a scheme file's text with another scheme's name in it, comments and layout kept."""
    if not rules.NAME.fullmatch(name):
        raise UserError(
            f"{name!r} can't be a scheme's name. Write lower-case letters, digits and hyphens, a letter first."
        )
    if name in names():
        raise UserError(f"{name!r} is a scheme that Davy ships. Choose another name for the copy.")
    found = re.search(r"(?m)^name:.*$", text)
    if not found:
        raise UserError("The file has no line `name: …` at its top level. Is it a scheme?")
    return f"{text[: found.start()]}name: {name}{text[found.end() :]}"


def from_dict(values: Mapping[str, Any]) -> Scheme:
    """Return the scheme that `to_dict` turned into plain values, checked like a file."""
    problems = Problems("stored scheme")
    return _built(_parsed(json.dumps(values, ensure_ascii=False), problems), problems)


def parse(text: str, name: str = "stored scheme") -> Scheme:
    """Return the scheme of a YAML text, such as the store keeps; words stay words, so a label `no` is no false."""
    return _scheme(text.encode(), name)


def _scheme(raw: bytes, file: str) -> Scheme:
    problems = Problems(file)
    return _built(_parsed(yaml_nodes.decode(raw, problems), problems), problems)


def _built(root: YamlMap | None, problems: Problems) -> Scheme:
    if problems.found or root is None:
        first, *more = problems.sorted()
        rest = f" ({len(more)} more: davy scheme check {problems.file})" if more else ""
        raise UserError(f"{first}{rest}")
    return build.scheme(root)


def _parsed(text: str | None, problems: Problems) -> YamlMap | None:
    """Return the cleaned mapping of a scheme, its included questions first, with every problem noted."""
    root = yaml_nodes.parse_tree(text, problems) if text is not None else None
    if root is None:
        return None
    fine = scheme_fields.check_fields(root, problems)
    included = _included(fine, problems)
    rules.apply(fine, included, problems)
    fine["questions"] = yaml_nodes.YamlList([*included, *rules.parts(fine, "questions")])
    return fine


def _included(scheme: YamlMap, problems: Problems) -> list[YamlMap]:
    """Return the questions of the shipped schemes that `include:` names, in order."""
    found: list[YamlMap] = []
    for name in rules.words(scheme, "include"):
        if name not in names():
            known = names()
            hint = nearest(name, known)
            problems.add(
                name.line, f"include names {str(name)!r}, which Davy does not ship; it has {', '.join(known)}.{hint}"
            )
            continue
        theirs = yaml_nodes.parse_tree(text_of(name).decode(), problems)
        if theirs is None or "include" in theirs:
            problems.add(name.line, f"include names {str(name)!r}, which itself includes others. Name those instead.")
            continue
        for question in rules.parts(scheme_fields.check_fields(theirs, problems), "questions"):
            question.source = str(name)
            if any(other["name"] == question["name"] for other in found):
                problems.add(name.line, f"{str(name)!r} brings a second question called {str(question['name'])!r}.")
            else:
                found.append(question)
    return found
