"""Argilla's records as JSON, in the shape of `dataset.records.to_json`: fields, metadata, suggestions, responses.

One record a post and phase, since Argilla knows one response a person and
record. People are UUIDs made from the project and the pseudonym. Suggestions
that come in are kept in the post's meta: they are nobody's answers.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from davy.annotation.exchange import json_stream
from davy.annotation.exchange.extra_fields import (
    KEY,
    given_extras,
    given_fields,
    mapping,
    post_extras,
    post_fields,
    question_of,
    sequence,
    strings,
    text,
)
from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, GivenAnswer, Rows, merge_rows
from davy.core import Scheme, UserError

_SPACE = uuid.UUID("5f0c9b52-5b4d-5d6e-8a6e-6f1c2d3e4f50")


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write the rows as an array of records."""
    json_stream.write_array(_records(rows, about), path)


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield the posts of a file of records, neighbours about one post together."""
    return merge_rows(_read(path, about.scheme))


def _records(rows: Rows, about: ExchangeContext) -> Iterator[dict[str, Any]]:
    for row in rows:
        phases: dict[str | None, list[GivenAnswer]] = {}
        for given in row.given:
            phases.setdefault(given.phase, []).append(given)
        for number, answered in enumerate(phases.values() or [[]]):
            own = {
                "id": row.id,
                "post": post_extras(row),
                "given": [_response_extras(given, about) for given in answered],
            }
            metadata: dict[str, Any] = dict(row.known)
            metadata |= {f"gold_{name}": "|".join(it.labels) for name, it in row.settled.items()}
            yield {
                "id": row.id if number == 0 else f"{row.id}#{answered[0].phase}",
                "status": "completed" if row.settled else "pending",
                "fields": {"text": row.text},
                "metadata": {**metadata, KEY: json.dumps(own, ensure_ascii=False)},
                "suggestions": {},
                "responses": _responses(answered, about),
                "vectors": {},
                "_server_id": None,
            }


def _responses(answered: list[GivenAnswer], about: ExchangeContext) -> dict[str, list[dict[str, Any]]]:
    responses: dict[str, list[dict[str, Any]]] = {}
    for name in about.questions:
        many = about.scheme.question(name).takes_several
        for given in answered:
            if name in given.answers:
                labels = list(given.answers[name])
                value = labels if many else labels[0]
                responses.setdefault(name, []).append(
                    {"value": value, "user_id": user_id(about.project, given.annotator)}
                )
    return responses


def user_id(project: str, pseudonym: str) -> str:
    """Return the UUID that stands for a person of a project."""
    return str(uuid.uuid5(_SPACE, f"{project}\0{pseudonym}"))


def _response_extras(given: GivenAnswer, about: ExchangeContext) -> dict[str, Any]:
    who = {"annotator": given.annotator, "user_id": user_id(about.project, given.annotator)}
    return {**who, **given_extras(given)}


def _read(path: Path, scheme: Scheme) -> Iterator[AnsweredPost]:
    for number, record in json_stream.objects(path, "record"):
        place = f"{path.name}: record {number}"
        metadata = mapping(record.get("metadata"), f"{place}: metadata")
        own = _unpacked(metadata.get(KEY), place)
        if own:
            known = post_fields(mapping(own.get("post"), place), place)
        else:
            known = {"meta": dict(metadata)}
            if record.get("suggestions"):
                known["meta"]["suggestions"] = record["suggestions"]
        fields = mapping(record.get("fields"), f"{place}: fields")
        post_id = own.get("id") or record.get("id") or record.get("external_id") or f"{path.stem}-{number}"
        yield AnsweredPost(
            id=text(post_id, f"{place}: id"),
            text=_text_of(fields, place),
            **known,
            given=_read_responses(record.get("responses"), scheme, own, place),
            place=place,
        )


def _unpacked(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, str):
        return {}
    try:
        return mapping(json.loads(value), f"{place}: {KEY}")
    except (ValueError, RecursionError):
        raise UserError(f"{place}: metadata {KEY!r} is not JSON.") from None


def _text_of(fields: dict[str, Any], place: str) -> str | None:
    if "text" in fields:
        return None if fields["text"] is None else text(fields["text"], f"{place}: text")
    found = [value for value in fields.values() if isinstance(value, str)]
    if len(found) != 1:
        raise UserError(f"{place} has no field 'text'; it has {', '.join(list(fields)[:10]) or 'none'}.")
    return found[0]


def _read_responses(responses: Any, scheme: Scheme, own: dict[str, Any], place: str) -> tuple[GivenAnswer, ...]:
    answers: dict[str, dict[str, tuple[str, ...]]] = {}
    refused: set[str] = set()
    if isinstance(responses, list):  # as Argilla's API gives them: one entry a person
        for response in responses:
            who = text(mapping(response, place).get("user_id"), f"{place}: user_id")
            answers.setdefault(who, {})
            if response.get("status") == "discarded":
                refused.add(who)
                continue
            if response.get("status") == "draft":
                answers.pop(who)
                continue
            for name, value in mapping(response.get("values"), f"{place}: values").items():
                _take(answers[who], name, mapping(value, place).get("value"), scheme, place)
    else:
        for name, given in mapping(responses, f"{place}: responses").items():
            for response in sequence(given, f"{place}: responses"):
                who = text(mapping(response, place).get("user_id"), f"{place}: user_id")
                _take(answers.setdefault(who, {}), name, response.get("value"), scheme, place)
    people = [mapping(person, f"{place}: {KEY}") for person in own.get("given") or []]
    if people:
        return tuple(
            GivenAnswer(
                annotator=str(person["annotator"]),
                answers=answers.get(person["user_id"], {}),
                **given_fields(person, place),
            )
            for person in people
        )
    return tuple(
        GivenAnswer(annotator=who, phase=None, answers=found, flags=("refused",) if who in refused else ())
        for who, found in answers.items()
    )


def _take(answers: dict[str, tuple[str, ...]], name: str, value: Any, scheme: Scheme, place: str) -> None:
    question = question_of(scheme, name, place)
    answers[question.name] = strings(value, f"{place}: {name}")
