"""A checked mapping in, a `Scheme` out. Everything that could be wrong was refused before."""

from __future__ import annotations

from typing import cast

from davy.core.question_kind import DEFAULT_KIND
from davy.core.scheme import Guideline, Label, Question, Scheme, Wording
from davy.files.yaml_nodes import YamlList, YamlMap, YamlNode
from davy.schemes.rules import parent_of, parts, words
from davy.schemes.scheme_fields import FLAGS


def scheme(root: YamlMap) -> Scheme:
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
