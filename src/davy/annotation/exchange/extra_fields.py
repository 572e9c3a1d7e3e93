"""What another tool has no field for, as plain JSON that it carries along.

Each tool's own fields come first (who, what, when, how long); only the rest goes
here, under the key `davy`: phases, flags, guideline versions, verdicts. A file
from the tool itself has none of it, and reads as well without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from davy.annotation.exchange.rows import (
    POST_FIELDS,
    AnsweredPost,
    GivenAnswer,
    SettledAnswer,
    check_basis,
    check_flags,
    moment,
    number,
    version,
)
from davy.core import Question, Scheme, UserError

KEY = "davy"


def post_extras(row: AnsweredPost) -> dict[str, Any]:
    """Return what is known of a post besides id and text, as JSON."""
    extras: dict[str, Any] = dict(row.known)
    if row.meta:
        extras["meta"] = dict(row.meta)
    if row.settled:
        extras["settled"] = {
            question: {"labels": list(it.labels), "basis": it.basis, **({"reason": it.reason} if it.reason else {})}
            for question, it in row.settled.items()
        }
    return extras


def post_fields(extras: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the fields of an `AnsweredPost` that `post_extras` put away."""
    fields: dict[str, Any] = {}
    for name in POST_FIELDS:
        value = extras.get(name)
        if value is not None:
            fields[name] = text(value, f"{place}: {name}")
    fields["meta"] = mapping(extras.get("meta"), f"{place}: meta")
    fields["settled"] = {
        question: SettledAnswer(
            strings(it.get("labels"), f"{place}: settled"), check_basis(it.get("basis"), place), it.get("reason")
        )
        for question, it in mapping(extras.get("settled"), f"{place}: settled").items()
        if isinstance(it, dict)
    }
    return fields


def given_extras(given: GivenAnswer, *without: str) -> dict[str, Any]:
    """Return what is known of an answer besides who and what, as JSON, but for what the format has a field for."""
    extras = {
        "phase": given.phase,
        "flags": list(given.flags) or None,
        "comment": given.comment,
        "seconds": given.seconds,
        "at": given.at.isoformat() if given.at else None,
        "guideline": given.guideline or None,
    }
    return {name: value for name, value in extras.items() if value is not None and name not in without}


def given_fields(extras: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the fields of a `Given` that `given_extras` put away, as far as they are there."""
    return {
        "phase": extras.get("phase"),
        "flags": check_flags(extras.get("flags") or (), place),
        "comment": extras.get("comment"),
        "seconds": number(extras.get("seconds"), place, "seconds"),
        "at": moment(extras.get("at"), place),
        "guideline": version(extras.get("guideline"), place),
    }


def mapping(value: Any, place: str) -> dict[str, Any]:
    """Return a JSON object; an empty one where there is nothing."""
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise UserError(f"{place} is not a JSON object.")
    return value


def sequence(value: Any, place: str) -> list[Any]:
    """Return a JSON list; an empty one where there is nothing."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise UserError(f"{place} is not a list.")
    return value


def strings(value: Any, place: str) -> tuple[str, ...]:
    """Return labels, as one text, one number or a list of them."""
    parts = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(text(part, place) for part in parts)


def text(value: Any, place: str) -> str:
    """Return a text or number as text; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UserError(f"{place} is a {type(value).__name__}; expected text.")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def question_of(scheme: Scheme, name: str, place: str) -> Question:
    """Return the question of this name; a scheme with one question takes any name for it."""
    for question in scheme.questions:
        if question.name == name:
            return question
    asked = [question for question in scheme.questions if question.derived is None]
    if len(asked) == 1:
        return asked[0]
    names = ", ".join(question.name for question in scheme.questions)
    raise UserError(f"{place}: {name[:40]!r} is no question of scheme {scheme.name!r}; it asks {names}.")


def flat_label(scheme: Scheme, question: str, label: str) -> str:
    """Return a label for tools that have one list of labels: with its question, where there are several."""
    return label if len(scheme.questions) == 1 else f"{question}={label}"


def unflat_label(scheme: Scheme, flat: str, place: str) -> tuple[str, str]:
    """Return the question and the label that a flat label means."""
    for question in scheme.questions:
        if flat.startswith(f"{question.name}="):
            return question.name, flat.removeprefix(f"{question.name}=")
    if len(scheme.questions) == 1:
        return scheme.questions[0].name, flat
    matches = []
    for question in scheme.questions:
        try:
            matches.append((question.name, question.label(flat).name))
        except KeyError:
            continue
    if len(matches) != 1:
        how = "of no question" if not matches else "of several questions"
        raise UserError(f"{place}: {flat[:40]!r} is a label {how}. Write it as question=label.")
    return matches[0]
