"""`davy sample`: take posts worth labelling by a plan of samplers with quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.actions.posts import PostSource
from davy.actions.sample import sample_file
from davy.cli import console
from davy.cli.options import Encoding, IdColumn, SomePostFiles, TextColumn
from davy.core.errors import UserError
from davy.files.many_files import join_paths
from davy.files.yaml_objects import read_shipped_or_file
from davy.report.tables import Column, Table
from davy.sample import plan as plans

if TYPE_CHECKING:
    from davy.sample.plan import SamplingPlan
    from davy.sample.run import Sample


def sample(
    files: SomePostFiles = None,
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
    encoding: Encoding = None,
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

    if show:
        print(read_shipped_or_file(plan, plans.PACKAGE, "plan").decode(errors="replace"), end="")
        return
    if not files or out is None:
        raise UserError("Name the posts and where to write: davy sample F --plan P --out F2.")
    source = PostSource(join_paths(files), text=text_column, id=id_column, encoding=encoding)
    with console.ShellReporter() as reporter:
        done = sample_file(
            source,
            out,
            plan,
            judges=judge or [],
            pool=pool,
            at_least=at_least,
            replace_column=replace_,
            seed=seed,
            reporter=reporter,
        )
    _print(done.sample, done.plan)
    if json:
        console.json(done.report)
    _note_short(done.report, out)


def _print(done: Sample, plan: SamplingPlan) -> None:

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
