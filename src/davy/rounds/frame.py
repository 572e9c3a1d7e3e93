"""The entries of a round as one frame, one row an entry, for tables, splits and training.

A round in, a frame with `ENTRY_COLUMNS` and the scheme's `Q.gold` columns out. Everything that can still change
(labels, review, drops, gold) is read from the phase's annotations, cases and verdicts each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from davy import schemes
from davy.annotation.project.store import members, projects
from davy.core.answers import GOLD, SEPARATOR
from davy.rounds.round import ENTRY_COLUMNS, PAIR_DROPPED
from davy.rounds.store import entries, entry_results
from davy.schemes.store import schemes as stored_schemes

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Scheme
    from davy.rounds.round import Entry, Round
    from davy.rounds.store.entries import EntryText
    from davy.store import Connection


def entry_schema(scheme: Scheme) -> dict[str, pl.DataType]:
    """Return the columns of a frame of entries with their types, in order."""
    import polars as pl

    kinds: dict[str, pl.DataType] = {name: pl.String() for name in ENTRY_COLUMNS}
    kinds |= {
        "round": pl.Int64(),
        "seconds": pl.Float64(),
        "created_at": pl.Datetime("us", "UTC"),
        "model.probability": pl.Float64(),
        "reviewed": pl.Boolean(),
        "flips": pl.Boolean(),
    }
    return kinds | {f"{question.name}{GOLD}": pl.String() for question in scheme.questions}


def empty_frame(scheme: Scheme) -> pl.DataFrame:
    """Return a frame of entries without a row."""
    import polars as pl

    return pl.DataFrame(schema=entry_schema(scheme))


def entries_frame(db: Connection, round_: Round, scheme: Scheme | None = None) -> pl.DataFrame:
    """Return a round's entries in the order in which they were written; of several targets, the first one's columns.

    `scheme` is the project's, where the caller has it.
    """
    import polars as pl

    scheme = scheme or _scheme_of(db, round_)

    rows = entries.of_round(db, round_.id)
    votes = entry_results.votes_of(db, round_)
    settled = entry_results.verdicts_of(db, round_)
    reviewed = entry_results.reviewed_posts(db, round_)
    names = {it.user: it.pseudonym for it in members.of_project(db, round_.project, left=True)}
    by_id = {row.entry.id: row.entry for row in rows}
    contrasts = {row.entry.parent: row.entry for row in rows if row.entry.parent}
    made = []
    for row in rows:
        entry = row.entry
        other = by_id.get(entry.parent) if entry.parent else contrasts.get(entry.id)
        made.append(
            {
                **_own(row, round_, names),
                **_judged(row, votes.get(row.key, []), row.key in reviewed, other),
                **_gold(scheme, {} if entry.dropped else settled.get(row.key, {})),
            }
        )
    return pl.DataFrame(made, schema=entry_schema(scheme), orient="row") if made else empty_frame(scheme)


def _scheme_of(db: Connection, round_: Round) -> Scheme:
    project = projects.get(db, round_.project)
    return schemes.parse(stored_schemes.get(db, project.scheme, project.scheme_version).yaml)


def _own(row: EntryText, round_: Round, names: Mapping[str, str]) -> dict[str, Any]:
    entry = row.entry
    prediction = entry.predictions[0] if entry.predictions else None
    return {
        "id": entry.id,
        "text": row.text,
        "lang": row.lang,
        "round": round_.number,
        "set": entry.set,
        "pair": entry.parent or entry.id,
        "change": entry.change,
        "author": names.get(entry.author, entry.author),
        "strategy": entry.strategy,
        "seconds": entry.seconds,
        "created_at": entry.created_at,
        "model": prediction.target if prediction else None,
        "model.label": prediction.label if prediction else None,
        "model.probability": prediction.probability if prediction else None,
    }


def _judged(
    row: EntryText, votes: list[entry_results.LabelVote], reviewed: bool, other: Entry | None
) -> dict[str, Any]:
    entry = row.entry
    panel = sorted((vote for vote in votes if vote.label), key=lambda vote: vote.annotator != entry.author)
    flags = dict.fromkeys(flag for vote in votes for flag in vote.flags if flag != "refused")
    left = entry.set == "original" and other is not None and other.dropped is not None
    both = other is not None and entry.settled is not None and other.settled is not None
    return {
        "labels": SEPARATOR.join(vote.label for vote in panel if vote.label),
        "reviewed": reviewed,
        "dropped": entry.dropped or (PAIR_DROPPED if left else None),
        "flags": SEPARATOR.join(flags),
        "flips": entry.settled != other.settled if both and other is not None else None,
    }


def _gold(scheme: Scheme, settled: Mapping[str, tuple[str, ...]]) -> dict[str, str | None]:
    return {
        f"{question.name}{GOLD}": SEPARATOR.join(settled[question.name]) if question.name in settled else None
        for question in scheme.questions
    }
