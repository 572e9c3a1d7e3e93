"""A small project with everything that an export can meet: odd texts, refusals, flags, two phases, verdicts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from davy import schemes as scheme_files
from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, GivenAnswer, SettledAnswer
from davy.annotation.labelling.store import annotations, items
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.store import members, phases, posts, projects
from davy.annotation.settling.store import verdicts
from davy.core import Annotation, Label, Question, Scheme, Verdict, Wording
from davy.people.store import users
from davy.schemes.store import schemes
from davy.store import Store

AT = datetime(2026, 5, 1, 12, 30, 15, 123456, UTC)

ODD_TEXTS = (
    "plain words",
    "",
    "family 👩‍👩‍👧‍👦 flag 🏳️‍🌈 skin 👍🏽",
    "two\nlines\r\nand\ra bare return",
    'she said "grumblefop", twice; then\ttab',
    "Straßenbahn fährt übers Öl – „Ärger“ ẞ",
    "=1+1",
    "'=kept as it is",
    "''quoted twice",
    "-3.5",
    "@somebody | and a bar",
    "\u2028line separator\u0085next\ufeffbom",
    "   spaces at both ends   ",
    "none",
    "null",
    "<script>alert(1)</script> & <b>",
    '{"json": [1, 2]}',
    "a,b;c\\d",
    "ﷺ עברית العربية 中文",
)


def scheme() -> Scheme:
    """Return a scheme with each kind of question, one of them under another and one derived."""

    def labels(*names: str) -> tuple[Label, ...]:
        return tuple(Label(name, title=Wording(name)) for name in names)

    yes = ("hate", ("hateful",))
    return Scheme(
        "tea",
        1,
        (
            Question("hate", labels("hateful", "not hateful"), positive="hateful", title=Wording("Is it hateful?")),
            Question(
                "target", labels("women", "trains", "tea drinkers"), kind="many", under=yes, title=Wording("Whom?")
            ),
            Question("severity", labels("1", "2", "3"), kind="scale", under=yes, title=Wording("How bad?")),
        ),
        title=Wording("Tea"),
        description=Wording("About tea."),
    )


def rows() -> list[AnsweredPost]:
    """Return rows with every odd text, by id, as `gather` would yield them."""
    made = []
    for number, text in enumerate(ODD_TEXTS):
        mean = number % 2 == 0
        answers = {"hate": ("hateful",), "target": _targets(number), "severity": ("2",)} if mean else _FINE
        given = (
            GivenAnswer("A07", "3", answers, (), '=comment, "odd"\nline 👍🏽' if mean else None, 3.25, _at(number), 2),
            GivenAnswer("A31", "3", _FINE, ("unsure", "other target"), None, None, _at(number + 1), 1),
            GivenAnswer("Zoë", "3", {}, ("refused",), None, 0.5, _at(number + 2), 0),
        )
        settled = {"hate": SettledAnswer(("hateful",), "majority", None)} if mean else {}
        if number % 4 == 0:
            settled["target"] = SettledAnswer(_targets(number), "expert", 'because, "so"\nand so')
            settled["severity"] = SettledAnswer(("2",), "single", None)
        meta = {"likes": number, "tags": ["a", "ü"], "deep": {"x": None, "y": 1.5}} if number % 3 == 0 else {}
        known = {"lang": "de", "image": "m/1.png", "source": "tea talk", "licence": "CC-BY-4.0"} if mean else {}
        if number % 3 == 1:
            known |= {"parent": "p000", "found": "rule 1", "collected_at": "2024-05-01T12:00:00+00:00"}
        made.append(AnsweredPost(f"p{number:03}", text, **known, meta=meta, given=given, settled=settled))
    return made


def about(**more):
    """Return what formats need to know, with tables from `collect.files`."""
    return ExchangeContext(**{"scheme": scheme(), "project": "tea-1", "title": "Tea talk", **more})


def _at(number: int) -> datetime:
    return AT + timedelta(seconds=61 * number)


def _targets(number: int) -> tuple[str, ...]:
    return ((), ("women",), ("trains", "women"))[number // 2 % 3]


_FINE = {"hate": ("not hateful",)}


def fill(store: Store, *, phase_names: tuple[str, ...] = ("training", "3")) -> Project:
    """Put the rows into a project of a store, answered by three people with accounts, and return it."""
    with store.write() as db:
        boss = users.add(db, login="boss@example.org", name="Berta Boss", role="admin", by="shell")
        people = [
            users.add(db, login=f"{name}@example.org", name=f"{name.title()} Secret", role="annotator", by="shell")
            for name in ("ann", "ben", "cay")
        ]
        made = scheme()
        schemes.save(db, made, scheme_files.to_yaml(made), by="shell")
        project = projects.create(
            db, id="tea-1", title="Tea talk", scheme="tea", scheme_version=1, settings={}, by=boss.id
        )
        for person in people:
            members.add(db, project.id, person.id, ["annotator"], by=boss.id)
        training, main = (
            phases.add(db, project.id, name=name, kind=kind, answers=3, in_corpus=kept, settings={}, by=boss.id)
            for name, kind, kept in zip(phase_names, ("training", "production"), (False, True), strict=True)
        )
        wanted = rows()
        posts.ensure(db, _frame(wanted, people[0].id), project=project.id, by="shell")
        items.add(db, training, [(row.id, None, None) for row in wanted[:3]], by="shell")
        items.add(db, main, [(row.id, None, None) for row in wanted], by="shell")
        for row in wanted:
            _answer(db, row, main, [person.id for person in people], made)
        for row in wanted[:3]:
            _answer(db, row, training, [people[0].id], made)
    return project


def _frame(wanted: list[AnsweredPost], author: str) -> pl.DataFrame:
    import json

    made = [
        {
            "id": row.id,
            "text": row.text,
            **{
                name: getattr(row, name)
                for name in ("lang", "image", "source", "licence", "collected_at", "found", "parent")
            },
            "meta": json.dumps({**row.meta, "author": author} if row.id == "p001" else row.meta)
            if row.meta or row.id == "p001"
            else None,
        }
        for row in wanted
    ]
    return pl.DataFrame(made, schema_overrides={"meta": pl.String}, infer_schema_length=None)


def _answer(db, row: AnsweredPost, phase: Phase, people: list[str], made: Scheme) -> None:
    ids = []
    post = posts.find_key(db, phase.project, row.id)
    for person, given in zip(people, row.given, strict=False):
        annotation = Annotation(
            id=f"{phase.name}-{row.id}-{person}",
            post=post,
            annotator=person,
            scheme="tea",
            scheme_version=1,
            guideline_version=0,
            answers=given.answers,
            at=given.at,
            seconds=given.seconds,
            flags=given.flags,
            comment=given.comment,
            project="tea-1",
            phase=phase.id,
        )
        annotations.add(db, annotation, made)
        ids.append(annotation.id)
    if phase.in_corpus:
        for question, settled in row.settled.items():
            verdict = Verdict(post, question, settled.labels, settled.basis, tuple(ids), settled.reason)
            verdicts.add(db, verdict, made, by="boss")


def same_but_people(read: list[AnsweredPost], people: dict[str, str]) -> list[AnsweredPost]:
    """Return rows with annotators renamed, to compare."""
    from dataclasses import replace

    return [
        replace(row, given=tuple(replace(it, annotator=people.get(it.annotator, it.annotator)) for it in row.given))
        for row in read
    ]


def written(path: Path) -> bytes:
    """Return all bytes of a file, or of every file in a folder."""
    if path.is_dir():
        return b"".join(it.read_bytes() for it in sorted(path.rglob("*")) if it.is_file())
    return path.read_bytes()
