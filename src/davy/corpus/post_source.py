"""Where an action's posts come from: a file, a public corpus, or a frame in memory.

Any of these in, one frame of posts out. Rows are numbered in a column of their own,
so that an error names the row of the file even after rows were left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl

from davy.core.answers import SEPARATOR
from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.corpus.collect import corpora
from davy.corpus.gold import ROW
from davy.files import post_columns, tables
from davy.files.file_table import FileTable, translate_errors
from davy.files.formats import display_name
from davy.files.input_paths import join_paths, short_name
from davy.measure.answer_columns import ANNOTATOR_NAMES, ITEM_NAMES


@dataclass(frozen=True, slots=True)
class PostSource:
    """A file or folder of posts (`-` is stdin), and what its name does not say: corpus, columns, format.

    `path` may be a pattern, or several paths, one a line: `files.many_files.join_paths`.
    """

    path: Annotated[
        str,
        Option(
            "Posts: files, folders, patterns in quotes, as one table; '-' is stdin.",
            "files",
            metavar="F…",
            read=join_paths,
        ),
    ]
    corpus: Annotated[str | None, Option("Read F as this public corpus: davy corpus list.", metavar="NAME")] = None
    text: Annotated[str | None, Option("The column with the text.", "--text-column", metavar="C")] = None
    id: Annotated[str | None, Option("The column with the ids.", "--id-column", metavar="C")] = None
    format: Annotated[str | None, Option("The format where a name does not say it: csv, jsonl …", metavar="NAME")] = (
        None
    )
    encoding: Annotated[str | None, Option("The encoding of F, where it is not UTF-8 or UTF-16.")] = None


Posts = PostSource | Path | str | pl.DataFrame
"""What actions take for posts. A frame has a column `text`; without a column `id` its rows are numbered."""
GivenPosts = Annotated[Posts, Options(PostSource)]
"""Posts that a command line names by files and the options of `PostSource`."""


@dataclass(frozen=True, slots=True)
class LoadedPosts:
    """All posts of a source, with the row numbers in column `ROW`."""

    frame: pl.DataFrame
    path: str
    """What errors call the source: the path as it was given."""
    name: str
    """What reports call it: the corpus, or the file's name without its folder."""
    scheme: str | None = None
    """The scheme that the corpus names."""
    json: frozenset[str] = frozenset()
    """The columns that hold JSON."""
    split_of: Mapping[str, str] = field(default_factory=dict)
    """Question → its own column of splits, where the corpus has several."""

    @property
    def posts(self) -> pl.DataFrame:
        """The posts without their row numbers."""
        return self.frame.drop(ROW)


def as_source(posts: PostSource | Path | str) -> PostSource:
    """Return the source of a path."""
    return posts if isinstance(posts, PostSource) else PostSource(str(posts))


def load_posts(posts: Posts, *, unique_ids: bool = True) -> LoadedPosts:
    """Return all posts of a source; with `unique_ids`, a repeated id is an error."""
    if isinstance(posts, pl.DataFrame):
        return _from_frame(posts)
    source = as_source(posts)
    if source.corpus is not None:
        if source.text or source.id or source.format or source.encoding:
            raise UserError("--corpus knows the file: leave out --text-column, --id-column, --format and --encoding.")
        corpus = corpora.load(source.corpus, source.path)
        frame = corpus.posts.collect().with_row_index(ROW, offset=1)
        own = corpora.describe(source.corpus).split_of
        return LoadedPosts(frame, source.path, source.corpus, corpus.scheme, corpus.table.json, own)
    with tables.open_table(source.path, format=source.format, encoding=source.encoding) as table:
        refuse_answers(table)
        made = post_columns.as_posts(table, text=source.text, id=source.id)
        if unique_ids:
            post_columns.check_ids(made)
        with translate_errors(table.name):
            frame = _exported_gold(made.frame.collect()).with_row_index(ROW, offset=1)
    own = _converted_splits(frame)
    return LoadedPosts(frame, display_name(source.path), short_name(source.path), None, made.json, own)


def _converted_splits(frame: pl.DataFrame) -> Mapping[str, str]:
    """Return each question's column of splits in a converted corpus, which `source` names in every row."""
    sources = frame["source"].unique().to_list() if "source" in frame.columns else []
    if len(sources) != 1 or sources[0] not in corpora.names():
        return {}
    own = corpora.describe(sources[0]).split_of
    return {question: column for question, column in own.items() if column in frame.columns}


def _exported_gold(frame: pl.DataFrame) -> pl.DataFrame:
    """Return posts of a project's Hugging Face export, which has answers in `Q` beside `Q_basis`, with `Q.gold`."""
    if "image" in frame.columns and isinstance(frame.schema["image"], pl.Struct):
        frame = frame.with_columns(pl.col("image").struct.field("path").alias("image"))
    names = [name.removesuffix("_basis") for name in frame.columns if name.endswith("_basis")]
    for name in names:
        if name in frame.columns and f"{name}.gold" not in frame.columns:
            column = frame[name]
            joined = column.list.join(SEPARATOR) if column.dtype == pl.List(pl.String) else column.cast(pl.String)
            frame = frame.with_columns(joined.alias(f"{name}.gold")).drop(name)
            if f"{name}_votes" in frame.columns:
                frame = frame.rename({f"{name}_votes": f"{name}.votes"})
    return frame


def answer_roles(columns: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the columns that name the post and who answered, where a table holds people's answers."""
    folded = {column.casefold(): column for column in columns}
    who = next((folded[name] for name in ANNOTATOR_NAMES if name in folded), None)
    return next((folded[name] for name in ITEM_NAMES if name in folded), None), who


def refuse_answers(table: FileTable) -> None:
    """Raise where the rows are people's answers, several a post: each post would count as often as it was answered."""
    item, who = answer_roles(table.columns)
    if who is None or item is None:
        return
    with translate_errors(table.name):
        rows, posts = table.frame.select(pl.len(), pl.col(item).n_unique().alias("posts")).collect().row(0)
    if posts < rows:
        raise UserError(
            f"{table.name} has people's answers: {rows:,} rows about {posts:,} posts (columns {item!r}, {who!r}). "
            "Settle them in a project (davy project import, then davy project corpus), or learn from the votes: "
            "davy train --soft"
        )


def load_split(
    source: GivenPosts,
    split: Annotated[str | None, Option("Use this split only, such as dev.", metavar="[C=]NAME")] = None,
) -> pl.DataFrame:
    """Return the posts of a source, or of one split of it, with their row numbers."""
    return select_split(load_posts(source).frame, split)[0]


def load_joined(sources: Sequence[Posts]) -> pl.DataFrame:
    """Return the posts of several sources in one frame; a column that one lacks is null there."""
    return pl.concat([load_posts(source).posts for source in sources], how="diagonal_relaxed")


def select_split(posts: pl.DataFrame, split: str | None, reporter: Reporter = SILENT) -> tuple[pl.DataFrame, str]:
    """Return the posts of a split (`NAME` or `COLUMN=NAME`) and its name; all posts where none is named."""
    column, _, name = split.rpartition("=") if split else ("", "", "")
    column = column or "split"
    if split and column not in posts.columns:
        others = ", ".join(c for c in posts.columns if c.startswith("split")) or "none"
        raise UserError(f"There is no column {column!r} to take the split from; columns of splits: {others}.")
    if column not in posts.columns:
        return posts, ""
    counts = {str(value): n for value, n in posts[column].value_counts(sort=True).iter_rows()}
    if not split:
        if len(counts) > 1:
            listed = ", ".join(f"{value} {n:,}" for value, n in counts.items())
            reporter.note(
                f"Measuring all splits together ({listed}). Name one with --split; models may have seen train."
            )
        return posts, " + ".join(counts)
    if name not in counts:
        raise UserError(f"There is no split {name!r} in column {column!r}; it has {', '.join(counts)}.")
    return posts.filter(pl.col(column).cast(pl.String) == name), name


def hold_out(posts: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the posts without a random share of them, and that share."""
    chosen = pl.Series(np.random.default_rng(seed).random(len(posts)) < share)
    return posts.filter(~chosen), posts.filter(chosen)


def _from_frame(posts: pl.DataFrame) -> LoadedPosts:
    if "text" not in posts.columns:
        raise UserError(f"The posts have no column 'text'; they have {', '.join(posts.columns) or 'no columns'}.")
    if "id" not in posts.columns:
        posts = posts.with_columns(pl.int_range(1, pl.len() + 1).cast(pl.String).alias("id"))
    frame = posts.drop(ROW, strict=False).with_row_index(ROW, offset=1)
    return LoadedPosts(frame, "The frame", "posts", split_of=_converted_splits(frame))
