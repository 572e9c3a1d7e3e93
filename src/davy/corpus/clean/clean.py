"""Clean: a file of posts through a recipe, with the funnel of what each step dropped and changed.

A file and a recipe in, a file and its funnel out. The work is spread over processes;
the order of the posts stays.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import polars as pl

from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.corpus.clean import recipe as recipes
from davy.corpus.clean.drops import DropDuplicates, DropNearDuplicates
from davy.corpus.clean.recipe import CleaningRecipe
from davy.corpus.clean.run import CleaningResult, Funnel
from davy.corpus.clean.run import clean as run_recipe
from davy.corpus.post_source import PostSource, as_source
from davy.files import post_columns, tables
from davy.files.atomic import refuse_input, require_writable, write_json, write_text
from davy.files.cores import usable_cores
from davy.files.file_table import FileTable, translate_errors
from davy.files.formats import STDIO, names_format, output_format
from davy.files.input_paths import short_name

BATCH = 20_000


def clean_file(
    file: Annotated[PostSource | Path | str, Options(PostSource)],
    out: Annotated[Path | str, Option("The file to write; '-' is stdout.", metavar="F2")],
    recipe: Annotated[
        str | CleaningRecipe, Option("edos, gmhp7k, or the YAML file of your own.", metavar="R")
    ] = "edos",
    *,
    near: Annotated[
        float | None,
        Option("Also drop posts that are this alike, 0.3 to 1; try 0.8.", "--near-duplicates", metavar="T"),
    ] = None,
    funnel: Annotated[
        Path | None,
        Option("Where to save the funnel as .json; a picture (.svg) goes beside it.", metavar="F3"),
    ] = None,
    workers: Annotated[
        int | None, Option("How many processes work; one for each core when not given.", metavar="N")
    ] = None,
    reporter: Reporter = SILENT,
) -> Funnel:
    """Write what a recipe leaves of a file to `out`, and the funnel as JSON and SVG to `funnel`; return the funnel.

    `near` also drops near duplicates from this similarity on; `workers` is how many processes clean (None: one a core).
    """
    if workers is not None and workers < 1:
        raise UserError(f"--workers is {workers}; give at least 1.")
    source, target = as_source(file), str(out)
    chosen = add_near_duplicates(recipes.load(recipe) if isinstance(recipe, str) else recipe, near)
    refuse_input(target, source.path)
    for path in (target, funnel):
        if path is not None:
            require_writable(path)
    out_format = source.format if target == STDIO or not names_format(target) else None
    output_format(target, out_format)
    in_format = source.format if source.path == STDIO or not names_format(source.path) else None
    with tables.open_table(source.path, format=in_format, encoding=source.encoding) as table:
        posts = post_columns.as_posts(table, text=source.text, id=source.id)
        if not any(isinstance(step, DropDuplicates) and step.by == "id" for step in chosen.steps):
            post_columns.check_ids(posts)
        with tempfile.TemporaryDirectory(prefix="davy-clean-", ignore_cleanup_errors=True) as folder:
            reporter.begin(f"Cleaning {short_name(source.path)}", posts.rows)
            cleaned = run_recipe(
                _batches(posts),
                chosen,
                Path(folder),
                rows=posts.rows,
                workers=workers or usable_cores(),
                progress=reporter.advance,
            )
            reporter.end()
            done = _write(cleaned, posts, target, out_format)
    if funnel is not None:
        save_funnel(done, funnel)
    return done


def add_near_duplicates(recipe: CleaningRecipe, near: float | None) -> CleaningRecipe:
    """Return a recipe that also drops near duplicates from this similarity on; None leaves it as it is."""
    if near is None:
        return recipe
    try:
        step = DropNearDuplicates(near)
    except ValueError as error:
        raise UserError(f"--near-duplicates: {error}.") from None
    return replace(recipe, steps=(*recipe.steps, step))


def _batches(posts: FileTable) -> Iterator[pl.DataFrame]:
    with translate_errors(posts.name):
        yield from posts.frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")


def _write(cleaned: CleaningResult, posts: FileTable, out: str, format: str | None) -> Funnel:
    refuse_empty(cleaned.funnel)
    tables.write(cleaned.frames(), out, format=format, json=posts.json)
    return cleaned.funnel


def refuse_empty(funnel: Funnel) -> None:
    """Raise where a recipe left nothing, with the step that dropped most."""
    if not funnel.left:
        worst = max(funnel.rows, key=lambda row: row.dropped)
        raise UserError(
            f"The recipe leaves none of {funnel.came:,} posts, so nothing was written; "
            f"{worst.step} alone dropped {worst.dropped:,}. Is it the right recipe for these posts?"
        )


def save_funnel(funnel: Funnel, path: Path) -> None:
    """Write a funnel as JSON, and as a picture beside it."""
    write_json(path, funnel.to_dict())
    write_text(path.with_suffix(".svg"), funnel.plot().svg())
