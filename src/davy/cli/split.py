"""`davy split`: cut posts into parts by a plan, or look for leaks in a split that came from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console
from davy.cli.options import GoldColumns, SomePostFiles
from davy.collect import corpora
from davy.core.errors import UserError
from davy.core.gold import name_gold
from davy.files import post_columns, tables
from davy.files.atomic import refuse_input
from davy.files.file_table import require_column, translate_errors
from davy.files.formats import display_name, output_format
from davy.files.many_files import join_paths
from davy.files.yaml_objects import read_shipped_or_file
from davy.image.perceptual_hash import NEAR
from davy.image.picture_names import pictures_in
from davy.report.tables import Column, Table
from davy.split.groups import find_links
from davy.split.leakage import find_leaks, leaking_posts
from davy.split.plan import PACKAGE, load
from davy.split.quality import read_picture_facts
from davy.split.run import LOW_QUALITY
from davy.split.run import split as run

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from davy.split.leakage import Leak
    from davy.split.plan import SplitPlan
    from davy.split.quality import PictureFacts
    from davy.split.run import SplitResult


def split(
    files: SomePostFiles = None,
    plan: Annotated[
        str, typer.Option(metavar="P", help="70/10/20, 80/20, train=rest,test=500, a shipped plan, or a YAML file.")
    ] = "80/10/10",
    out: Annotated[str | None, typer.Option(metavar="F2", help="The file to write, or with --check the pairs.")] = None,
    corpus: Annotated[str | None, typer.Option(metavar="NAME", help="Read F as this public corpus.")] = None,
    column: Annotated[str, typer.Option(metavar="C", help="The column of the parts, to write or to check.")] = "split",
    stratify: Annotated[
        list[str] | None, typer.Option(metavar="C", help="Balance by this column or question; give it again for more.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="C", help="Keep posts with the same value together; meta.field too.")
    ] = None,
    near: Annotated[
        float | None,
        typer.Option("--near-duplicates", metavar="T", help="Keep posts this alike together; 0.8 unless told, 0: off."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder with memes' pictures: poor ones are left out.")
    ] = None,
    near_pictures: Annotated[
        int | None,
        typer.Option(metavar="BITS", help="Keep memes together whose pictures' hashes are this near; 31, 0: off."),
    ] = None,
    unseen: Annotated[
        str | None, typer.Option(metavar="SIZE", help="A second test set, test_unseen: 10%, or a number of posts.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only report what straddles the parts in --column.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="With --check: exit 1 where something straddles.")] = False,
    gold: GoldColumns = None,
    replace_: Annotated[bool, typer.Option("--replace", help="Write over the column where it is there.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the plan's file and stop: a start for your own.")] = False,
    seed: Annotated[int, typer.Option(help="The seed: the same one gives the same split.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Split posts into parts that look alike, and never part an original from its contrast or a post from its twin.

    Parts are balanced by every settled answer (Q.gold) and by source. Posts that belong together (parent, near
    duplicates, --group) never cross. With --check, a split that is there is searched for what straddles.

    Examples:

      davy split posts.parquet --plan 70/10/20 --out split.parquet

      davy split hatemojibuild/ --corpus hatemojibuild --plan hatemoji --column mine --out split.parquet

      davy split hatemojibuild/ --corpus hatemojibuild --check --out pairs.csv

      davy split memes.jsonl --plan memes --images img/ --unseen 10% --out split.jsonl
    """
    if show:
        print(read_shipped_or_file(plan, PACKAGE, "plan").decode(errors="replace"), end="")
        return
    if not files or (out is None and not check):
        raise UserError("Name the posts and where to write: davy split F --plan P --out F2.")
    file = join_paths(files)
    if out is not None:
        refuse_input(out, file)
    if check:
        alike = (0.8 if near is None else near, NEAR if near_pictures is None else near_pictures)
        raise typer.Exit(_check(file, corpus, column, group, alike, images, out, json, strict))
    assert out is not None

    chosen = load(plan)
    chosen = chosen if unseen is None else chosen.with_unseen(unseen)
    chosen = replace(
        chosen,
        seed=seed,
        stratify=tuple(stratify) if stratify else chosen.stratify,
        groups=tuple(group) if group else chosen.groups,
        near_duplicates=chosen.near_duplicates if near is None else near,
        near_pictures=chosen.near_pictures if near_pictures is None else near_pictures,
    )
    _split(file, corpus, column, chosen, out, images, replace_, json, gold or ())


def _split(
    file: str,
    corpus: str | None,
    column: str,
    plan: SplitPlan,
    out: str,
    images: Path | None,
    over: bool,
    json: bool,
    gold: Sequence[str],
) -> None:
    import polars as pl

    output_format(out)
    posts, kinds = _posts(file, corpus)
    file = display_name(file)
    posts = name_gold(posts, gold, (), file=file)
    if column in posts.columns and not over:
        raise UserError(f"{file} has a column {column!r} already. Write over it with --replace, or use --column NAME.")
    done = run(posts, plan, _facts(posts, images, file))
    posts = posts.with_columns(done.parts.alias(column))
    if any(done.left_out):
        posts = posts.with_columns(pl.Series(LOW_QUALITY, done.left_out, dtype=pl.String))
    tables.write([posts], out, json=kinds)
    if json:
        console.json(done.to_dict())
    else:
        _print(done)
    console.note(f"{len(posts):,} posts → {out} (column {column!r}, seed {plan.seed})")


def _check(
    file: str,
    corpus: str | None,
    column: str,
    group: Sequence[str] | None,
    alike: tuple[float, int],
    images: Path | None,
    out: str | None,
    json: bool,
    strict: bool,
) -> int:

    posts, _ = _posts(file, corpus)
    file = display_name(file)
    require_column(column, posts.columns, file, "--column")
    found = find_links(posts, group or None, alike[0], _facts(posts, images, file), alike[1])
    report = find_leaks(posts[column], found)
    if out is not None:
        pairs = leaking_posts(posts, posts[column], found)
        tables.write([pairs], out)
        console.note(f"{len(pairs):,} pairs → {out}")
    if json:
        console.json({"file": file, "column": column, "leakage": [leak.to_dict() for leak in report]})
    else:
        _print_leaks(report)
    return 1 if strict and any(leak.straddling for leak in report) else 0


def _facts(posts: pl.DataFrame, images: Path | None, file: str) -> PictureFacts | None:
    """Return what the posts' pictures show, where their folder is named."""
    if images is None:
        return None
    require_column("image", posts.columns, file, "--images")
    pictures = pictures_in(images)
    with console.ShellReporter() as reporter:
        reporter.begin("Looking at pictures", len(posts))
        facts = read_picture_facts(posts["image"].to_list(), pictures, reporter.advance)
        reporter.end()
    if not any(facts.key):
        raise UserError(f"None of the pictures that {file} names is in {images}. Name their folder: --images DIR.")
    return facts


def _posts(file: str, corpus: str | None) -> tuple[pl.DataFrame, frozenset[str]]:
    """Return the posts of a file or a corpus, whole, and which columns hold JSON."""

    if corpus is not None:
        table = corpora.load(corpus, file).table
        return table.frame.collect(), table.json
    with tables.open_table(file) as table:
        made = post_columns.check_ids(post_columns.as_posts(table))
        with translate_errors(table.name):
            return made.frame.collect(), made.json


def _print(done: SplitResult) -> None:

    sizes = done.sizes()
    n = max(1, len(done.parts))
    columns = [Column("part"), Column("asked", "count"), Column("posts", "count"), Column("share", "share")]
    rows = [(name, done.asked.get(name), got, got / n) for name, got in sizes.items()]
    console.out().print(Table.of(columns, rows, title=f"Plan {done.plan.name}").rich())
    report = done.to_dict()["labels"]
    for level, counts in report.items():
        if not 1 < len(counts) <= 40:
            continue
        totals = {value: sum(by.values()) for value, by in counts.items()}
        head: list[Any] = [Column(level), Column("posts", "count"), *(Column(name, "share") for name in sizes)]
        lines = [
            (value or "(none)", totals[value], *(by.get(name, 0) / totals[value] for name in sizes))
            for value, by in counts.items()
        ]
        console.out().print(Table.of(head, lines).rich())
    console.note(f"{done.tied:,} posts are in groups, the largest of {done.largest}; no group crosses.")
    small = min((size for size in done.asked.values() if size), default=0)
    if done.largest > small:
        console.note(f"The largest group has more posts than the smallest part asked for ({small:,}), so sizes miss.")
    for reason, left in done.left_out_counts().items():
        console.note(f"Left out for low quality: {left:,} ({reason}).")
    if done.plan.composition is not None:
        _print_leaks(done.leaks)
    for short in done.shortfalls:
        console.note(f"Shortfall: {short.part} got {short.got:,} of {short.asked:,} posts of kind {short.kind!r}.")


def _print_leaks(report: Sequence[Leak]) -> None:

    counts = [Column(name, "count") for name in ("pairs", "straddling", "posts", "partner not in the file")]
    columns = [Column("reason"), *counts, Column("between")]
    rows = [
        (
            leak.reason,
            leak.pairs,
            leak.straddling,
            leak.posts,
            leak.outside,
            "; ".join(f"{ends}: {n:,}" for ends, n in leak.between.items()),
        )
        for leak in report
    ]
    console.out().print(Table.of(columns, rows, title="Leakage: pairs that are in different parts").rich())
