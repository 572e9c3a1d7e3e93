"""Label Studio's JSON: an array of tasks, each with `data`, `annotations` and perhaps `predictions`.

One task a post and phase. An answer is a result of type `choices` whose
`from_name` is the question; a refusal is a cancelled annotation. Predictions
that come in are kept in the post's meta: they are nobody's answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from davy.annotation.exchange import json_stream
from davy.annotation.exchange.extra_fields import (
    mapping,
    post_extras,
    post_fields,
    question_of,
    sequence,
    strings,
    text,
)
from davy.annotation.exchange.rows import (
    AnsweredPost,
    ExchangeContext,
    GivenAnswer,
    Rows,
    check_flags,
    merge_rows,
    moment,
    number,
    version,
)
from davy.core import Scheme, UserError

OURS = ".davy.invalid"
"""Where the addresses of pseudonyms end: nobody can have one there (RFC 2606)."""

_TEXT_KEYS = ("text", "tweet", "comment", "post", "body", "content", "sentence", "review", "title")


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write the rows as an array of tasks."""
    json_stream.write_array(_tasks(rows, about), path)


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield the posts of a file of tasks, neighbours about one post together."""
    return merge_rows(_read(path, about.scheme))


def _tasks(rows: Rows, about: ExchangeContext) -> Iterator[dict[str, Any]]:
    people: dict[str, int] = {}
    number_of = annotations = 0
    for row in rows:
        phases: dict[str | None, list[GivenAnswer]] = {}
        for given in row.given:
            phases.setdefault(given.phase, []).append(given)
        for answered in phases.values() or [[]]:
            number_of += 1
            task: dict[str, Any] = {
                "id": number_of,
                "data": {"text": row.text, "item": row.id, **post_extras(row)},
                "annotations": [],
                "predictions": [],
            }
            for given in answered:
                annotations += 1
                who = people.setdefault(given.annotator, len(people) + 1)
                task["annotations"].append(_annotation(given, annotations, number_of, who, about))
            yield task


def _annotation(given: GivenAnswer, id: int, task: int, who: int, about: ExchangeContext) -> dict[str, Any]:
    address = f"{hashlib.sha256(given.annotator.encode()).hexdigest()[:12]}@{about.project}{OURS}"
    results = [
        _result(question, "choices", {"choices": list(given.answers[question])})
        for question in about.questions
        if question in given.answers
    ]
    if given.flags:
        results.append(_result("davy_flags", "choices", {"choices": list(given.flags)}))
    if given.phase is not None:
        results.append(_result("davy_phase", "choices", {"choices": [given.phase]}))
    if given.guideline:
        results.append(_result("davy_guideline", "number", {"number": given.guideline}))
    if given.comment is not None:
        results.append(_result("davy_comment", "textarea", {"text": [given.comment]}))
    at = {"created_at": given.at.isoformat(), "updated_at": given.at.isoformat()} if given.at else {}
    return {
        "id": id,
        "task": task,
        "completed_by": {"id": who, "email": address, "first_name": given.annotator, "last_name": ""},
        "result": results,
        "was_cancelled": "refused" in given.flags,
        "ground_truth": False,
        **at,
        "lead_time": given.seconds,
    }


def _result(name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "from_name": name, "to_name": "text", "type": kind, "origin": "manual", "value": value}


def _read(path: Path, scheme: Scheme) -> Iterator[AnsweredPost]:
    for number_of, task in json_stream.objects(path):
        place = f"{path.name}: task {number_of}"
        if "data" not in task:
            raise UserError(f"{place} has no 'data'. Export from Label Studio as JSON, not as JSON-MIN.")
        data = mapping(task["data"], f"{place}: data")
        known = post_fields(data, place)
        predictions = sequence(task.get("predictions"), f"{place}: predictions")
        if predictions and "predictions" not in known["meta"]:
            known["meta"] = {**known["meta"], "predictions": predictions}
        post_id = data.get("item") or data.get("id") or f"{path.stem}-{task.get('id', number_of)}"
        row = AnsweredPost(id=text(post_id, f"{place}: id"), text=_text_of(data, place), **known, place=place)
        answers = sequence(task.get("annotations"), f"{place}: annotations")
        given = tuple(_read_answer(mapping(it, place), scheme, place) for it in answers)
        yield replace(row, given=given)


def _text_of(data: dict[str, Any], place: str) -> str | None:
    if "text" in data:
        return None if data["text"] is None else text(data["text"], f"{place}: text")
    for key in _TEXT_KEYS:
        if isinstance(data.get(key), str):
            return str(data[key])
    if isinstance(data.get("image"), str):
        return ""
    raise UserError(f"{place} has no text; its data has {', '.join(list(data)[:10]) or 'nothing'}. Name it 'text'.")


def _read_answer(annotation: dict[str, Any], scheme: Scheme, place: str) -> GivenAnswer:
    fields: dict[str, Any] = {"answers": {}, "flags": (), "comment": None, "phase": None, "guideline": 0}
    for it in sequence(annotation.get("result"), f"{place}: result"):
        _take(mapping(it, f"{place}: result"), fields, scheme, place)
    if annotation.get("was_cancelled"):
        fields["answers"] = {}
        if "refused" not in fields["flags"]:
            fields["flags"] = (*fields["flags"], "refused")
    return GivenAnswer(
        annotator=_pseudonym(annotation.get("completed_by"), place),
        seconds=number(annotation.get("lead_time"), place, "lead_time"),
        at=moment(annotation.get("created_at"), place),
        **fields,
    )


def _take(result: dict[str, Any], found: dict[str, Any], scheme: Scheme, place: str) -> None:
    """Put one result where it belongs; what is no answer to a question is refused, not dropped."""
    name, kind = str(result.get("from_name", "")), str(result.get("type", ""))
    value = mapping(result.get("value"), f"{place}: value")
    if name == "davy_flags":
        found["flags"] = check_flags(strings(value.get("choices"), place), place)
    elif name == "davy_phase":
        found["phase"] = "".join(strings(value.get("choices"), place))
    elif name == "davy_guideline":
        found["guideline"] = version(value.get("number"), place)
    elif kind == "textarea":
        written = "\n".join(strings(value.get("text"), place))
        found["comment"] = written if found["comment"] is None else f"{found['comment']}\n{written}"
    elif kind in ("choices", "rating", "number", "taxonomy"):
        labels = value.get(kind)
        if kind == "taxonomy":  # a path a choice: its end is the label
            labels = [it[-1] for it in sequence(labels, place) if it]
        found["answers"][question_of(scheme, name, place).name] = strings(labels, f"{place}: {name}")
    else:
        raise UserError(f"{place} has a result of type {kind[:40]!r}, which is no answer to a question.")


def _pseudonym(completed_by: Any, place: str) -> str:
    """Return a pseudonym: ours, else the number of the account; an address is never kept."""
    if isinstance(completed_by, dict):
        if str(completed_by.get("email", "")).endswith(OURS) and completed_by.get("first_name"):
            return str(completed_by["first_name"])
        if completed_by.get("id") is not None:
            return text(completed_by["id"], place)
        completed_by = completed_by.get("email")
    if completed_by is None:
        raise UserError(f"{place} has an annotation without completed_by. Give every annotation one.")
    name = text(completed_by, f"{place}: completed_by")
    return hashlib.sha256(name.lower().encode()).hexdigest()[:10] if "@" in name else name
