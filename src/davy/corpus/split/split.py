"""Split: posts into parts that look alike, with nothing alike in two of them.

A file and a plan in, the file with a column of parts and the report out; or a frame in, each post's part out. With a
split that came from elsewhere, what straddles its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import polars as pl

from davy.core.errors import UserError
from davy.core.gold import name_gold
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.corpus.collect import corpora
from davy.corpus.gold import GivenGold
from davy.corpus.post_source import PostSource
from davy.corpus.split.groups import Leak, find_leaks, find_links, leaking_posts
from davy.corpus.split.plan import SplitPlan, load
from davy.corpus.split.quality import PictureFacts, read_picture_facts
from davy.corpus.split.run import LOW_QUALITY, SplitResult
from davy.corpus.split.run import split as split_posts
from davy.files import post_columns, tables
from davy.files.atomic import refuse_input
from davy.files.file_table import list_columns, require_column, translate_errors
from davy.files.formats import display_name, output_format
from davy.image.picture_names import pictures_in

Source = Annotated[PostSource, Options(PostSource, {"corpus": "Read F as this public corpus."})]
Groups = Annotated[
    Sequence[str], Option("Keep posts with the same value together; meta.field too.", "--group", metavar="C")
]
PartColumn = Annotated[str, Option("The column of the parts, to write or to check.", "--split-column", metavar="C")]
Images = Annotated[Path | None, Option("The folder with memes' pictures: poor ones are left out.", metavar="DIR")]

__all__ = ["find_straddling", "make_plan", "split_file", "split_posts"]


def make_plan(
    name: Annotated[
        str, Option("70/10/20, 80/20, train=rest,test=500, a shipped plan, or a YAML file.", "--plan", metavar="P")
    ] = "80/10/10",
    *,
    seed: Annotated[int, Option("The seed: the same one gives the same split.")] = 0,
    unseen: Annotated[
        str | None,
        Option("A second test set, test_unseen: 10%, or a number of posts.", "--test-unseen", metavar="SIZE"),
    ] = None,
    stratify: Annotated[
        Sequence[str], Option("Balance by this column or question; give it again for more.", metavar="C")
    ] = (),
    groups: Groups = (),
    near: Annotated[
        float | None,
        Option("Keep posts this alike together; 0.8 unless told, 0: off.", "--near-duplicates", metavar="T"),
    ] = None,
    near_pictures: Annotated[
        int | None,
        Option("Keep memes together whose pictures' hashes are this near; 31, 0: off.", metavar="BITS"),
    ] = None,
) -> SplitPlan:
    """Return a plan by its name, such as 70/10/20, a shipped one or a file, with what was said in place of its own."""
    plan = load(name)
    plan = plan if unseen is None else plan.with_unseen(unseen)
    return replace(
        plan,
        seed=seed,
        stratify=tuple(stratify) if stratify else plan.stratify,
        groups=tuple(groups) if groups else plan.groups,
        near_duplicates=plan.near_duplicates if near is None else near,
        near_pictures=plan.near_pictures if near_pictures is None else near_pictures,
    )


def split_file(
    source: Source,
    out: Annotated[str, Option("The file to write, or with --check the pairs.", metavar="F2")],
    plan: Annotated[SplitPlan, Options(make_plan)],
    *,
    column: PartColumn = "split",
    images: Images = None,
    gold: GivenGold = (),
    replace_column: Annotated[bool, Option("Write over the column in the file, and over --out.", "--replace")] = False,
    reporter: Reporter = SILENT,
) -> SplitResult:
    """Split a file's posts by a plan, write them with the column of parts to `out` and return how it came about."""
    refuse_input(out, source.path)
    output_format(out)
    posts, kinds = _read(source)
    shown = display_name(source.path)
    posts = name_gold(posts, gold, (), file=shown)
    if column in posts.columns and not replace_column:
        raise UserError(
            f"{shown} has a column {column!r} already. Write over it with --replace, or use --split-column NAME."
        )
    done = split_posts(posts, plan, _facts(posts, images, shown, reporter))
    posts = posts.with_columns(done.parts.alias(column))
    if any(done.left_out):
        posts = posts.with_columns(pl.Series(LOW_QUALITY, done.left_out, dtype=pl.String))
    tables.write([posts], out, json=kinds)
    return done


def find_straddling(
    source: Source,
    *,
    column: PartColumn = "split",
    groups: Groups = (),
    alike: tuple[float, int],
    images: Images = None,
    reporter: Reporter = SILENT,
) -> tuple[list[Leak], pl.DataFrame]:
    """Return what straddles the parts of a file, by reason, and the pairs; `alike` says how near texts and pictures."""
    posts, _ = _read(source)
    shown = display_name(source.path)
    require_column(column, posts.columns, shown, "--split-column")
    found = find_links(posts, tuple(groups) or None, alike[0], _facts(posts, images, shown, reporter), alike[1])
    return list(find_leaks(posts[column], found)), leaking_posts(posts, posts[column], found)


def _facts(posts: pl.DataFrame, images: Path | None, file: str, reporter: Reporter) -> PictureFacts | None:
    """Return what the posts' pictures show, where their folder is named."""
    if images is None:
        return None
    if "image" not in posts.columns:
        raise UserError(
            f"{file} has no column 'image' with the names of its pictures; it has {list_columns(posts.columns)}."
        )
    pictures = pictures_in(images)
    reporter.begin("Looking at pictures", len(posts))
    facts = read_picture_facts(posts["image"].to_list(), pictures, reporter.advance)
    reporter.end()
    if not any(facts.key):
        raise UserError(f"None of the pictures that {file} names is in {images}. Name their folder: --images DIR.")
    return facts


def _read(source: PostSource) -> tuple[pl.DataFrame, frozenset[str]]:
    """Return the posts of a file or a corpus, whole, and which columns hold JSON."""
    if source.corpus is not None:
        table = corpora.load(source.corpus, source.path).table
        return table.frame.collect(), table.json
    with tables.open_table(source.path, format=source.format, encoding=source.encoding) as table:
        made = post_columns.check_ids(post_columns.as_posts(table, text=source.text, id=source.id))
        with translate_errors(table.name):
            return made.frame.collect(), made.json
