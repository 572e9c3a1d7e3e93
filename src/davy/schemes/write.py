"""A scheme as plain values, as YAML, and as a hash of its questions. Reading any of them back gives the same scheme."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from davy.core.scheme import Guideline, Label, Question, Scheme, Wording


def to_dict(scheme: Scheme) -> dict[str, Any]:
    """Return the scheme as plain values in the fields of its YAML file; what is empty is left out."""
    return _full(
        name=scheme.name,
        version=scheme.version,
        title=_wording(scheme.title),
        description=_wording(scheme.description),
        source=scheme.source,
        warning=_wording(scheme.warning),
        questions=[_question(question) for question in scheme.questions],
        guidelines=[_guideline(guideline) for guideline in scheme.guidelines],
    )


def to_yaml(scheme: Scheme) -> str:
    """Return the scheme as the text of a YAML file."""
    import yaml

    return yaml.safe_dump(to_dict(scheme), allow_unicode=True, sort_keys=False, width=110)


def digest(scheme: Scheme) -> str:
    """Return a hash of what people and detectors answer: names, wording and structure.

    Two schemes with one digest ask the same. Guidelines, aliases, examples, translations of the English words and
    the scheme's own title may grow without moving it.
    """
    questions = [_question(question) for question in scheme.questions]
    for question in questions:
        _keep_english(question)
        question.pop("absent", None)
        for label in question.get("labels", ()):
            _keep_english(label)
            for aid in ("aliases", "examples", "group", "priority", "severe"):
                label.pop(aid, None)
    said = json.dumps(questions, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _keep_english(part: dict[str, Any]) -> None:
    """Take the translations from a question's or a label's words, where they are in English too."""
    for key in ("title", "definition"):
        if isinstance(part.get(key), dict) and "en" in part[key]:
            part[key] = part[key]["en"]


def _question(question: Question) -> dict[str, Any]:
    return _full(
        name=question.name,
        kind=question.kind,
        title=_wording(question.title),
        definition=_wording(question.definition),
        positive=question.positive,
        under={question.under[0]: list(question.under[1])} if question.under else None,
        open=question.open,
        required=question.required,
        absent=list(question.absent),
        derived={question.derived[0]: dict(question.derived[1])} if question.derived else None,
        labels=[_label(label) for label in question.labels],
    )


def _label(label: Label) -> dict[str, Any]:
    return _full(
        name=label.name,
        code=label.code,
        title=_wording(label.title),
        definition=_wording(label.definition),
        under=list(label.under),
        group=label.group,
        of=list(label.of),
        examples=[_wording(example) for example in label.examples],
        aliases=list(label.aliases),
        priority=label.priority,
        severe=label.severe,
    )


def _guideline(guideline: Guideline) -> dict[str, Any]:
    return _full(
        version=guideline.version,
        changes=guideline.changes,
        text=_wording(guideline.text),
        notes={name: _wording(said) for name, said in guideline.notes.items()},
    )


def _wording(wording: Wording) -> str | dict[str, str]:
    """Return the text alone where it is only in English, else a mapping by language."""
    return wording["en"] if set(wording) == {"en"} else dict(wording)


def _full(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}
