"""`davy split`: cut posts into parts by a plan, or look for leaks in a split that came from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.core.errors import UserError
from davy.core.options import Option
from davy.corpus.split.plan import PACKAGE
from davy.corpus.split.run import SplitResult
from davy.corpus.split.split import find_straddling, split_file
from davy.files import tables
from davy.files.atomic import refuse_input
from davy.files.formats import display_name
from davy.files.input_paths import join_paths
from davy.files.yaml_objects import read_shipped_or_file
from davy.image.perceptual_hash import NEAR
from davy.report.tables import Column, Table
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from davy.corpus.split.groups import Leak


@verb_command(
    split_file,
    "[files] plan [out] corpus split_column stratify group near_duplicates images near_pictures "
    "test_unseen check strict gold text_column id_column encoding replace show seed json",
)
def split(
    run: Run[SplitResult],
    files: list[str] | None,
    plan: str,
    out: str | None,
    split_column: str,
    near_duplicates: float | None,
    near_pictures: int | None,
    seed: int,
    check: Annotated[bool, Option("Only report what straddles the parts in --split-column.")] = False,
    strict: Annotated[bool, Option("With --check: exit 1 where something straddles.")] = False,
    show: Annotated[bool, Option("Print the plan's file and stop: a start for your own.")] = False,
    json: Annotated[bool, Option("Print the report as JSON.")] = False,
) -> None:
    """Split posts into parts that look alike, and never part an original from its contrast or a post from its twin.

    Parts are balanced by every settled answer (Q.gold) and by source. Posts that belong together (parent, near
    duplicates, --group) never cross. With --check, a split that is there is searched for what straddles.

    Examples:

      davy split posts.parquet --plan 70/10/20 --out split.parquet

      davy split hatemojibuild/ --corpus hatemojibuild --plan hatemoji --split-column mine --out split.parquet

      davy split hatemojibuild/ --corpus hatemojibuild --check --out pairs.csv

      davy split memes.jsonl --plan memes --images img/ --test-unseen 10% --out split.jsonl
    """
    if show:
        console.yaml_file(read_shipped_or_file(plan, PACKAGE, "plan"), as_json=json)
        return
    if not files or (out is None and not check):
        raise UserError("Name the posts and where to write: davy split F --plan P --out F2.")
    file = join_paths(files)
    if out is not None:
        refuse_input(out, file)
    if check:
        alike = (0.8 if near_duplicates is None else near_duplicates, NEAR if near_pictures is None else near_pictures)
        leaks, pairs = run.of(find_straddling)(alike=alike)
        raise typer.Exit(_show_leaks(display_name(file), split_column, leaks, pairs, out, json, strict))
    done = run()
    if json:
        console.json(done.to_dict())
    else:
        _print(done)
    console.note(f"{len(done.parts):,} posts → {out} (column {split_column!r}, seed {seed})")


def _show_leaks(
    file: str, column: str, leaks: Sequence[Leak], pairs: pl.DataFrame, out: str | None, json: bool, strict: bool
) -> int:
    if out is not None:
        tables.write([pairs], out)
        console.note(f"{len(pairs):,} pairs → {out}")
    if json:
        console.json({"file": file, "column": column, "leakage": [leak.to_dict() for leak in leaks]})
    else:
        _print_leaks(leaks)
    return 1 if strict and any(leak.straddling for leak in leaks) else 0


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
