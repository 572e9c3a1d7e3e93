"""What a suite's file says about a template: its original and its perturbations, each with its expectation.

A template's mapping in, `Version`s out, as far as they are well described. A
perturbation's own word counts before its functionality's, that before its set's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from davy.core.scheme import Question
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlNode, YamlText
from davy.testing.suite import DIRECTIONS, SAME, SETS, TESTS
from davy.testing.suites.expansion import TemplateVersion

OTHER = "other"
"""In `sets:`, the label that is not the original's."""


def template_versions(
    root: YamlMap, functionality: YamlMap, template: YamlMap, question: Question, problems: Problems
) -> list[TemplateVersion]:
    """Return a template's original, then its perturbations in the order of the sets."""
    base = _label(template.get("label") or functionality.get("label"), question, template.line, problems)
    if base is None:
        return []
    original = _version("original", 0, functionality, template, template, base, "MFT")
    versions = [original]
    for name, settings in _sets(root).items():
        labels = functionality.get("labels")
        own = labels.get(name) if isinstance(labels, YamlMap) else None
        for number, one in enumerate(maps(template, name)):
            if "text" not in one:
                continue
            line = one.line_of("text")
            test = str(one.get("test") or settings.get("test") or "MFT")
            expected: str | None = str(one.get("expect") or settings.get("expect") or SAME)
            if test not in TESTS or (test == "DIR" and expected not in DIRECTIONS):
                problems.add(line, f"{name}: a test is {', '.join(TESTS)}; a DIR expects {', '.join(DIRECTIONS)}.")
                continue
            if test == "MFT":
                wanted = one.get("label") or own or settings.get("label") or SAME
                expected = _relative(str(wanted), base, question, line, problems)
            if expected is not None:
                versions.append(_version(name, number, functionality, template, one, expected, test))
    return versions


def yes_no(question: Question) -> tuple[str, str]:
    """Return the yes and the no of a yes/no question."""
    yes = str(question.positive)
    return yes, next(name for name in question.label_names if name != yes)


def maps(part: YamlMap, key: str) -> list[YamlMap]:
    """Return the mappings in a list field; none where it is missing."""
    return [item for item in part.get(key) or [] if isinstance(item, YamlMap)]


def _version(
    name: str, number: int, functionality: YamlMap, template: YamlMap, one: YamlMap, expected: str, test: str
) -> TemplateVersion:
    return TemplateVersion(
        template=str(template["id"]),
        functionality=str(functionality["name"]),
        set=name,
        text=str(one["text"]),
        expected=expected,
        line=one.line_of("text"),
        test=test,
        number=number,
        fills=_fills(one, template),
        only=_words(one, "only") or _words(template, "only"),
        without=_words(one, "without") or _words(template, "without") or _words(functionality, "without"),
    )


def _sets(root: YamlMap) -> dict[str, Mapping[str, YamlNode]]:
    """Return the sets that templates may have versions in, with what holds for all of a set."""
    declared = root.get("sets")
    if isinstance(declared, YamlMap):
        return {str(name): value if isinstance(value, YamlMap) else {} for name, value in declared.items()}
    return {name: {"label": YamlText(SAME if name == "no emoji" else OTHER)} for name in SETS[1:]}


def _relative(wanted: str, base: str, question: Question, line: int, problems: Problems) -> str | None:
    if wanted == SAME:
        return base
    if wanted == OTHER:
        return next(name for name in yes_no(question) if name != base)
    return _label(YamlText(wanted), question, line, problems)


def _label(value: YamlNode, question: Question, line: int, problems: Problems) -> str | None:
    try:
        return question.label(str(value)).name
    except KeyError:
        known = ", ".join(question.label_names)
        problems.add(line, f"{str(value)!r} is not a label of {question.name!r}; it has {known}.")
        return None


def _fills(one: YamlMap, template: YamlMap) -> dict[str, tuple[str, ...]]:
    """Return which entries a version's slots may take: its own limits, and its template's for slots that it has too."""
    table: dict[str, tuple[str, ...]] = {}
    for source in (template.get("fills"), one.get("fills")):
        if not isinstance(source, YamlMap):
            continue
        for slot, items in source.items():
            if source is one.get("fills") or _has_slot(str(one["text"]), str(slot)):
                listed = items if isinstance(items, YamlList) else YamlList([items])
                table[str(slot)] = tuple(str(item) for item in listed if isinstance(item, YamlText))
    return table


def _has_slot(text: str, name: str) -> bool:
    return bool(re.search(rf"(?:\{{\s*|~){re.escape(name)}\b", text, re.IGNORECASE))


def _words(part: YamlMap, key: str) -> frozenset[str]:
    value = part.get(key)
    return frozenset(str(item) for item in value) if isinstance(value, YamlList) else frozenset()
