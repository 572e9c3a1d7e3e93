"""`davy clean`: run a recipe of named steps over a file of posts, and say what each step did."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy.cli import console
from davy.cli.options import Format, IdColumn, TextColumn
from davy.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from davy.clean.funnel import Funnel
    from davy.clean.recipe import CleaningRecipe
    from davy.clean.run import CleaningResult
    from davy.files.file_table import FileTable

BATCH = 20_000


def clean(
    file: Annotated[str | None, typer.Argument(metavar="F", help="The posts to clean; '-' is stdin.")] = None,
    recipe: Annotated[str, typer.Option(metavar="R", help="edos, gmhp7k, or the YAML file of your own.")] = "edos",
    out: Annotated[str | None, typer.Option(metavar="F2", help="The file to write; '-' is stdout.")] = None,
    near: Annotated[
        float | None,
        typer.Option("--near-duplicates", metavar="T", help="Also drop posts that are this alike, 0.3 to 1; try 0.8."),
    ] = None,
    funnel: Annotated[
        Path | None,
        typer.Option(metavar="F3", help="Where to save the funnel as .json; a picture (.svg) goes beside it."),
    ] = None,
    format: Format = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of F, where it is not UTF-8 or UTF-16.")] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="How many processes work; one for each core when not given.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the recipe and stop: a start for your own.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the funnel as JSON.")] = False,
) -> None:
    """Clean posts by a recipe and print the funnel: how many came to each step, were dropped, changed and left.

    A recipe is a YAML list of named steps. `edos` and `gmhp7k` follow the papers; the funnel is saved as JSON and as
    a picture beside the output.

    Examples:

      davy clean posts.parquet --recipe edos --out clean.parquet

      davy clean posts.parquet --near-duplicates 0.8 --out clean.parquet

      davy clean --recipe gmhp7k --show > mine.yaml
    """
    from davy.clean import recipe as recipes
    from davy.files.formats import STDIO

    if show:
        from davy.files.yaml_objects import read_shipped_or_file

        print(read_shipped_or_file(recipe, recipes.PACKAGE, "recipe").decode(errors="replace"), end="")
        return
    if file is None or out is None:
        raise UserError("Name the posts and where to write: davy clean F --recipe R --out F2.")
    if json and out == STDIO:
        raise UserError("--json and --out - both want stdout. Write the posts to a file.")
    if workers is not None and workers < 1:
        raise UserError(f"--workers is {workers}; give at least 1.")
    chosen = _set_near(recipes.load(recipe), near)
    beside = funnel or (None if out == STDIO else Path(out).with_name(f"{Path(out).name.split('.')[0]}.funnel.json"))
    _refuse(file, out, beside)
    done = _clean(file, out, chosen, format, encoding, text_column, id_column, workers or os.cpu_count() or 1)
    if beside is not None:
        save_funnel(done, beside)
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


def _set_near(recipe: CleaningRecipe, near: float | None) -> CleaningRecipe:
    from dataclasses import replace

    from davy.clean.duplicate_steps import DropNearDuplicates

    if near is None:
        return recipe
    try:
        step = DropNearDuplicates(near)
    except ValueError as error:
        raise UserError(f"--near-duplicates: {error}.") from None
    return replace(recipe, steps=(*recipe.steps, step))


def _clean(
    file: str,
    out: str,
    recipe: CleaningRecipe,
    format: str | None,
    encoding: str | None,
    text: str | None,
    id: str | None,
    workers: int,
) -> Funnel:
    """Run the recipe over a file and write what is left."""
    from davy.clean.duplicate_steps import DropDuplicates
    from davy.clean.run import clean as run
    from davy.files import post_columns, tables
    from davy.files.formats import STDIO, format_of, names_format

    out_format = format if out == STDIO or not names_format(out) else None
    format_of(out, out_format)
    in_format = format if file == STDIO or not names_format(file) else None
    with tables.open_table(file, format=in_format, encoding=encoding) as table:
        posts = post_columns.as_posts(table, text=text, id=id)
        if not any(isinstance(step, DropDuplicates) and step.by == "id" for step in recipe.steps):
            post_columns.check_ids(posts)
        with tempfile.TemporaryDirectory(prefix="davy-clean-", ignore_cleanup_errors=True) as folder:
            with console.progress(f"Cleaning {Path(file).name}", total=posts.rows) as advance:
                batches = _batches(posts)
                cleaned = run(batches, recipe, Path(folder), rows=posts.rows, workers=workers, progress=advance)
            return _write(cleaned, posts, out, out_format)


def _refuse(file: str, out: str, funnel: Path | None) -> None:
    """Raise where what is to be written could not be, before the work begins."""
    from davy.files.atomic import refuse_input, require_writable

    refuse_input(out, file)
    for path in (out, funnel):
        if path is not None:
            require_writable(path)


def _batches(posts: FileTable) -> Iterator[pl.DataFrame]:
    from davy.files.file_table import translate_errors

    with translate_errors(posts.name):
        yield from posts.frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")


def _write(cleaned: CleaningResult, posts: FileTable, out: str, format: str | None) -> Funnel:
    from davy.files import tables

    if not cleaned.funnel.left:
        worst = max(cleaned.funnel.rows, key=lambda row: row.dropped)
        raise UserError(
            f"The recipe leaves none of {cleaned.funnel.came:,} posts, so nothing was written; "
            f"{worst.step} alone dropped {worst.dropped:,}. Is it the right recipe for these posts?"
        )
    tables.write(cleaned.frames(), out, format=format, json=posts.json)
    return cleaned.funnel


def save_funnel(funnel: Funnel, path: Path) -> None:
    """Write a funnel as JSON, and as a picture beside it."""
    from davy.files.atomic import write_json, write_text

    write_json(path, funnel.to_dict())
    write_text(path.with_suffix(".svg"), funnel.plot().svg())
