"""The kinds of data that a caller may hold: texts, records, pandas, polars (lazy too) and Hugging Face datasets.

Any of them in; posts as a polars frame out, or the same kind with columns added. pandas and datasets are never
imported before the caller did: who holds such a frame has imported them. Columns of results have the same types
whatever the data, so that two results can be concatenated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from davy.core.errors import UnknownName, UserError, nearest
from davy.files.post_columns import TEXT_NAMES
from davy.measure.columns import is_missing
from davy.scoring.result import repair_text

_HALF = re.compile("[\ud800-\udfff]")
SEEN = ("lang", "image")
"""Columns beside the text that a detector may look at."""


def kind_of(data: Any) -> str:
    """Return what `data` is: text, texts, records, polars, lazy, pandas, series, dataset or datasets."""
    package, name = type(data).__module__.partition(".")[0], type(data).__name__
    if isinstance(data, str):
        return "text"
    if isinstance(data, pl.DataFrame | pl.LazyFrame | pl.Series):
        return {"DataFrame": "polars", "LazyFrame": "lazy", "Series": "texts"}[name]
    if package == "pandas":
        return "pandas" if name == "DataFrame" else "series"
    if package == "datasets" and not name.startswith("Iterable"):
        return "datasets" if isinstance(data, Mapping) else "dataset"
    if isinstance(data, Path):
        raise UserError(f"{data} is a file. Read it first: davy.read({str(data)!r})")
    if isinstance(data, Sequence) or package == "numpy":
        return "records" if len(data) and all(isinstance(row, Mapping) for row in data) else "texts"
    raise UserError(f"Can't read posts from a {name}. Give a text, a list, a frame of pandas or polars, or a dataset.")


def columns_of(data: Any) -> list[str]:
    """Return the column names of a frame, a dataset or records."""
    kind = kind_of(data)
    if kind == "lazy":
        return list(data.collect_schema().names())
    if kind == "datasets":
        return columns_of(next(iter(data.values())))
    if kind == "dataset":
        return list(data.column_names)
    if kind == "records":
        return list(dict.fromkeys(str(name) for row in data for name in row))
    if kind == "series":
        return [str(data.name or "text")]
    return [str(name) for name in data.columns]


def text_column(columns: Sequence[str], asked: str | None = None) -> str:
    """Return the column that holds the text: the one asked for, or the first known name that is there."""
    names = {name.casefold(): name for name in reversed(columns)}
    chosen = asked or next((names[name] for name in TEXT_NAMES if name in names), None)
    if chosen is None or chosen not in columns:
        problem = f"There is no column {asked!r}" if asked else "No column looks like the text"
        hint = nearest(asked, list(columns)) if asked else ""
        raise UnknownName(f"{problem}; the columns are {', '.join(columns)}.{hint} Name it: text=COLUMN")
    return chosen


def require_columns(columns: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise where a column is not there, with the columns that are."""
    for name in wanted:
        if name not in columns:
            listed = ", ".join(columns)
            raise UnknownName(f"There is no column {name!r}; the columns are {listed}.{nearest(name, list(columns))}")


def to_polars(data: Any) -> pl.DataFrame:
    """Return data as a polars frame, all columns kept; texts become the column `text`."""
    kind = kind_of(data)
    if kind == "polars":
        return data  # type: ignore[no-any-return]
    if kind == "lazy":
        return data.collect()  # type: ignore[no-any-return]
    if kind == "pandas":
        names = [str(name) for name in data.columns]
        if again := next((name for name in names if names.count(name) > 1), None):
            raise UserError(f"There are two columns {again!r}. Rename one.")
        columns = {name: _without_nan(data.iloc[:, place].tolist()) for place, name in enumerate(names)}
        return pl.DataFrame({name: _encodable(values) for name, values in columns.items()}, strict=False)
    if kind == "dataset":
        return pl.DataFrame({name: list(data[name]) for name in data.column_names}, strict=False)
    if kind == "records":
        return pl.DataFrame(list(data), strict=False, infer_schema_length=None)
    if kind == "datasets":
        raise UserError(f"These are several datasets ({', '.join(data)}). Name one: data[{next(iter(data))!r}]")
    values = [data] if kind == "text" else _without_nan(data.tolist() if hasattr(data, "tolist") else list(data))
    wrong = next((row for row, value in enumerate(values) if not isinstance(value, str | None)), None)
    if wrong is not None:
        raise UserError(f"Row {wrong + 1} is a {type(values[wrong]).__name__}, not a text. Give texts.")
    return pl.DataFrame({"text": _encodable(values)}, schema={"text": pl.String})


def to_posts(data: Any, text: str | None = None, *, unique_ids: bool = True) -> pl.DataFrame:
    """Return data as posts: the text under `text`, an `id` where there is none, every other column kept.

    With `unique_ids`, a repeated id is an error.
    """
    if isinstance(data, str) and len(data) < 1000 and Path(data).is_file():
        raise UserError(f"{data} is a file. Read it first: davy.read({data!r})")
    frame = to_polars(data)
    column = text_column(frame.columns, text)
    if column != "text":
        if "text" in frame.columns:
            raise UserError(f"There is a column 'text' beside {column!r}, which would be called so too. Rename one.")
        frame = frame.rename({column: "text"})
    ids = pl.col("id") if "id" in frame.columns else pl.int_range(1, pl.len() + 1).alias("id")
    frame = frame.with_columns(_text_of(frame, "text"), ids.cast(pl.String))
    if unique_ids and frame["id"].n_unique() < len(frame):
        twice = frame["id"].filter(frame["id"].is_duplicated())[0]
        rows = frame["id"].eq_missing(twice).arg_true()
        raise UserError(
            f"id {twice!r} is in rows {rows[0]} and {rows[1]} (counted from 0). Ids must differ: drop the repeats, or "
            "leave the column `id` out."
        )
    return frame


def visible_columns(data: Any, text: str | None = None) -> pl.DataFrame:
    """Return what a detector looks at: the text and, where they are there, the language and the image."""
    frame = to_polars(data)
    column = text_column(frame.columns, text)
    return frame.select(_text_of(frame, column).alias("text"), *(name for name in SEEN if name in frame.columns))


def _text_of(frame: pl.DataFrame, column: str) -> pl.Expr:
    """Return a column as text; what can't be one is an error."""
    dtype = frame.schema[column]
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise UserError(f"Column {column!r} holds {str(dtype).lower()}, not texts. Give texts.")
    return pl.col(column).cast(pl.String)


def _encodable(values: list[Any]) -> list[Any]:
    """Return values whose texts can be encoded: half an emoji becomes a replacement character."""
    return [
        repair_text(value) if isinstance(value, str) and not value.isascii() and _HALF.search(value) else value
        for value in values
    ]


def gold_entries(gold: Mapping[str, str] | None) -> list[str]:
    """Return question → column as `--gold` takes them; anything but a mapping is an error."""
    if gold is None or isinstance(gold, Mapping):
        return [f"{question}={column}" for question, column in (gold or {}).items()]
    if isinstance(gold, str):
        form = f'gold={{"hate": {json.dumps(gold, ensure_ascii=False)}}}'
        raise UserError(f"gold={gold!r} does not say which question that column answers. Name it: {form}")
    raise UserError(
        f'gold is a {type(gold).__name__}; it says which column answers which question: gold={{"hate": "label"}}'
    )


def add_columns(data: Any, added: Callable[[Any], pl.DataFrame], schema: Mapping[str, Any]) -> Any:
    """Return data of the same kind with the columns of `added(data)` after its own; `schema` names their types.

    A column that is there already is replaced. A lazy frame stays lazy.
    """
    kind = kind_of(data)
    if kind == "lazy":
        # Nothing may be pushed below this step: a filter may be about a column that is made here.
        off = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}
        after = pl.Schema({**data.collect_schema(), **schema})
        return data.map_batches(lambda frame: frame.with_columns(added(frame)), schema=after, streamable=True, **off)
    if kind == "datasets":
        return type(data)({name: add_columns(part, added, schema) for name, part in data.items()})
    new = added(data)
    if kind == "polars":
        return data.with_columns(new)
    if kind == "dataset":
        return _join_dataset(data, new)
    if kind in ("pandas", "series"):
        frame = data if kind == "pandas" else data.to_frame(data.name or "text")
        return frame.assign(**{name: _plain(new[name]) for name in new.columns})
    return [{**row, **more} for row, more in zip(data, new.iter_rows(named=True), strict=True)]


def same_kind(data: Any, posts: pl.DataFrame, text: str | None = None) -> Any:
    """Return chosen posts as the kind of data that they came in: pandas with its index, a dataset, records.

    `posts` came from `to_posts(data, text)`: their ids name rows of the data. Their texts and any new columns are
    taken from them, all else from the data. Texts, and frames of polars, give a polars frame.
    """
    kind = kind_of(data)
    if kind not in ("pandas", "dataset", "records"):
        return posts
    own = columns_of(data)
    column = text_column(own, text)
    ids = to_posts(data, text)["id"]
    places = pl.DataFrame({"id": ids}).with_row_index("place")
    rows = posts.select("id").join(places, on="id", how="left", maintain_order="left")["place"].to_list()
    new = posts.rename({"text": column}).select(
        column, *(name for name in posts.columns if name not in ("id", "text", *own))
    )
    if kind == "pandas":
        chosen = data.iloc[rows].copy()
        for name in new.columns:
            chosen[name] = _plain(new[name])
        return chosen
    if kind == "records":
        return [{**data[row], **more} for row, more in zip(rows, new.iter_rows(named=True), strict=True)]
    return _join_dataset(data.select(rows), new)


def drop_columns(data: Any, names: list[str]) -> Any:
    """Return data of the same kind without some of its columns; data without columns is returned as it is."""
    kind = kind_of(data)
    if not names or kind == "series":
        return data
    if kind == "pandas":
        return data.drop(columns=names)
    if kind in ("polars", "lazy"):
        return data.drop(names)
    if kind in ("dataset", "datasets"):
        return data.remove_columns(names)
    return [{name: value for name, value in row.items() if name not in names} for row in data]


def _join_dataset(dataset: Any, new: pl.DataFrame) -> Any:
    """Return a dataset with columns added; their types are told, since a column may be all null."""
    from datasets import Dataset, Features, Value, concatenate_datasets

    types = {pl.Float64: "float64", pl.String: "string", pl.Boolean: "bool"}
    features = Features({name: Value(types[dtype.base_type()]) for name, dtype in new.schema.items()})
    kept = dataset.remove_columns([name for name in new.columns if name in dataset.column_names])
    return concatenate_datasets([kept, Dataset.from_dict(new.to_dict(as_series=False), features=features)], axis=1)


def _plain(column: pl.Series) -> Any:
    """Return a column as pandas takes it: numbers as an array, in which null is NaN."""
    return column.to_numpy() if column.dtype == pl.Float64 else column.to_list()


def _without_nan(values: list[Any]) -> list[Any]:
    """Return values with pandas' NaN, NaT and NA as None."""
    return [None if is_missing(value) else value for value in values]


FIGURE: dict[str, type[pl.DataType]] = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
"""A figure with its interval, and the n that it is of."""


def text_columns(*names: str) -> dict[str, type[pl.DataType]]:
    """Return columns of text."""
    return dict.fromkeys(names, pl.String)


def number_columns(*names: str) -> dict[str, type[pl.DataType]]:
    """Return columns of numbers."""
    return dict.fromkeys(names, pl.Float64)
