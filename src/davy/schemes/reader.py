"""Schemes by name or path: a YAML file in, a `Scheme` or a list of problems with their lines out.

Reading has three steps, each in its module: `files.yaml_nodes` (safe YAML with lines), `scheme_fields` (fields and
types), `rules` (what must hold between them). All problems of a file are reported together. Only a tree without any is
built into a `Scheme`.

`with_translations` adds the languages that a shipped scheme got after a database had kept it; that is no new version.
Words are found by the English ones, so a scheme that says something else in English keeps its own words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from davy.core.errors import UserError, nearest
from davy.core.question_kind import DEFAULT_KIND
from davy.core.scheme import Guideline, Label, Question, Scheme, Wording
from davy.files import yaml_nodes
from davy.files.yaml_nodes import Problem, Problems, YamlList, YamlMap, YamlNode
from davy.files.yaml_objects import read_bytes, read_shipped_or_file, shipped_names
from davy.schemes import rules, scheme_fields
from davy.schemes.rules import parent_of, parts, words
from davy.schemes.scheme_fields import FLAGS

PACKAGE = "davy.schemes"
Part = TypeVar("Part", Question, Label)


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
    return build_scheme(root)


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
    included: list[YamlMap] = []
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
            if any(other["name"] == question["name"] for other in included):
                problems.add(name.line, f"{str(name)!r} brings a second question called {str(question['name'])!r}.")
            else:
                included.append(question)
    return included


def build_scheme(root: YamlMap) -> Scheme:
    """Return the scheme."""
    known = {str(question["name"]): question for question in parts(root, "questions")}
    return Scheme(
        name=str(root["name"]),
        version=int(str(root["version"])),
        questions=tuple(_question(question, known) for question in known.values()),
        title=_wording(root.get("title")),
        description=_wording(root.get("description")),
        guidelines=tuple(_guideline(guideline) for guideline in parts(root, "guidelines")),
        warning=_wording(root.get("warning")),
        source=str(root.get("source") or ""),
    )


def _question(question: YamlMap, known: dict[str, YamlMap]) -> Question:
    under = parent_of(question, known)
    derived = question.get("derived")
    table = None
    if isinstance(derived, YamlMap):
        origin, pairs = next(iter(derived.items()))
        table = (str(origin), {str(label): str(mine) for label, mine in cast(YamlMap, pairs).items()})
    return Question(
        name=str(question["name"]),
        labels=tuple(_label(label) for label in parts(question, "labels")),
        kind=str(question.get("kind") or DEFAULT_KIND),
        title=_wording(question.get("title")),
        definition=_wording(question.get("definition")),
        positive=_text(question.get("positive")),
        under=(under[0], tuple(under[1])) if under else None,
        open=_flag(question.get("open")),
        required=_flag(question.get("required")),
        absent=_texts(question, "absent"),
        derived=table,
    )


def _label(label: YamlMap) -> Label:
    return Label(
        name=str(label["name"]),
        title=_wording(label.get("title")),
        definition=_wording(label.get("definition")),
        code=_text(label.get("code")),
        examples=tuple(_wording(example) for example in cast(YamlList, label.get("examples") or YamlList())),
        aliases=_texts(label, "aliases"),
        under=_texts(label, "under"),
        group=_text(label.get("group")),
        of=_texts(label, "of"),
        priority=_flag(label.get("priority")),
        severe=_flag(label.get("severe")),
    )


def _guideline(guideline: YamlMap) -> Guideline:
    notes = cast(YamlMap, guideline.get("notes") or YamlMap())
    return Guideline(
        version=int(str(guideline["version"])),
        text=_wording(guideline["text"]),
        notes={str(name): _wording(said) for name, said in notes.items()},
        changes=str(guideline.get("changes") or ""),
    )


def _wording(value: YamlNode) -> Wording:
    if isinstance(value, YamlMap):
        return Wording({str(lang): str(said) for lang, said in value.items()})
    return Wording(str(value or ""))


def _text(value: YamlNode) -> str | None:
    return None if value is None else str(value)


def _texts(part: YamlMap, key: str) -> tuple[str, ...]:
    return tuple(str(word) for word in words(part, key))


def _flag(value: YamlNode) -> bool:
    return FLAGS[str(value).lower()] if value else False


def with_translations(scheme: Scheme) -> Scheme:
    """Return a scheme with the languages that the shipped one of its name has and it lacks."""
    if scheme.name not in names():
        return scheme
    known = _shipped_words(scheme.name)
    return replace(
        scheme,
        title=_filled(scheme.title, known),
        description=_filled(scheme.description, known),
        warning=_filled(scheme.warning, known),
        questions=tuple(_translated_question(question, known) for question in scheme.questions),
        guidelines=tuple(_translated_guideline(guideline, known) for guideline in scheme.guidelines),
    )


def wordings(scheme: Scheme) -> Iterator[Wording]:
    """Yield everything that people read of a scheme."""
    yield from (scheme.title, scheme.description, scheme.warning)
    for question in scheme.questions:
        yield from (question.title, question.definition)
        for label in question.labels:
            yield from (label.title, label.definition, *label.examples)
    for guideline in scheme.guidelines:
        yield from (guideline.text, *guideline.notes.values())


@cache
def _shipped_words(name: str) -> Mapping[str, Wording]:
    """Return what a shipped scheme says, by the English words."""
    return {wording["en"]: wording for wording in wordings(load(name)) if "en" in wording}


def _filled(wording: Wording, known: Mapping[str, Wording]) -> Wording:
    return Wording({**known.get(wording.get("en", ""), {}), **wording})


def _translated_question(question: Question, known: Mapping[str, Wording]) -> Question:
    labels = tuple(
        replace(_titled(label, known), examples=tuple(_filled(example, known) for example in label.examples))
        for label in question.labels
    )
    return replace(_titled(question, known), labels=labels)


def _titled(part: Part, known: Mapping[str, Wording]) -> Part:
    return replace(part, title=_filled(part.title, known), definition=_filled(part.definition, known))


def _translated_guideline(guideline: Guideline, known: Mapping[str, Wording]) -> Guideline:
    notes = {name: _filled(said, known) for name, said in guideline.notes.items()}
    return replace(guideline, text=_filled(guideline.text, known), notes=notes)
