"""doccano's JSONL for text classification: one line a post and annotator, with a flat list of labels.

doccano itself exports a zip with a file a person; that is read too. Keys that
it does not know it keeps as the example's metadata, which is where the rest is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from davy.annotation.exchange import json_stream
from davy.annotation.exchange.extra_fields import (
    KEY,
    flat_label,
    given_extras,
    given_fields,
    mapping,
    post_extras,
    post_fields,
    sequence,
    text,
    unflat_label,
)
from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, GivenAnswer, Rows, merge_rows
from davy.core import Scheme, UserError

_OWN = ("id", "text", "data", "label", "labels", "cats", "entities", "Comments", "comments", "annotator", KEY)


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write one line a post and annotator; a post without answers has one line without an annotator."""
    json_stream.write_lines(_lines(rows, about), path)


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield the posts of a file, or of a folder with one file a person."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise UserError("The zip holds no .jsonl file. Export from doccano as JSONL.")
    for file in files:
        yield from merge_rows(_read(file, about.scheme, file.stem if path.is_dir() else None))


def _lines(rows: Rows, about: ExchangeContext) -> Iterator[dict[str, Any]]:
    for row in rows:
        for given in row.given or (None,):
            line: dict[str, Any] = {"id": row.id, "text": row.text, "label": [], "Comments": []}
            extras: dict[str, Any] = {"post": post_extras(row)}
            if given is not None:
                asked = [question for question in about.questions if question in given.answers]
                line["label"] = [flat_label(about.scheme, q, label) for q in asked for label in given.answers[q]]
                line["Comments"] = [] if given.comment is None else [given.comment]
                line["annotator"] = given.annotator
                extras["given"] = given_extras(given, "comment")
                # "None of these" is an answer, and a flat list of labels can't say it.
                extras["given"]["none"] = [question for question in asked if not given.answers[question]]
            yield {**line, KEY: extras}


def _read(path: Path, scheme: Scheme, person: str | None) -> Iterator[AnsweredPost]:
    for number, line in json_stream.lines(path):
        place = f"{path.name}: line {number}"
        extras = mapping(line.get(KEY), f"{place}: {KEY}")
        known = post_fields(mapping(extras.get("post"), place), place)
        if not extras:
            known["meta"] = {key: value for key, value in line.items() if key not in _OWN}
        written = line.get("text", line.get("data"))
        given = _read_answers(line, scheme, person, mapping(extras.get("given"), place), place)
        yield AnsweredPost(
            id=text(line.get("id", f"{path.stem}-{number}"), f"{place}: id"),
            text=None if written is None else text(written, f"{place}: text"),
            **known,
            given=given,
            place=place,
        )


def _read_answers(
    line: dict[str, Any], scheme: Scheme, person: str | None, extras: dict[str, Any], place: str
) -> tuple[GivenAnswer, ...]:
    labels = sequence(line.get("label", line.get("labels", line.get("cats"))), f"{place}: label")
    who = line.get("annotator", person)
    if who is None:
        if labels:
            raise UserError(f"{place} has labels but no annotator. Import doccano's zip, which has a file a person.")
        return ()
    if not labels and not extras:
        return ()  # in doccano's own files, a post that this person has not answered
    answers: dict[str, tuple[str, ...]] = dict.fromkeys(extras.get("none") or (), ())
    for label in labels:
        if isinstance(label, list):
            raise UserError(f"{place} labels a span, not the whole text. Export a text classification project.")
        question, name = unflat_label(scheme, text(label, f"{place}: label"), place)
        answers[question] = (*answers.get(question, ()), name)
    comments = sequence(line.get("Comments", line.get("comments")), f"{place}: Comments")
    fields = given_fields(extras, place)
    fields["comment"] = "\n".join(text(it, place) for it in comments) if comments else None
    return (GivenAnswer(annotator=text(who, f"{place}: annotator"), answers=answers, **fields),)
