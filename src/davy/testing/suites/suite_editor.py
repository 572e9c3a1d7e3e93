"""Write a suite in Python: lexicons and templates in, a `Suite`, a YAML file or cases out.

The same language as a suite's file, one call a template; what is wrong is said at the call. `davy.Suite` is this class.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from davy.core.errors import UserError
from davy.files.atomic import write_text
from davy.testing.suite import Suite
from davy.testing.suites.suite_file import read
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
