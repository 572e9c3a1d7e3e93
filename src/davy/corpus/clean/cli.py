"""`davy clean`: run a recipe of named steps over a file of posts, and say what each step did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from davy.core.errors import UserError
from davy.core.options import Option
from davy.corpus.clean import recipe as recipes
from davy.corpus.clean.clean import clean_file
from davy.corpus.clean.clean_shards import clean_shards
from davy.corpus.clean.run import Funnel
from davy.engines.shards import open_engine, uses_shards
from davy.files.formats import STDIO
from davy.files.input_paths import join_paths
from davy.files.yaml_objects import read_shipped_or_file
from davy.shell import console
from davy.shell.options import ClusterAddress, EngineName
from davy.shell.verb_command import Run, verb_command


@verb_command(
    clean_file,
    "[files] recipe [out] near_duplicates funnel format encoding text_column id_column workers engine address show "
    "json",
)
def clean(
    run: Run[Funnel],
    files: list[str] | None,
    recipe: str,
    out: str | None,
    near_duplicates: float | None,
    funnel: Path | None,
    workers: int | None,
    engine: EngineName = "local",
    address: ClusterAddress = None,
    show: Annotated[bool, Option("Print the recipe and stop: a start for your own.")] = False,
    json: Annotated[bool, Option("Print the funnel as JSON.")] = False,
) -> None:
    """Clean posts by a recipe and print the funnel: how many came to each step, were dropped, changed and left.

    A recipe is a YAML list of named steps. `edos` and `gmhp7k` follow the papers; the funnel is saved as JSON and as
    a picture beside the output. A folder or URL of Parquet shards becomes a folder of shards, and duplicates are
    dropped across them; --engine ray cleans on a Ray cluster.

    Examples:

      davy clean posts.parquet --recipe edos --out clean.parquet

      davy clean posts.parquet --near-duplicates 0.8 --out clean.parquet

      davy clean --recipe gmhp7k --show > mine.yaml

      davy clean shards/ --out clean/ --engine ray --address 10.0.0.1:6379
    """

    if show:
        console.yaml_file(read_shipped_or_file(recipe, recipes.PACKAGE, "recipe"), as_json=json)
        return
    if not files or out is None:
        raise UserError("Name the posts and where to write: davy clean F --recipe R --out F2.")
    if json and out == STDIO:
        raise UserError("--json and --out - both want stdout. Write the posts to a file.")
    file = join_paths(files)
    if uses_shards(file, out, engine, address, None):
        source = run.arguments["file"]
        with console.ShellReporter() as reporter, open_engine(engine, address, workers) as opened:
            done = clean_shards(
                source, out, recipe, near=near_duplicates, funnel=funnel, engine=opened, reporter=reporter
            )
        _show(done, out, funnel, json=json)
        return
    beside = funnel or (None if out == STDIO else Path(out).with_name(f"{Path(out).name.split('.')[0]}.funnel.json"))
    done = run(funnel=beside)
    _show(done, out, beside, json=json)


def _show(done: Funnel, out: str, beside: Path | None, *, json: bool) -> None:
    """Print the funnel, how long it took and where it was saved."""
    if json:
        console.json(done.to_dict())
    elif out == STDIO:
        console.err().print(done.table().rich())
    else:
        console.out().print(done.table().rich())
    speed = done.came / done.seconds if done.seconds else 0
    saved = f"; funnel: {beside}, {beside.with_suffix('.svg').name}" if beside is not None else ""
    console.note(
        f"{done.left:,} of {done.came:,} posts → {'stdout' if out == STDIO else out} in {done.seconds:.1f} s "
        f"({speed:,.0f} a second){saved}"
    )
