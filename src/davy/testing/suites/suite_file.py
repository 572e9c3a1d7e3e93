"""Suites by name or path: a YAML file in, a `Suite` out, and every problem with its line.

A template that is broken does not stop the others: its cases are left out, the
problem is listed, and the suite's `missing` says so in every report. Fields are
checked first, as those of scheme files are (`davy.schemes.scheme_fields`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from davy import schemes
from davy.core.errors import UserError
from davy.core.scheme import Question, Scheme
from davy.files import yaml_nodes
from davy.files.yaml_nodes import Problem, Problems, YamlList, YamlMap, YamlNode, YamlText
from davy.files.yaml_objects import find_file, shipped_names
from davy.schemes import scheme_fields
from davy.schemes.scheme_fields import Check
from davy.testing.suite import SETS, Case, Suite
from davy.testing.suites import case_counts, expansion, slot_entries
from davy.testing.suites.expansion import ExpansionError, TemplateVersion
from davy.testing.suites.template_versions import maps, template_versions, yes_no

COUNT_FIELDS: tuple[str, ...] = ("cases", "templates", "labels", "targets", "cells")


def check_nothing(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:  # noqa: ARG001
    """Return the value as it is; who reads it looks at its shape."""
    return value


def check_table(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a mapping."""
    if isinstance(value, YamlMap):
        return value
    problems.add(line, f"{what} must be a mapping.")
    return None


def check_versions(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
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
            fine = scheme_fields.mapping(item, what, line, problems, fields=VERSION_FIELDS, needs=("text",))
            if fine is not None:
                kept.append(fine)
        else:
            problems.add(line, f"{what} must be a text, a mapping with `text:`, or a list of these.")
    return kept


VERSION_FIELDS: dict[str, Check] = {
    "text": scheme_fields.text,
    "label": scheme_fields.text,
    "fills": check_table,
    "only": scheme_fields.texts,
    "without": scheme_fields.texts,
    "test": scheme_fields.text,
    "expect": scheme_fields.text,
    "note": scheme_fields.text,
}


def suite_fields(sets: tuple[str, ...]) -> dict[str, Check]:
    """Return the fields of a suite whose templates have versions in these sets."""
    template: dict[str, Check] = {"id": scheme_fields.text, **VERSION_FIELDS, **dict.fromkeys(sets, check_versions)}
    functionality: dict[str, Check] = {
        "name": scheme_fields.text,
        "title": scheme_fields.text,
        "description": scheme_fields.text,
        "capability": scheme_fields.text,
        "label": scheme_fields.text,
        "labels": check_table,
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
        "sets": check_table,
        "lexicons": check_table,
        "counts": partial(scheme_fields.mapping, fields=dict.fromkeys(COUNT_FIELDS, check_nothing), needs=()),
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


Made = tuple[list[tuple[Case, TemplateVersion]], list[tuple[str, str]]]
"""Cases with the version that each came from, and links between their ids."""


@dataclass(frozen=True, slots=True)
class SuiteReading:
    """What came of a file: the suite where there is one, and everything that is wrong with the file."""

    suite: Suite | None
    problems: tuple[Problem, ...]


def names() -> list[str]:
    """Return the names of the suites that ship with Davy."""
    return shipped_names("davy.testing.suites")


def titles() -> list[tuple[str, str]]:
    """Return name and title of each shipped suite. Only the head of a file is read: its cases take a second to make."""
    return [(name, yaml_nodes.top_value(path_of(name), "title") or name) for name in names()]


def load(name_or_path: str | Path) -> Suite:
    """Return a shipped suite by its name, or the one in a YAML file; what could not be made is in its `missing`."""
    reading = read(name_or_path)
    if reading.suite is None or not reading.suite.cases:
        first, *more = reading.problems
        rest = f" ({len(more)} more: davy suite validate {name_or_path})" if more else ""
        raise UserError(f"{first}{rest}")
    return reading.suite


def read(name_or_path: str | Path) -> SuiteReading:
    """Return a suite's file as far as it can be read, with all its problems from top to end."""
    path = path_of(name_or_path)
    problems = Problems(str(name_or_path), what="suite", example="davy suite show emoji-en --yaml")
    root = yaml_nodes.read_file(path, problems)
    suite = None if root is None else _suite(check_fields(root, problems), path, problems)
    return SuiteReading(suite, tuple(problems.sorted()))


def read_text(text: str, among: Mapping[str, Scheme]) -> SuiteReading:
    """Return a suite that somebody wrote on a page; its scheme is one of `among`, its word lists' files are shipped."""
    problems = Problems("suite", what="suite", example="davy suite show emoji-en --yaml")
    root = yaml_nodes.parse_tree(text, problems)
    beside = path_of(names()[0])
    suite = None if root is None else _suite(check_fields(root, problems), beside, problems, among)
    return SuiteReading(suite, tuple(problems.sorted()))


def path_of(name_or_path: str | Path) -> Path:
    """Return the file of a shipped suite, or the file at a path."""
    return find_file(name_or_path, "davy.testing.suites", "suite")


def _suite(root: YamlMap, path: Path, problems: Problems, among: Mapping[str, Scheme] | None = None) -> Suite | None:
    """Return the suite of a well-shaped mapping, or None where it says too little to make one."""
    question = _question(root, problems, among)
    if question is None or "name" not in root or "version" not in root:
        return None
    known = slot_entries.read_lexicons(root.get("lexicons"), path.parent, problems, str(root.get("lang") or "en"))
    made, links = _cases(root, question, known, problems)
    spoilt = expansion.report_duplicates(made, problems)
    spoilt |= expansion.report_unpaired(made, spoilt, problems)
    kept = {case.id for case, _ in made} - spoilt
    functionalities = maps(root, "functionalities")
    suite = Suite(
        name=str(root["name"]),
        version=str(root["version"]),
        question=question.name,
        lang=str(root.get("lang") or "en"),
        cases=tuple(case for case, _ in made if case.id in kept),
        labels=yes_no(question),
        title=str(root.get("title") or ""),
        titles={str(f["name"]): str(f["title"]) for f in functionalities if {"name", "title"} <= set(f)},
        capabilities={str(f["name"]): str(f["capability"]) for f in functionalities if f.get("capability")},
        links=tuple(link for link in links if kept >= set(link)),
        source=str(root.get("source") or ""),
        warning=str(root.get("warning") or ""),
        validation=str(root.get("validation") or ""),
        for_training=str(root["name"]) not in names(),
        hurtful=tuple(
            dict.fromkeys(w for words in known.values() for e in words if e.hurtful for w in e.forms.values())
        ),
    )
    declared = root.get("counts")
    if isinstance(declared, YamlMap):
        case_counts.check_counts(suite, declared, problems)
    return replace(suite, missing=tuple(str(problem) for problem in problems.sorted()))


def _question(root: YamlMap, problems: Problems, among: Mapping[str, Scheme] | None) -> Question | None:
    """Return the yes/no question that the suite asks; with `among`, of one of these schemes and of no file."""
    name, scheme_name = str(root.get("question") or "hate"), str(root.get("scheme") or "hate")
    if among is not None and scheme_name not in among:
        problems.add(root.line_of("scheme"), f"There is no scheme {scheme_name[:80]!r}; there are {', '.join(among)}.")
        return None
    try:
        question = (schemes.load(scheme_name) if among is None else among[scheme_name]).question(name)
    except UserError as error:
        problems.add(root.line_of("scheme"), error.message)
        return None
    except KeyError:
        problems.add(root.line_of("question"), f"Scheme {scheme_name!r} has no question {name!r}.")
        return None
    if question.positive is None or len(question.labels) != 2:
        problems.add(root.line_of("question"), f"{name!r} is not a yes/no question; a suite needs one.")
        return None
    return question


def _cases(
    root: YamlMap, question: Question, known: Mapping[str, list[slot_entries.SlotEntry]], problems: Problems
) -> Made:
    """Return the cases of all templates, in the order of the file."""
    lang = str(root.get("lang") or "en")
    made: list[tuple[Case, TemplateVersion]] = []
    links: list[tuple[str, str]] = []
    described = _versions(root, question, problems)
    if not _fits(root, [version for versions in described for version in versions], known, problems):
        return made, links
    for versions in described:
        cases, joined = _expanded(versions, known, lang, problems, expansion.MOST_LINKS - len(links))
        made += cases
        links += joined
    return made, links


def _versions(root: YamlMap, question: Question, problems: Problems) -> list[list[TemplateVersion]]:
    """Return the versions of each template, in the order of the file."""
    versions: list[list[TemplateVersion]] = []
    seen: dict[str, int] = {}
    for functionality in maps(root, "functionalities"):
        for template in maps(functionality, "templates"):
            if "id" not in template or "text" not in template or "name" not in functionality:
                continue
            name = str(template["id"])
            if name in seen:
                problems.add(template.line, f"Two templates have the id {name!r}; the first is on line {seen[name]}.")
                continue
            seen[name] = template.line
            versions.append(template_versions(root, functionality, template, question, problems))
    return versions


def _fits(
    root: YamlMap,
    versions: list[TemplateVersion],
    known: Mapping[str, list[slot_entries.SlotEntry]],
    problems: Problems,
) -> bool:
    """Return whether all cases together can be held, which the slots say before any is made; note it where not."""
    sizes = [expansion.measure(version, known) for version in versions]
    cases, characters = sum(size for size, _ in sizes), sum(length for _, length in sizes)
    line = root.line_of("functionalities")
    if cases > expansion.MOST_IN_SUITE:
        problems.add(
            line,
            f"The suite would make up to {cases:,} cases; the most is {expansion.MOST_IN_SUITE:,}. Limit slots with "
            "`fills`, or make several suites of it.",
        )
    elif characters > expansion.MOST_CHARACTERS:
        problems.add(
            line,
            f"The suite's cases would have up to {characters:,} characters together; the most is "
            f"{expansion.MOST_CHARACTERS:,}. Shorten its texts, or limit slots with `fills`.",
        )
    return cases <= expansion.MOST_IN_SUITE and characters <= expansion.MOST_CHARACTERS


def _expanded(
    described: list[TemplateVersion],
    known: Mapping[str, list[slot_entries.SlotEntry]],
    lang: str,
    problems: Problems,
    most_links: int,
) -> Made:
    """Return the cases of one template, originals first, and the links between them; none where those are too many."""
    sets: dict[str, list[Case]] = {"original": []}
    made: list[tuple[Case, TemplateVersion]] = []
    for version in described:
        try:
            cases = expansion.expand(version, known, lang)
        except ExpansionError as error:
            problems.add(version.line, str(error))
            continue
        sets.setdefault(version.set, []).extend(cases)
        made += [(case, version) for case in cases]
    links = list(islice(expansion.contrast_pairs(sets), most_links + 1))
    if len(links) > most_links:
        problems.add(
            described[0].line,
            f"{described[0].where}: with it the suite would have more than {expansion.MOST_LINKS:,} pairs of cases. "
            "Give its perturbations the original's slots, or limit slots with `fills`.",
        )
        return [], []
    pairs: dict[str, str] = {}
    for original, perturbed in links:
        pairs.setdefault(perturbed, original)
    alone = {version.key: version for case, version in made if case.test != "MFT" and case.id not in pairs}
    for version in alone.values():
        problems.add(version.line, f"{version.where} is compared with an original, but none has the same fills.")
    kept = [(replace(case, pair=pairs.get(case.id)), v) for case, v in made if v.key not in alone]
    return kept, links
