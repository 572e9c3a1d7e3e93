"""Add a template to a suite's file, comments and layout kept.

A file's text and a template in, the new text out. The declared counts are
brought up to date, because this change is meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from davy.core.errors import UserError, nearest
from davy.testing.suites.case_counts import counts
from davy.testing.suites.suite_file import names, read


def add_template(path: Path, functionality: str, template: Mapping[str, object]) -> str:
    """Return the file's text with one template more, after checking that the suite still stands."""
    if str(path) in names():
        raise UserError(f"{path} ships with Davy and does not change. Copy it first: davy suite copy {path} --out FILE")
    before = read(path)
    if before.suite is None or before.problems:
        first = before.problems[0] if before.problems else "it has no cases"
        raise UserError(f"{path} has problems, the first: {first} Mend it before adding to it.")
    text = path.read_text("utf-8")
    line, indent = _end_of_templates(text, functionality)
    lines = text.splitlines(keepends=True)
    if line and not lines[line - 1].endswith("\n"):
        lines[line - 1] += "\n"
    block = [
        f"{' ' * indent}{'- ' if i == 0 else '  '}{key}: {_spelt(value)}\n"
        for i, (key, value) in enumerate(template.items())
    ]
    return "".join([*lines[:line], *block, *lines[line:]])


def update_counts(text: str, path: Path) -> str:
    """Return a suite file's text with `counts:` brought up to what the suite at `path` makes."""
    suite = read(path).suite
    if suite is None:
        return text
    found = re.search(r"(?m)^counts:(?:[^\n]*\n)(?:(?:[ \t]+[^\n]*)?\n)*", text)
    if not found:
        return text
    lines = yaml.safe_dump(
        {"counts": counts(suite)}, allow_unicode=True, sort_keys=False, default_flow_style=None, width=110
    )
    return f"{text[: found.start()]}{lines}\n{text[found.end() :]}"


def _end_of_templates(text: str, functionality: str) -> tuple[int, int]:
    """Return the line after a functionality's last template, and how far its templates are indented."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    listed = _value(root, "functionalities")
    known = []
    for one in listed.value if isinstance(listed, yaml.SequenceNode) else []:
        name = _value(one, "name")
        known.append(str(getattr(name, "value", "")))
        templates = _value(one, "templates")
        if known[-1] == functionality and isinstance(templates, yaml.SequenceNode):
            if templates.flow_style:
                raise UserError(
                    f"The templates of {functionality!r} are in brackets. Write them as a list, one below the other."
                )
            last = templates.value[-1]
            return _last_line(last) + 1, last.start_mark.column - 2
    raise UserError(
        f"There is no functionality {functionality!r}; the suite has {', '.join(known)}.{nearest(functionality, known)}"
    )


def _last_line(node: yaml.Node) -> int:
    """Return the last line, from 0, that a node's own text stands on; block nodes claim blank lines after them."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style:
        return max(_last_line(value) for _, value in node.value)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style:
        return max(_last_line(value) for value in node.value)
    end: int = node.end_mark.line
    return end - 1 if node.end_mark.column == 0 and end > node.start_mark.line else end


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _spelt(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
