"""`davy sample`: take posts worth labelling by a plan of samplers with quotas."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console
from davy.cli.options import IdColumn, TextColumn
from davy.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from davy.files.file_table import FileTable
    from davy.sample.plan import SamplingPlan
    from davy.sample.run import Sample


def sample(
    file: Annotated[str | None, typer.Argument(metavar="F", help="The cleaned posts to take from.")] = None,
    plan: Annotated[str, typer.Option(metavar="P", help="edos, or the YAML file of your own.")] = "edos",
    out: Annotated[str | None, typer.Option(metavar="F2", help="The file to write; a report goes beside it.")] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=WHO", help="Who a judge of the plan is: MODEL#QUESTION, or column:C of the file."),
    ] = None,
    pool: Annotated[
        int | None, typer.Option(metavar="N", help="Look at N random posts of each source at most: judges are slow.")
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(metavar="N", help="Boards need N posts to be in a pool, in place of the plan's number."),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    replace_: Annotated[bool, typer.Option("--replace", help="Write over a column `sampler` in the file.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the plan's file and stop: a start for your own.")] = False,
    seed: Annotated[int, typer.Option(help="The seed: the same one gives the same sample.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Take posts for labelling: each sampler of the plan fills its quota from each source, no post is taken twice.

    The column `sampler` says who took a post. Quotas that can't be filled are reported. The same seed gives the same
    sample, byte for byte.

    Examples:

      davy sample clean.parquet --plan edos --out sample.parquet

      davy sample clean.parquet --judge toxicity=perspective --judge "sexism=column:sexist" --out sample.parquet

      davy sample --plan edos --show > mine.yaml
    """
    from davy.sample import plan as plans

    if show:
        from davy.files.yaml_objects import read_shipped_or_file

        print(read_shipped_or_file(plan, plans.PACKAGE, "plan").decode(errors="replace"), end="")
        return
    if file is None or out is None:
        raise UserError("Name the posts and where to write: davy sample F --plan P --out F2.")
    if seed < 0:
        raise UserError(f"--seed is {seed}; give 0 or more.")
    chosen = _narrow(plans.load(plan), pool, at_least)
    report = _sample(file, out, chosen, judge or [], text_column, id_column, replace_, seed)
    if json:
        console.json(report)
    _note_short(report, out)


def _narrow(plan: SamplingPlan, pool: int | None, at_least: int | None) -> SamplingPlan:
    """Return the plan with what the shell says about its pools."""
    for name, value in (("--pool", pool), ("--at-least", at_least)):
        if value is not None and value < 1:
            raise UserError(f"{name} is {value}; give at least 1.")
    changed = {}
    for name, one in plan.pools.items():
        n = one.n if pool is None else min(pool, one.n or pool)
        least = one.at_least if at_least is None or not one.at_least else at_least
        changed[name] = replace(one, n=n, at_least=least)
    return replace(plan, pools=changed)


def _sample(
    file: str,
    out: str,
    plan: SamplingPlan,
    given: list[str],
    text: str | None,
    id: str | None,
    over: bool,
    seed: int,
) -> dict[str, Any]:
    """Read what samplers look at, sample, and write what was taken; return the report."""
    from davy.cli import judges
    from davy.files import post_columns, tables
    from davy.files.atomic import refuse_input, require_folder_of, write_json
    from davy.files.formats import format_of
    from davy.sample.run import sample as run

    format_of(out)
    refuse_input(out, file)
    require_folder_of(out)
    who = judges.parse_judges(given, plan.judges)
    with tables.open_table(file) as table:
        posts = post_columns.check_ids(post_columns.as_posts(table, text=text, id=id))
        if "sampler" in posts.columns and not over:
            raise UserError(f"{file} has a column 'sampler' already. Write over it with --replace.")
        seen = _read_columns(posts, plan, judges.judge_columns(who, plan.judged_by))
        done = run(seen, plan, judges.load_judges(who, plan.judged_by), seed=seed)
        taken = int(done.samplers.is_not_null().sum())
        if not taken:
            raise UserError(
                "No sampler found a post, so nothing was written. Look at the plan's sources, pools and words."
            )
        tables.write(_sampled_rows(posts, done), out, json=posts.json)
    asked = {name: who[name] for name in plan.judged_by}
    report = {"plan": plan.name, "version": plan.version, "seed": seed, "judges": asked, **done.to_dict()}
    _print(done, plan)
    write_json(Path(out).with_name(f"{Path(out).name.split('.')[0]}.sample.json"), report)
    return report


def _read_columns(posts: FileTable, plan: SamplingPlan, more: list[str]) -> pl.DataFrame:
    """Return the columns that samplers and judges look at."""
    from davy.files.file_table import require_column, translate_errors

    for column in more:
        require_column(column, posts.columns, posts.name, "--judge NAME=column:C")
    wanted = ["id", "text", "lang", "image", *more]
    for name in [plan.by, *(pool.communities for pool in plan.pools.values())]:
        wanted += [name, f"{name}.gold"] if name else []
        wanted += ["meta"] if name and name.startswith("meta.") else []
    with translate_errors(posts.name):
        return posts.frame.select(c for c in posts.columns if c in wanted).collect()


def _sampled_rows(posts: FileTable, done: Sample) -> Iterator[pl.DataFrame]:
    """Yield the posts that were taken, in the file's order, with the name of their sampler."""
    from davy.files.file_table import translate_errors

    at = 0
    with translate_errors(posts.name):
        for batch in posts.frame.collect_batches(chunk_size=20_000, maintain_order=True, engine="streaming"):
            here = done.samplers[at : at + len(batch)]
            at += len(batch)
            yield batch.with_columns(here.alias("sampler")).filter(here.is_not_null())


def _print(done: Sample, plan: SamplingPlan) -> None:
    from davy.report.tables import Column, Table

    counts = [Column(name, "count") for name in ("asked", "candidates", "taken", "short")]
    rows = [(r.source, r.sampler, r.asked, r.candidates, r.taken, r.asked - r.taken) for r in done.rows]
    table = Table.of([Column("source"), Column("sampler"), *counts], rows, title=f"Plan {plan.name} {plan.version}")
    console.err().print(table.rich())


def _note_short(report: dict[str, Any], out: str) -> None:
    for name, pool in report["pools"].items():
        for note in pool["notes"]:
            console.note(f"Pool of {name}: {note}.")
    for row in report["samplers"]:
        if row["short"]:
            why = f" ({'; '.join(row['notes'])})" if row["notes"] else ""
            console.note(f"Shortfall: {row['source']}, {row['sampler']}: {row['taken']:,} of {row['asked']:,}{why}.")
    console.note(f"{report['taken']:,} posts → {out} (seed {report['seed']})")
