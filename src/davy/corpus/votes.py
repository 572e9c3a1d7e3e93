"""Annotators' votes as soft labels: from columns `Q.votes`, or from a file with a row an answer.

Sources of posts in, one frame with `Q.votes` and `Q.gold` out.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from davy.core.answers import GOLD
from davy.core.errors import UserError
from davy.core.votes import VOTES, votes_cell, with_majority
from davy.corpus.gold import answer_columns
from davy.corpus.post_source import Posts, PostSource, answer_roles, as_source, load_posts
from davy.files import post_columns, tables
from davy.files.file_table import translate_errors


def load_voted(sources: Sequence[Posts], gold: Sequence[str] = ()) -> pl.DataFrame:
    """Return the posts of all sources with their votes; where there are none at all, that is an error."""
    frames = [_load(source, gold) for source in sources]
    posts = pl.concat(frames, how="diagonal_relaxed")
    if not any(name.endswith(VOTES) for name in posts.columns):
        raise UserError(
            "--soft learns from annotators' votes, and there are none. Give columns Q.votes, as davy project corpus "
            "writes them, or a file with a row an answer: the post's id, who answered, the label and the text."
        )
    return with_majority(posts)


def _load(source: Posts, gold: Sequence[str]) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        item, who = answer_roles(source.columns)
        several = item is not None and who is not None and source[item].n_unique() < len(source)
        return _counted(source, str(item), gold) if several else load_posts(source).posts
    named = as_source(source)
    if named.corpus is None:
        with tables.open_table(named.path, format=named.format, encoding=named.encoding) as table:
            item, who = answer_roles(table.columns)
            if item is not None and who is not None:
                text = post_columns.text_column(table, named.text)
                table = post_columns.plain_texts(table, text)
                with translate_errors(table.name):
                    rows = table.frame.rename({text: "text"}).collect()
                if rows[item].n_unique() < len(rows):
                    return _counted(rows, item, gold)
    return load_posts(PostSource(named.path, named.corpus, named.text, named.id, named.format, named.encoding)).posts


def _counted(rows: pl.DataFrame, item: str, gold: Sequence[str]) -> pl.DataFrame:
    """Return one row a post, with the votes of each question that a column answers."""
    _, columns = answer_columns(rows, gold)
    others = [name for name in rows.columns if name not in (item, "id", *columns.values()) and not name.endswith(GOLD)]
    spelt = [pl.col(column).cast(pl.String).drop_nulls().alias(name) for name, column in columns.items()]
    posts = rows.group_by(item, maintain_order=True).agg(*(pl.col(name).first() for name in others), *spelt)
    cells = {name: [votes_cell(answers) for answers in posts[name].to_list()] for name in columns}
    posts = posts.drop(list(columns)).rename({item: "id"} if item != "id" else {})
    return posts.with_columns(pl.Series(name + VOTES, each, dtype=pl.String) for name, each in cells.items())
