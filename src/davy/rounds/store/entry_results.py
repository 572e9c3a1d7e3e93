"""What people and experts made of a round's entries: labels, flags, reviews and verdicts, read in bulk.

A round in; dictionaries by the key of the entry's post out. Everything is read from the round's phase.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, exists, select

from davy.annotation.labelling.store.tables import annotations, answers, cases, verdicts
from davy.annotation.project.store.tables import items
from davy.rounds.round import Round
from davy.rounds.store.entries import entries
from davy.store import events


@dataclass(frozen=True, slots=True)
class LabelVote:
    """One person's answer to a round's question about an entry; None where they refused."""

    annotator: str
    label: str | None
    flags: tuple[str, ...]


def votes_of(db: Connection, round_: Round) -> dict[str, list[LabelVote]]:
    """Return everyone's current answer to the round's question, by post, oldest first."""
    newer = annotations.alias("newer")
    query = (
        select(annotations.c.post, annotations.c.annotator, annotations.c.flags, answers.c.label)
        .outerjoin(answers, and_(answers.c.annotation == annotations.c.id, answers.c.question == round_.question))
        .where(annotations.c.phase == round_.phase, ~exists().where(newer.c.replaces == annotations.c.id))
        .order_by(annotations.c.id)
    )
    found: dict[str, list[LabelVote]] = {}
    for post, annotator, flags, label in db.execute(query):
        vote = LabelVote(annotator, label or None, tuple(flag for flag in flags.split("|") if flag))
        found.setdefault(post, []).append(vote)
    return found


def verdicts_of(db: Connection, round_: Round) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Return the settled answers to every question, by post; what was taken back is left out."""
    query = (
        select(verdicts.c.post, verdicts.c.question, verdicts.c.labels)
        .join(entries, entries.c.post == verdicts.c.post)
        .where(entries.c.round == round_.id, verdicts.c.project == round_.project)
        .order_by(verdicts.c.turn)
    )
    found: dict[str, dict[str, Any]] = {}
    for post, question, labels in db.execute(query):
        found.setdefault(post, {})[question] = tuple(labels)
    return {post: {name: it for name, it in settled.items() if it} for post, settled in found.items()}


def reviewed_posts(db: Connection, round_: Round) -> set[str]:
    """Return the posts that an expert was asked about: a disagreement or a flag, not one that settled itself."""
    query = (
        select(cases.c.post, cases.c.kind, cases.c.state, cases.c.settled_by)
        .join(items, items.c.id == cases.c.item)
        .where(items.c.phase == round_.phase, cases.c.kind.in_(["disagreement", "flag"]))
    )
    return {row.post for row in db.execute(query) if row.state == "open" or row.settled_by != events.SYSTEM}


def author_labels(db: Connection, round_: Round) -> dict[str, set[str]]:
    """Return the labels that authors gave their own entries, by question; dropped entries don't count."""
    newer = annotations.alias("newer")
    query = (
        select(answers.c.question, answers.c.label)
        .join(annotations, annotations.c.id == answers.c.annotation)
        .join(entries, and_(entries.c.post == annotations.c.post, entries.c.author == annotations.c.annotator))
        .join(items, and_(items.c.post == annotations.c.post, items.c.phase == round_.phase))
        .where(entries.c.round == round_.id, annotations.c.phase == round_.phase, entries.c.dropped.is_(None))
        .where(items.c.state != "dropped", ~exists().where(newer.c.replaces == annotations.c.id))
        .distinct()
    )
    found: dict[str, set[str]] = {}
    for question, label in db.execute(query):
        found.setdefault(question, set()).add(label)
    return found
