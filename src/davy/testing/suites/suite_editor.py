"""Write a suite in Python, or add a template to a suite's file, comments and layout kept.

Lexicons and templates in; a `Suite`, a YAML file, its new text, or cases out. The same language as a suite's file, one
call a template; what is wrong is said at the call. Declared counts are brought up to date, because a change is meant.
`davy.Suite` is `SuiteEditor`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from davy.core.errors import UserError, nearest
from davy.files.atomic import write_text
from davy.testing.suite import Suite
from davy.testing.suites.case_counts import counts
from davy.testing.suites.suite_file import names, read
from davy.text.lexicons.read import fill_in

Fills = str | Iterable[str | Mapping[str, str]]


class SuiteEditor:
    """A suite that is being written.

    Example:
        suite = davy.Suite("bakers", question="hate", lang="en")
        suite.lexicon("group", ["bakers", "cooks"], target=True)
        suite.add("append", "{Group} came by {mood}", label="hateful", fills={"mood": ["😡", "🤮"]},
                  versions={"polarity": "{Group} came by 😊"}, capability="Emoji")
        davy.check("embedded", suite).frame
    """

    def __init__(
        self,
        name: str,
        *,
        question: str = "hate",
        scheme: str = "hate",
        lang: str = "en",
        title: str = "",
        sets: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._file: dict[str, Any] = {
            "name": name,
            "version": 1,
            "lang": lang,
            "scheme": scheme,
            "question": question,
            "title": title or name,
            "lexicons": {},
            "functionalities": [],
        }
        if sets:
            self._file["sets"] = {set_: dict(about) for set_, about in sets.items()}

    def __repr__(self) -> str:
        templates = sum(len(part["templates"]) for part in self._file["functionalities"])
        return f"<Suite {self._file['name']!r}, {templates} templates>"

    def lexicon(self, name: str, fills: Fills, *, target: bool = False) -> SuiteEditor:
        """Define what a slot takes: a list, or one of Davy's by its kind (woman, man, place, country, religion, …).

        With `target` each entry is a group that cases are about, so that fairness between them is measured.

        Example:
            suite.lexicon("person", "woman").lexicon("group", "religion", target=True)
        """
        words = fill_in(self._file["lang"], fills) if isinstance(fills, str) else fills
        entries: list[str | Mapping[str, str]] = list(words)
        if not entries:
            raise UserError(f"Lexicon {name!r} is empty. Give at least one word.")
        self._file["lexicons"][name] = [_entry(entry, target) for entry in entries]
        return self

    def add(
        self,
        functionality: str,
        text: str,
        *,
        label: str | None = None,
        versions: Mapping[str, str | Mapping[str, Any]] | None = None,
        fills: Mapping[str, Iterable[str]] | None = None,
        title: str = "",
        capability: str = "",
        id: str = "",
    ) -> SuiteEditor:
        """Add a template; `versions` are its near twins by set, `fills` limits or defines its slots.

        The first template of a functionality gives its label; later ones may have another.

        Example:
            suite.add("negation", "I would never say that {group} are bad", label="not hateful", capability="Negation")
        """
        part = next((one for one in self._file["functionalities"] if one["name"] == functionality), None)
        if part is None:
            if label is None:
                raise UserError(f"{functionality!r} is new: say which label its cases have (label=…).")
            part = {"name": functionality, "label": label, "templates": []}
            part |= {key: value for key, value in (("title", title), ("capability", capability)) if value}
            self._file["functionalities"].append(part)
        template: dict[str, Any] = {"id": id or f"{functionality}-{len(part['templates']) + 1:02}", "text": text}
        if label is not None and label != part["label"]:
            template["label"] = label
        if fills:
            template["fills"] = {slot: list(words) for slot, words in fills.items()}
        template |= {set_: dict(one) if isinstance(one, Mapping) else one for set_, one in (versions or {}).items()}
        part["templates"].append(template)
        try:
            self.build()
        except UserError:
            part["templates"].pop()
            if not part["templates"]:
                self._file["functionalities"].remove(part)
            raise
        return self

    def build(self) -> Suite:
        """Return the suite with its cases; the first problem in it is an error.

        Example:
            [case.text for case in suite.build().cases]
        """
        with tempfile.TemporaryDirectory(prefix="davy-") as folder:
            path = Path(folder) / f"{self._file['name']}.yaml"
            path.write_text(self.yaml(), encoding="utf-8")
            reading = read(path)
        if reading.problems or reading.suite is None:
            raise UserError(reading.problems[0].message if reading.problems else "The suite has no cases yet.")
        return reading.suite

    def yaml(self) -> str:
        """Return the suite's file as text.

        Example:
            print(suite.yaml())
        """
        return yaml.safe_dump(self._file, allow_unicode=True, sort_keys=False, width=110)

    def save(self, path: str | Path) -> Path:
        """Write the suite's YAML file, which `davy check` and `davy suite` take; return its path.

        Example:
            suite.save("bakers.yaml")
        """
        self.build()
        return write_text(Path(path), self.yaml())


def _entry(entry: str | Mapping[str, str], target: bool) -> dict[str, str]:
    forms = {"text": entry} if isinstance(entry, str) else dict(entry)
    first = next(iter(forms.values()))
    return {"name": first, **({"target": first.lower()} if target else {}), **forms}


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
    match = re.search(r"(?m)^counts:(?:[^\n]*\n)(?:(?:[ \t]+[^\n]*)?\n)*", text)
    if not match:
        return text
    lines = yaml.safe_dump(
        {"counts": counts(suite)}, allow_unicode=True, sort_keys=False, default_flow_style=None, width=110
    )
    return f"{text[: match.start()]}{lines}\n{text[match.end() :]}"


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
