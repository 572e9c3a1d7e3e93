"""Posts chosen from an earlier corpus, with its labels in the words of ours.

A strategy of kind `corpus` in, posts out: those with the ids that somebody
listed, or with certain published labels, or that match a rule. Each keeps the
corpus's licence, its own id behind the corpus's name, and says where it stood.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from davy.core.errors import UserError
from davy.corpus.collect import corpora
from davy.corpus.collect.records import COLUMNS, SCHEMA
from davy.corpus.collect.strategies import Strategy
from davy.files import post_columns as columns_of
from davy.files import tables
from davy.files.atomic import read_text
from davy.files.file_table import require_column, translate_errors


def choose_posts(strategy: Strategy, *, collected_at: str) -> pl.DataFrame:
    """Return the posts that a strategy chooses, with a column `Q.gold` for each question whose labels it maps."""
    about, where = strategy.corpus, f"strategy {strategy.name!r}"
    rows, name, licence = _read(about, where)
    rows = rows.with_row_index("__row__", offset=1)
    for column, wanted in _mapping(about.get("keep"), f"{where}, keep").items():
        require_column(column, rows.columns, f"{about['path']} ({where}, keep)")
        given = [str(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
        rows = rows.filter(pl.col(column).cast(pl.String).is_in(given))
    if about.get("ids"):
        listed = {
            line.strip() for line in read_text(Path(about["path"]).parent / str(about["ids"]), "ids").splitlines()
        }
        rows = rows.filter(pl.col("id").is_in(list(listed)))
    golds = _golds(rows, _mapping(about.get("labels"), f"{where}, labels"), f"{about['path']} ({where}, labels)")
    rows = rows.with_columns(golds)
    if strategy.rule is not None and len(rows):
        rows = rows.filter(strategy.rule.matches(_records(rows)))
    return _posts(rows, name, licence, strategy, Path(about["path"]), collected_at)


def _read(about: dict[str, Any], where: str) -> tuple[pl.DataFrame, str, str | None]:
    """Return the corpus's posts, its name and its licence."""
    path = Path(about["path"])
    if about.get("corpus"):
        loaded = corpora.load(str(about["corpus"]), path)
        licence = str(about.get("licence") or loaded.licence)
        return loaded.posts.collect(), str(about.get("source") or loaded.name), licence
    if not about.get("licence"):
        raise UserError(f"{where}: say under which licence {path.name} may be used: licence: CC-BY-4.0")
    with tables.open_table(path) as table:
        posts = columns_of.as_posts(table, text=about.get("text"), id=about.get("id"))
        with translate_errors(table.name):
            rows = posts.frame.collect()
    if about.get("lang") and "lang" not in rows.columns:
        rows = rows.with_columns(lang=pl.lit(str(about["lang"])))
    return rows, str(about.get("source") or path.name.split(".")[0]), str(about["licence"])


def _golds(rows: pl.DataFrame, labels: dict[str, Any], name: str) -> list[pl.Series]:
    """Return a column `Q.gold` for each mapped question; a published value that the mapping leaves out is an error."""
    made = []
    for question, entry in labels.items():
        about = entry if isinstance(entry, dict) else {"column": entry}
        column = str(about.get("column") or f"{question}.gold")
        require_column(column, rows.columns, name)
        cells = rows[column].cast(pl.String)
        table = {str(old): None if new is None else str(new) for old, new in (about.get("values") or {}).items()}
        unknown = [value for value in cells.unique() if value is not None and value not in table] if table else []
        if unknown:
            raise UserError(
                f"{name}: column {column!r} has {str(unknown[0])[:60]!r}, which the mapping of {question!r} leaves out;"
                f" it maps {', '.join(table)}. Add it (null for no answer)."
            )
        values = [None if cell is None else table.get(cell, cell) for cell in cells]
        made.append(pl.Series(f"{question}.gold", values, dtype=pl.String))
    return made


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the posts as a rule sees them."""
    kept = [pl.col(c).cast(kind) for c, kind in SCHEMA.items() if c in rows.columns]
    return rows.select(kept)


def _posts(
    rows: pl.DataFrame, name: str, licence: str | None, strategy: Strategy, path: Path, collected_at: str
) -> pl.DataFrame:
    nothing = pl.lit(None, pl.String)

    def kept(column: str) -> pl.Expr:
        return pl.col(column).cast(pl.String) if column in rows.columns else nothing

    place = pl.concat_str(pl.lit(f"{strategy.found}, {path.name}:"), pl.col("__row__").cast(pl.String))
    golds = [c for c in rows.columns if c.endswith(".gold")]
    own = {"source_id": "id", **{c: c for c in rows.columns if c not in (*COLUMNS, *golds, "__row__")}}
    meta = [
        json.dumps({key: row[c] for key, c in own.items() if row[c] is not None}, ensure_ascii=False, default=str)
        for row in rows.select(list(dict.fromkeys(own.values()))).iter_rows(named=True)
    ]
    return rows.select(
        pl.concat_str(pl.lit(f"{name}:"), pl.col("id").cast(pl.String)).alias("id"),
        pl.col("text").cast(pl.String),
        kept("lang").alias("lang"),
        kept("image").alias("image"),
        pl.lit(name).alias("source"),
        pl.lit(licence, pl.String).alias("licence"),
        pl.lit(collected_at).alias("collected_at"),
        place.alias("found"),
        kept("parent").alias("parent"),
        pl.Series("meta", meta, dtype=pl.String),
        kept("platform").alias("platform"),
        kept("community").alias("community"),
        kept("time").alias("time"),
        nothing.alias("author"),
        *(pl.col(c).cast(pl.String) for c in golds),
    )


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UserError(f"{where} is not a mapping. Write `name: value` lines under it.")
    return {str(key): inner for key, inner in value.items()}
