"""Prodigy's JSONL, as `db-out` writes it: one line a post, annotator and question, with options and `accept`.

The input hash is the post, the task hash the post and the question. A refusal
is the answer `ignore`. Binary lines (`label` with accept or reject) are read
where the question has two labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
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
    strings,
    text,
)
from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, GivenAnswer, Rows, merge_rows, moment
from davy.core import Question, Scheme, UserError


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write one line an answer; a post without answers has one line without `answer`."""
    json_stream.write_lines(_lines(rows, about), path)


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield the posts of a file. One that Prodigy wrote is held in memory: its lines stand in the order of work."""
    lines = _read(path, about.scheme)
    first = next(lines, None)
    if first is None:
        return
    found = chain([first], lines)
    if first.place.endswith("*"):  # Prodigy's own
        together: dict[str, list[AnsweredPost]] = {}
        for row in found:
            together.setdefault(row.id, []).append(row)
        found = chain.from_iterable(together.values())
    for row in merge_rows(found):
        yield replace(row, given=_joined(row.given), place=row.place.rstrip("*"))


def _lines(rows: Rows, about: ExchangeContext) -> Iterator[dict[str, Any]]:
    for row in rows:
        line: dict[str, Any] = {"text": row.text, "id": row.id, "_input_hash": _hash(row.id, row.text or "")}
        extras = {"post": post_extras(row)}
        if not row.given:
            yield {**line, "_task_hash": line["_input_hash"], KEY: extras}
        for given in row.given:
            asked: list[str | None] = [name for name in about.questions if name in given.answers]
            who = f"{about.project}-{given.annotator}"
            more: dict[str, Any] = {"_annotator_id": who, "_session_id": who, "_view_id": "choice"}
            if given.at:
                more["_timestamp"] = int(given.at.timestamp())
            own = {**extras, "annotator": given.annotator, "given": given_extras(given)}
            for name in asked or [None]:
                yield {**line, **_task(line, name, given, about.scheme), **more, KEY: {**own, "question": name}}


def _task(line: dict[str, Any], name: str | None, given: GivenAnswer, scheme: Scheme) -> dict[str, Any]:
    answer = "ignore" if "refused" in given.flags else "accept"
    if name is None:
        return {"_task_hash": line["_input_hash"], "options": [], "accept": [], "answer": answer}
    question = scheme.question(name)
    options = [{"id": label.name, "text": str(label.title) or label.name} for label in question.labels]
    return {
        "_task_hash": _hash(str(line["_input_hash"]), name),
        "options": options,
        "config": {"choice_style": "multiple" if question.takes_several else "single"},
        "accept": list(given.answers[name]),
        "answer": answer,
    }


def _hash(*parts: str) -> int:
    """Return a signed 32-bit number, as Prodigy's hashes are; Prodigy makes its own anew with `--rehash`."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big", signed=True)


def _read(path: Path, scheme: Scheme) -> Iterator[AnsweredPost]:
    for number, line in json_stream.lines(path):
        place = f"{path.name}: line {number}"
        extras = mapping(line.get(KEY), f"{place}: {KEY}")
        known = post_fields(mapping(extras.get("post"), place), place)
        if not extras:
            known["meta"] = mapping(line.get("meta"), f"{place}: meta")
        written = line.get("text")
        post_id = line.get("id", f"prodigy-{line['_input_hash']}" if "_input_hash" in line else f"{path.stem}-{number}")
        yield AnsweredPost(
            id=text(post_id, f"{place}: id"),
            text=None if written is None else text(written, f"{place}: text"),
            **known,
            given=_read_answers(line, scheme, extras, place) if "answer" in line else (),
            place=place if extras else f"{place}*",
        )


def _read_answers(line: dict[str, Any], scheme: Scheme, extras: dict[str, Any], place: str) -> tuple[GivenAnswer, ...]:
    who = extras.get("annotator", line.get("_annotator_id", line.get("_session_id")))
    if who is None:
        raise UserError(f"{place} has an answer but no _annotator_id and no _session_id. Give every line one.")
    fields = given_fields(mapping(extras.get("given"), place), place)
    if not extras:
        fields["at"] = moment(line.get("_timestamp"), place)
    refused = line["answer"] == "ignore"
    answers = {} if refused else _answers(line, scheme, extras, place)
    if refused and "refused" not in fields["flags"]:
        fields["flags"] = (*fields["flags"], "refused")
    return (GivenAnswer(annotator=text(who, f"{place}: _annotator_id"), answers=answers, **fields),)


def _answers(line: dict[str, Any], scheme: Scheme, extras: dict[str, Any], place: str) -> dict[str, tuple[str, ...]]:
    if extras and extras.get("question") is None:
        return {}
    if "accept" in line:
        labels = strings(line["accept"], f"{place}: accept")
        name = extras.get("question") or line.get("question") or ""
        question = _guessed(scheme, line, str(name), place)
        return {question.name: labels if line["answer"] == "accept" else ()}
    if "label" not in line:
        raise UserError(f"{place} has neither 'accept' nor 'label', so it answers no question.")
    label = text(line["label"], f"{place}: label")
    question = _guessed(scheme, {"options": [{"id": label}]}, "", place)
    if line["answer"] == "accept":
        return {question.name: (label,)}
    others = [it.name for it in question.labels if label not in it.spellings]
    if len(question.labels) != 2 or len(others) != 1:
        raise UserError(f"{place} rejects a label of {question.name!r}, which does not say which of the others holds.")
    return {question.name: (others[0],)}


def _guessed(scheme: Scheme, line: dict[str, Any], name: str, place: str) -> Question:
    """Return the question that a line asks: by its name, else by its options."""
    offered = {text(it.get("id"), f"{place}: options") for it in line.get("options") or [] if isinstance(it, dict)}
    for question in scheme.questions:
        spellings = {spelling for label in question.labels for spelling in label.spellings}
        if question.name == name or (not name and offered and offered <= spellings):
            return question
    return question_of(scheme, name, place)


def _joined(given: tuple[GivenAnswer, ...]) -> tuple[GivenAnswer, ...]:
    """Return one answer a person and phase: their lines ask one question each."""
    joined: dict[tuple[str, str | None], GivenAnswer] = {}
    for answer in given:
        key = (answer.annotator, answer.phase)
        before = joined.get(key)
        if before is None or set(before.answers) & set(answer.answers):
            key = key if before is None else (f"{answer.annotator}\0{len(joined)}", answer.phase)
            joined[key] = answer
        else:
            joined[key] = replace(before, answers={**before.answers, **answer.answers})
    return tuple(joined.values())
