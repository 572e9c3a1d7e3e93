"""Recorded rounds as entries: what published files say of rounds that others held.

Posts of a corpus in, a frame of entries with a column `split` out. What was not published (HatemojiBuild's
predictions, most of GAHD's labels) is null, and figures that rest on it say their n.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from davy.core.answers import GOLD, SEPARATOR
from davy.core.scheme import Question, Scheme
from davy.rounds.frame import entry_schema
from davy.rounds.round import ENTRY_COLUMNS

if TYPE_CHECKING:
    import polars as pl

CONTRASTS: tuple[str, ...] = ("perturbation", "contrastive")


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
