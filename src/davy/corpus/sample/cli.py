"""`davy sample`: take posts worth labelling by a plan of samplers with quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from davy.core.errors import UserError
from davy.core.options import Option
from davy.corpus.sample import plan as plans
from davy.corpus.sample.sample import SampledFile, sample_file
from davy.files.yaml_objects import read_shipped_or_file
from davy.report.tables import Column, Table
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

if TYPE_CHECKING:
    from davy.corpus.sample.plan import SamplingPlan
    from davy.corpus.sample.run import Sample


@verb_command(
    sample_file,
    "[files] plan [out] judge pool_size at_least text_column id_column encoding replace show seed json",
)
def sample(
    run: Run[SampledFile],
    files: list[str] | None,
    plan: str,
    out: str | None,
    show: Annotated[bool, Option("Print the plan's file and stop: a start for your own.")] = False,
    json: Annotated[bool, Option("Print the report as JSON.")] = False,
) -> None:
    """Take posts for labelling: each sampler of the plan fills its quota from each source, no post is taken twice.

    The column `sampler` names the sampler that took a post, `judge.NAME` has the scores of the judges that saw it, and
    `sampler.tenth` the tenth of the scores. Quotas that can't be filled and posts outside the plan are reported. The
    same seed gives the same sample, byte for byte.

    Examples:

      davy sample clean.parquet --plan edos --out sample.parquet

      davy sample clean.parquet --judge toxicity=perspective --judge "sexism=column:sexist" --out sample.parquet

      davy sample --plan edos --show > mine.yaml
    """

    if show:
        console.yaml_file(read_shipped_or_file(plan, plans.PACKAGE, "plan"), as_json=json)
        return
    if not files or out is None:
        raise UserError("Name the posts and where to write: davy sample F --plan P --out F2.")
    done = run()
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
    for name, posts in report["left_out"].items():
        console.note(f"Left out: {posts:,} posts of {name}, which the plan does not sample.")
    for row in report["samplers"]:
        if row["short"]:
            why = f" ({'; '.join(row['notes'])})" if row["notes"] else ""
            console.note(f"Shortfall: {row['source']}, {row['sampler']}: {row['taken']:,} of {row['asked']:,}{why}.")
    console.note(f"{report['taken']:,} posts → {out} (seed {report['seed']})")
