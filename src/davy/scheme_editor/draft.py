"""A scheme that is being written: plain values as in its YAML file, which may be incomplete, and what they still lack.

Texts are by language (`{"en": …, "de": …}`). Whoever shows a draft words its problems: each has a key, the place that
it is about and values to fill in. `finished` gives the `Scheme` once there are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from davy.core.errors import UserError
from davy.core.question_kind import DEFAULT_KIND, QUESTION_KINDS, kind_called
from davy.core.scheme import Scheme, fold_spelling
from davy.schemes.reader import from_dict, names
from davy.schemes.rules import LONGEST, TAKEN, is_label_name, is_name
from davy.schemes.write import to_dict

Values = dict[str, Any]

WORDED = ("title", "definition", "description", "warning", "text")
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


@dataclass(frozen=True, slots=True)
class DraftProblem:
    """What a draft lacks. `question` and `label` count from 0; None where it is about the scheme or the question."""

    key: str
    question: int | None = None
    label: int | None = None
    values: dict[str, object] = field(default_factory=dict)


def blank_draft(name: str, title: dict[str, str]) -> Values:
    """Return a draft without questions."""
    return {"name": name, "version": 1, "title": title, "questions": []}


def draft_of(scheme: Scheme, *, name: str | None = None) -> Values:
    """Return a scheme as a draft, under another name where one is given; of its guidelines, the newest is kept."""
    values: Values = _worded(to_dict(scheme))
    values |= {"name": name or scheme.name, "version": 1}
    for question in values["questions"]:
        question.setdefault("labels", [])
    if scheme.guideline:
        newest = values["guidelines"][-1]
        values["guidelines"] = [{"version": 1, "text": newest["text"], "notes": newest.get("notes", {})}]
    return values


def finished(values: Values) -> Scheme:
    """Return the scheme of a draft that has no problems."""
    return from_dict(_full(values))


def plain_name(title: str, taken: Iterable[str] = (), *, otherwise: str = "question", longest: int = 60) -> str:
    """Return a name in plain letters for what people call something, with a number where it is taken."""
    letters = fold_spelling(title).translate(_LETTERS)
    base = re.sub(r"[^a-z0-9]+", "-", letters).strip("-").lstrip("0123456789-")[:longest].strip("-") or otherwise
    return _untaken(base, {*taken, *TAKEN})


def copy_name(name: str, taken: Iterable[str]) -> str:
    """Return a name for a copy that is neither taken nor that of a scheme that ships."""
    return _untaken(name if name not in names() else f"my-{name}", {*taken, *names()})


def label_name(title: str) -> str:
    """Return a title as a label may be called in files."""
    return re.sub(r"\s*[|;]\s*|\s+>\s+", ", ", " ".join(title.split())).strip(", ")[:LONGEST].lower()


def _untaken(base: str, taken: set[str]) -> str:
    name, n = base, 2
    while name in taken:
        name, n = f"{base}-{n}", n + 1
    return name


def rename_question(values: Values, old: str, new: str) -> None:
    """Let what hangs on a question follow its new name."""
    for question in values["questions"]:
        for key in ("under", "derived"):
            if old in (question.get(key) or {}):
                question[key] = {new: question[key][old]}


def rename_labels(values: Values, question: str, renamed: dict[str, str]) -> None:
    """Let what hangs on labels of a question follow their new names."""
    for other in values["questions"]:
        mine = other["name"] == question
        if mine:
            other["positive"] = renamed.get(other.get("positive"), other.get("positive"))
        under = other.get("under") or {}
        if question in under:
            under[question] = [renamed.get(label, label) for label in under[question]]
        for label in other["labels"]:
            for key in [key for key, holds in (("under", question in under), ("of", mine)) if holds]:
                label[key] = [renamed.get(name, name) for name in label.get(key, [])]
        derived = other.get("derived") or {}
        if question in derived:
            derived[question] = {renamed.get(label, label): to for label, to in derived[question].items()}
        if mine:
            other["derived"] = {
                origin: {label: renamed.get(to, to) for label, to in table.items()} for origin, table in derived.items()
            }


def problems(values: Values) -> list[DraftProblem]:
    """Return what keeps a draft from being a scheme, from its top to its end."""
    listed = list(_scheme_problems(values))
    for at, question in enumerate(values["questions"]):
        before = {other["name"]: other for other in values["questions"][:at]}
        for check in (_name_problems, _label_problems, _parent_problems, _derived_problems):
            listed += check(question, at, before)
    if not listed:
        try:
            finished(values)
        except UserError as error:  # what the form can't make, but an uploaded file can
            listed.append(DraftProblem("other", values={"problem": error.message}))
    return listed


def _scheme_problems(values: Values) -> Iterator[DraftProblem]:
    name = values.get("name", "")
    if not is_name(name):
        yield DraftProblem("scheme_name", values={"name": name})
    elif name in names():
        yield DraftProblem("scheme_shipped", values={"name": name})
    if not values["questions"]:
        yield DraftProblem("no_questions")


def _name_problems(question: Values, at: int, before: dict[str, Values]) -> Iterator[DraftProblem]:
    name = question["name"]
    if not is_name(name):
        yield DraftProblem("question_name", at, values={"name": name})
    elif name in TAKEN:
        yield DraftProblem("question_taken", at, values={"name": name})
    elif name in before:
        yield DraftProblem("question_twice", at, values={"name": name})
    if question.get("kind", DEFAULT_KIND) not in QUESTION_KINDS:
        yield DraftProblem("question_kind", at)


def _label_problems(question: Values, at: int, _: dict[str, Values]) -> Iterator[DraftProblem]:
    labels = question["labels"]
    fewest = kind_called(question.get("kind")).fewest_labels
    least = min(fewest, 1) if question.get("open") else fewest
    if len(labels) < least:
        yield DraftProblem("too_few_labels", at, values={"least": least, "got": len(labels)})
    spelt: dict[str, int] = {}
    for place, label in enumerate(labels):
        if not label["name"]:
            yield DraftProblem("label_name", at, place)
        elif not is_label_name(label["name"]):
            yield DraftProblem("label_signs", at, place, {"name": label["name"]})
        spellings = (label["name"], label.get("code") or "", *label.get("aliases", ()))
        for spelling in dict.fromkeys(fold_spelling(word) for word in spellings if word):
            first = spelt.setdefault(spelling, place)
            if first != place:
                yield DraftProblem("label_twice", at, place, {"spelling": spelling, "first": first + 1})


def _parent_problems(question: Values, at: int, before: dict[str, Values]) -> Iterator[DraftProblem]:
    under = question.get("under") or {}
    if not under:
        return
    parent, needed = next(iter(under.items()))
    if parent not in before:
        yield DraftProblem("parent_after", at, values={"parent": parent})
        return
    if not kind_called(before[parent].get("kind")).of_labels:
        yield DraftProblem("parent_spans", at, values={"parent": parent})
        return
    known = [label["name"] for label in before[parent]["labels"]]
    if not needed:
        yield DraftProblem("parent_answers", at, values={"parent": parent})
    for answer in (answer for answer in needed if answer not in known):
        yield DraftProblem("parent_answer_gone", at, values={"parent": parent, "answer": answer})
    bound = [label.get("under") or [] for label in question["labels"]]
    for place, beneath in enumerate(bound):
        for answer in (answer for answer in beneath if answer not in needed):
            yield DraftProblem("label_beneath", at, place, {"answer": answer})
    if bound and all(bound):
        for answer in (answer for answer in needed if not any(answer in beneath for beneath in bound)):
            yield DraftProblem("no_label_beneath", at, values={"answer": answer})


def _derived_problems(question: Values, at: int, before: dict[str, Values]) -> Iterator[DraftProblem]:
    for origin, table in (question.get("derived") or {}).items():
        theirs = [label["name"] for label in before[origin]["labels"]] if origin in before else []
        mine = [label["name"] for label in question["labels"]]
        if not all(label in theirs and to in mine for label, to in table.items()):
            yield DraftProblem("derived", at, values={"origin": origin})


def _worded(part: Any) -> Any:
    """Return values with every text that people read by language."""
    if isinstance(part, list):
        return [_worded(each) for each in part]
    if not isinstance(part, dict):
        return part
    by_key: dict[str, Callable[[Any], Any]] = {
        "examples": lambda said: [_by_language(each) for each in said],
        "notes": lambda said: {name: _by_language(each) for name, each in said.items()},
        **dict.fromkeys(WORDED, _by_language),
    }
    return {key: by_key.get(key, _worded)(value) for key, value in part.items()}


def _by_language(said: Any) -> Any:
    return {"en": said} if isinstance(said, str) else said


def _full(part: Any) -> Any:
    """Return values without what is empty, as a scheme's file leaves it out."""
    if isinstance(part, list):
        return [_full(each) for each in part]
    if not isinstance(part, dict):
        return deepcopy(part)
    kept = {key: _full(value) for key, value in part.items()}
    return {key: value for key, value in kept.items() if value not in ("", None, [], {}, False)}
