"""Entries as one frame, one row per entry: those of a project's round, or those that published files recorded.

A round or a corpus in, a frame with `ENTRY_COLUMNS` and the scheme's `Q.gold` columns out. Everything that can still
change (labels, review, drops, gold) is read from the phase's annotations, cases and verdicts each time. What was not
published is null. A split keeps an original and its contrast in one part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from davy import schemes
from davy.annotation.project.store import members, projects
from davy.core.answers import GOLD, SEPARATOR
from davy.core.scheme import Question, Scheme
from davy.corpus.split.assign import assign
from davy.rounds.round import ENTRY_COLUMNS, PAIR_DROPPED
from davy.rounds.store import entries, entry_results
from davy.schemes.store import schemes as stored_schemes

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Scheme
    from davy.rounds.round import Entry, Round
    from davy.rounds.store.entries import EntryText
    from davy.store import Connection

CONTRASTS: tuple[str, ...] = ("perturbation", "contrastive")

SHARES: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}


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


def read_entries(posts: pl.DataFrame, scheme: Scheme) -> pl.DataFrame:
    """Return HatemojiBuild's or GAHD's posts as entries; a post whose round is not given is left out."""
    import polars as pl

    question = scheme.questions[0]
    rows = [_entry(row, question) for row in posts.iter_rows(named=True)]
    frame = pl.DataFrame([row for row in rows if row["round"] is not None], schema_overrides=_types(scheme))
    return mark_flips(frame, question)


def _types(scheme: Scheme) -> dict[str, pl.DataType]:
    import polars as pl

    return {**entry_schema(scheme), "split": pl.String()}


def _entry(row: dict[str, Any], question: Question) -> dict[str, Any]:
    meta = json.loads(row["meta"] or "{}")
    entry = dict.fromkeys(ENTRY_COLUMNS)
    answers = {name: value for name, value in row.items() if name.endswith(GOLD)}
    contrast = str(meta.get("set") or meta.get("source")) in CONTRASTS
    experts = meta.get("expert_labels")
    entry |= {
        "id": row["id"],
        "text": row["text"],
        "lang": row["lang"],
        "round": round_number(meta),
        "set": "contrast" if contrast else "original",
        "pair": row["parent"] or row["id"] if contrast else row["id"],
        "author": meta.get("annotator_id"),
        "strategy": meta.get("source"),
        "labels": _labels(meta.get("annotator_labels"), question),
        "reviewed": experts is not None if "expert_labels" in meta else None,
        "model": "recorded target" if meta.get("model_prediction") is not None else None,
        "model.label": _label(meta.get("model_prediction"), question),
        "split": row.get("split"),
    }
    return {**entry, **answers}


def round_number(meta: dict[str, Any]) -> int | None:
    """Return the round that a published row names: `round.base` 5, or `round` R1."""
    given = str(meta.get("round.base") or meta.get("round") or "").removeprefix("R")
    return int(float(given)) if given.replace(".", "", 1).isdigit() else None


def _label(value: Any, question: Question) -> str | None:
    return None if value is None else question.label(str(value)).name


def _labels(value: Any, question: Question) -> str | None:
    """Return labels joined by slashes as ours, joined by a bar."""
    if value is None:
        return None
    return SEPARATOR.join(question.label(each.strip()).name for each in str(value).split("/"))


def mark_flips(entries: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Return the entries with `flips`: whether both of a pair are here and have different labels."""
    import polars as pl

    gold = f"{question.name}{GOLD}"
    pairs = entries.group_by("pair").agg((pl.col(gold).n_unique() > 1).alias("differs"), pl.len().alias("halves"))
    joined = entries.join(pairs, on="pair", how="left", maintain_order="left")
    flips = pl.when(pl.col("halves") > 1).then(pl.col("differs"))
    return joined.with_columns(flips=flips).drop("differs", "halves")


def label_parts(entries: pl.DataFrame) -> pl.DataFrame:
    """Return entries as a close takes posts: with `part`, the round's name."""
    import polars as pl

    return entries.with_columns(part=pl.concat_str(pl.lit("R"), pl.col("round").cast(pl.String)))


def read_base(posts: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[str]]:
    """Return earlier data with `part`, and the parts' names: a round each where the posts say theirs, else one."""
    import polars as pl

    numbers = [round_number(json.loads(meta or "{}")) for meta in posts["meta"].to_list()]
    parts = [name if number is None else f"R{number}" for number in numbers]
    frame = posts.with_columns(part=pl.Series(parts, dtype=pl.String), pair=pl.coalesce("parent", "id"))
    return frame, sorted(set(parts))


def split_entries(
    entries: pl.DataFrame, question: Question, *, seed: int, placed: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the entries with their part; parts have the same share of each label, as near as pairs allow.

    `placed` are pairs of earlier rounds and their parts: a contrast to an earlier entry goes where that one is.
    """
    import polars as pl

    entries = entries.sort("id")  # the parts depend on the entries and the seed, not on the order they came in
    known = [(placed or {}).get(pair) for pair in entries["pair"].to_list()]
    entries = entries.with_columns(pl.Series("split", known, dtype=pl.String))
    free = entries.filter(pl.col("split").is_null())
    n = len(free)
    sizes = {name: round(n * share) for name, share in SHARES.items()}
    sizes["train"] = n - sizes["dev"] - sizes["test"]
    groups = np.unique(free["pair"].to_numpy(), return_inverse=True)[1]
    parts = assign(free.select(f"{question.name}{GOLD}"), groups, sizes, seed) if n else []
    fresh = free.with_columns(pl.Series("split", parts, dtype=pl.String))
    return pl.concat([entries.filter(pl.col("split").is_not_null()), fresh]).sort("id")


def places(entries: pl.DataFrame) -> dict[str, str]:
    """Return the part of each pair."""
    return dict(entries.select("pair", "split").iter_rows())


def straddling_pairs(entries: pl.DataFrame) -> tuple[int, int]:
    """Return how many pairs lie in more than one part, and how many pairs have both halves here."""
    import polars as pl

    pairs = entries.group_by("pair").agg(pl.len().alias("n"), pl.col("split").n_unique().alias("parts"))
    both = pairs.filter(pl.col("n") > 1)
    return int((both["parts"] > 1).sum()), len(both)
