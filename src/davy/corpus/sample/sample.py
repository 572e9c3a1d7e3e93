"""Sample: posts for labelling out of a file, by a plan whose samplers fill their quotas.

A file and a plan in, a file with the column `sampler` and a report beside it out. The
same seed gives the same sample, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import PostSource, as_source
from davy.corpus.sample import plan as plans
from davy.corpus.sample.plan import Pool, SamplingPlan
from davy.corpus.sample.run import Sample
from davy.corpus.sample.run import sample as draw
from davy.corpus.sample.sampling_scorers import judge_columns, load_judges, parse_judges
from davy.files import post_columns, tables
from davy.files.atomic import refuse_input, require_folder_of, write_json
from davy.files.file_table import FileTable, require_column, translate_errors
from davy.files.formats import output_format

BATCH = 20_000


@dataclass(frozen=True, slots=True)
class SampledFile:
    """What was taken by which sampler, and the report as JSON."""

    sample: Sample
    plan: SamplingPlan
    report: dict[str, Any]


def sample_file(
    file: Annotated[PostSource | Path | str, Options(PostSource)],
    out: Annotated[Path | str, Option("The file to write; a report goes beside it.", metavar="F2")],
    plan: Annotated[str | SamplingPlan, Option("edos, or the YAML file of your own.", metavar="P")] = "edos",
    *,
    judges: Annotated[
        Sequence[str],
        Option("Who a judge of the plan is: MODEL#QUESTION, or column:C of the file.", "--judge", metavar="NAME=WHO"),
    ] = (),
    pool: Annotated[
        int | None, Option("Look at N random posts of each source at most: judges are slow.", metavar="N")
    ] = None,
    at_least: Annotated[
        int | None, Option("Boards need N posts to be in a pool, in place of the plan's number.", metavar="N")
    ] = None,
    replace_column: Annotated[bool, Option("Write over a column `sampler` in the file.", "--replace")] = False,
    seed: Annotated[int, Option("The seed: the same one gives the same sample.")] = 0,
    reporter: Reporter = SILENT,
) -> SampledFile:
    """Take posts by a plan, write them to `out` and the report beside it, and return both.

    `judges` are `NAME=MODEL#QUESTION` or `NAME=column:C`; `pool` and `at_least` replace the plan's numbers.
    """
    if seed < 0:
        raise UserError(f"--seed is {seed}; give 0 or more.")
    source, target = as_source(file), str(out)
    chosen = _narrow(plans.load(plan) if isinstance(plan, str) else plan, pool, at_least)
    output_format(target)
    refuse_input(target, source.path)
    require_folder_of(target)
    who = parse_judges(judges, chosen.judges, chosen.judged_by)
    with tables.open_table(source.path, format=source.format, encoding=source.encoding) as table:
        posts = post_columns.check_ids(post_columns.as_posts(table, text=source.text, id=source.id))
        if "sampler" in posts.columns and not replace_column:
            raise UserError(f"{posts.name} has a column 'sampler' already. Write over it with --replace.")
        columns = _read_columns(posts, chosen, judge_columns(who, chosen.judged_by))
        done = draw(columns, chosen, load_judges(who, chosen.judged_by, reporter), seed=seed)
        if not int(done.samplers.is_not_null().sum()):
            raise UserError(
                "No sampler found a post, so nothing was written. Look at the plan's sources, pools and words."
            )
        tables.write(_sampled_rows(posts, done), target, json=posts.json)
    known = {name: who[name] for name in chosen.judged_by}
    report = {"plan": chosen.name, "version": chosen.version, "seed": seed, "judges": known, **done.to_dict()}
    write_json(Path(target).with_name(f"{Path(target).name.split('.')[0]}.sample.json"), report)
    return SampledFile(done, chosen, report)


def _narrow(plan: SamplingPlan, pool: int | None, at_least: int | None) -> SamplingPlan:
    """Return the plan with other numbers for its pools."""
    for name, value in (("--pool", pool), ("--at-least", at_least)):
        if value is not None and value < 1:
            raise UserError(f"{name} is {value}; give at least 1.")
    if not plan.pools:
        every = Pool(n=pool, at_least=at_least or 0) if pool or at_least else None
        return replace(plan, every_pool=every)
    changed = {}
    for name, one in plan.pools.items():
        n = one.n if pool is None else min(pool, one.n or pool)
        least = one.at_least if at_least is None or not one.at_least else at_least
        changed[name] = replace(one, n=n, at_least=least)
    return replace(plan, pools=changed)


def _read_columns(posts: FileTable, plan: SamplingPlan, more: list[str]) -> pl.DataFrame:
    """Return the columns that samplers and judges look at."""
    for column in more:
        require_column(column, posts.columns, posts.name, "--judge NAME=column:C")
    by = plan.by or ""
    if by and not by.startswith("meta.") and by not in posts.columns and f"{by}.gold" not in posts.columns:
        raise UserError(
            f"{posts.name} has no column {by!r}, by which the plan {plan.name!r} gives its quotas; it has "
            f"{', '.join(posts.columns)}.{nearest(by, posts.columns)} Name another column in the plan's line `by:`, or "
            f"leave out `by:` and `pools:` for one source: davy sample --plan {plan.name} --show > mine.yaml"
        )
    wanted = ["id", "text", "lang", "image", *more]
    pools = [*plan.pools.values(), *([plan.every_pool] if plan.every_pool else [])]
    for name in [plan.by, *(pool.communities for pool in pools)]:
        wanted += [name, f"{name}.gold"] if name else []
        wanted += ["meta"] if name and name.startswith("meta.") else []
    with translate_errors(posts.name):
        return posts.frame.select(c for c in posts.columns if c in wanted).collect()


def _sampled_rows(posts: FileTable, done: Sample) -> Iterator[pl.DataFrame]:
    """Yield the posts that were taken, in the file's order, with the name of their sampler."""
    at = 0
    with translate_errors(posts.name):
        for batch in posts.frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
            here = done.samplers[at : at + len(batch)]
            at += len(batch)
            yield batch.with_columns(here.alias("sampler")).filter(here.is_not_null())
