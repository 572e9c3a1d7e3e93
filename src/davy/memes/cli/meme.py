"""`davy meme`: source memes, the image library, drawing memes, the benchmark, training a meme model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from davy.annotation.project.images import Credit
from davy.core.options import Option
from davy.memes import image_library as actions
from davy.memes.make_benchmark import make_benchmark
from davy.memes.meme_render import render_meme, render_memes
from davy.memes.meme_train import MemeRuns, TrainedMemeRow, train_meme, train_meme_runs
from davy.memes.source_memes import read_memes
from davy.memes.store.image_library import LibraryImage
from davy.shell import console
from davy.shell.options import Database, Json
from davy.shell.verb_command import Run, verb_command
from davy.store import events, open_store

library_app = typer.Typer(no_args_is_help=True, help="Licensed pictures to build memes from: add, list, search.")

app = typer.Typer(
    no_args_is_help=True,
    help="Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark.",
)


@library_app.command()
def add(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder, or a table: image, words, licence, …")],
    licence: Annotated[str | None, typer.Option(help="Of pictures that have none in the table or credits.csv.")] = None,
    credit: Annotated[str | None, typer.Option(help="Who made the pictures.")] = None,
    origin: Annotated[str | None, typer.Option("--source", help="Where they are from, such as an address.")] = None,
    words: Annotated[str, typer.Option(help="Words that find all of these pictures.")] = "",
    database: Database = None,
) -> None:
    """Add pictures to the library, where every project may search and use them; all of them or none.

    File names and folders are words too. Pictures are written afresh: nothing but pixels is kept of a file.

    Examples:

      davy meme library add photos/ --licence CC0-1.0 --credit "A. Person"

      davy meme library add photos.csv
    """
    with open_store(database) as store, console.ShellReporter() as reporter:
        about = Credit(licence, credit, origin)
        new, given = actions.add_to_library(
            store, source, credit=about, words=words, by=events.SHELL, reporter=reporter
        )
    console.note(f"{new:,} of {given:,} pictures are new in the library.")


@library_app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List the library with licences and credits.

    Examples:

      davy meme library list
    """
    with open_store(database) as store:
        _show(actions.find_in_library(store, most=1_000_000), json=json)


@library_app.command()
def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What the picture shows; '' for all.")] = "",
    like: Annotated[
        Path | None, typer.Option(metavar="F", help="Those that look most like this picture first.")
    ] = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="How many to list.")] = 24,
    database: Database = None,
    json: Json = False,
) -> None:
    """Search the library by words, by likeness to a picture (colours and edges by place), or by both.

    Examples:

      davy meme library search "dog beach"

      davy meme library search --like meme.jpg
    """
    with open_store(database) as store:
        _show(actions.find_in_library(store, words, like=like, most=most), json=json)


def _show(rows: list[LibraryImage], *, json: bool) -> None:
    if json:
        console.json([_plain(row) for row in rows])
        return
    cells = [[row.key[:12], row.image.name, row.words, row.image.licence, row.image.credit] for row in rows]
    console.table(["key", "name", "words", "licence", "credit"], cells)
    console.note(f"{len(rows):,} pictures")


def _plain(row: LibraryImage) -> dict[str, Any]:
    about = {name: getattr(row.image, name) for name in ("name", "width", "height", "licence", "credit", "source")}
    return {"key": row.key, "words": row.words, **about}


FIGURES = {"auroc": "AUROC", "accuracy": "accuracy"}


@verb_command(train_meme, "data out images question row size seed seeds search set captions json")
def train(
    run: Run[TrainedMemeRow],
    out: Path,
    row: str,
    size: str,
    seed: int,
    seeds: Annotated[int, Option("Train with so many seeds, from --seed on, into OUT/seed-N.", min=1, metavar="N")] = 1,
    search: Annotated[
        list[str] | None,
        Option("Try these first, each with the others; dev chooses. 'paper': its ranges.", metavar="FIELD=V,V"),
    ] = None,
    json: Annotated[bool, Option("Print the figures as JSON.")] = False,
) -> None:
    """Train a meme model: picture and text in, hateful or not out.

    The rows are those of the Hateful Memes paper's Table 1. The checkpoint with the best AUROC on dev is kept; where a
    corpus has no test part, dev is measured and a tenth of train chooses. A training that was stopped goes on when the
    same command is given again. It needs the extras memes and train.

    Examples:

      davy meme benchmark --out benchmark/ --memes 4000

      davy meme train benchmark/ --row concat --out memes/concat

      davy meme train split.jsonl --images pictures/ --row text --out memes/text

      davy meme train split.jsonl --images pictures/ --search paper --seeds 3 --out memes/concat

      davy score --image meme.png --text "what it says" --model memes/concat
    """
    if seeds > 1 or search:
        with console.ShellReporter() as reporter:
            several = train_meme_runs(**run.arguments, seeds=seeds, search=search or (), reporter=reporter)
        if json:
            console.json(several.to_dict())
        else:
            _show_runs(several, out)
        return
    trained = run()
    if json:
        console.json(trained.to_dict())
        return
    rows = [(part, f"{each['auroc']:.3f}", f"{each['accuracy']:.3f}") for part, each in trained.figures.items()]
    console.table(["part", "AUROC", "accuracy"], rows, right=("AUROC", "accuracy"))
    console.note(f"{row}, {size}, seed {seed} → {out}")


def _show_runs(done: MemeRuns, out: Path) -> None:
    """Print what a search tried, each run, and the mean with its standard deviation."""
    if done.tried:
        rows = [(each["trial"], f"{each['auroc']:.3f}") for each in done.tried]
        console.table(["tried", "dev AUROC"], rows, right=("dev AUROC",))
    cells = [
        (str(run.seed), *(f"{run.figures[part][name]:.3f}" for part in ("dev", "test") for name in FIGURES))
        for run in done.runs
    ]
    means = [done.summary()[part][name] for part in ("dev", "test") for name in FIGURES]
    cells.append(("mean", *(f"{mean:.3f}" + (f" ± {sd:.3f}" if sd is not None else "") for mean, sd in means)))
    heads = [f"{part} {title}" for part in ("dev", "test") for title in FIGURES.values()]
    console.table(["seed", *heads], cells, right=heads)
    console.note(f"{out}/runs.json, {out}/seed-N")


app.add_typer(library_app, name="library")
app.command("train")(train)


@app.callback()
def meme() -> None:
    """Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark."""


@app.command()
@verb_command(read_memes, "source out images smallest near_pictures ignore_text json")
def read(run: Run[list[dict[str, Any]]], out: Path, json: Annotated[bool, Option("Print JSON.")] = False) -> None:
    """Read source memes: drop what is broken, too small, without text or there twice; keep the text that is read.

    A table (JSONL, CSV, Parquet) has a column image or img; its text, where there is one, is not read from the picture.
    What is left makes a project: posts.jsonl and img/. dropped.jsonl says why each other picture is not there, and
    funnel.json how many went at each step. Killed, the same command goes on.

    Examples:

      davy meme read downloads/ --out source/

      davy meme read memes.jsonl --images img/ --out source/ --ignore-text

      davy project create meme-construction --posts source/posts.jsonl --images source/img
    """
    funnel = run()
    if json:
        console.json({"out": str(out), "steps": funnel})
        return
    rows = [[step["step"], f"{step['dropped']:,}", f"{step['left']:,}", step["paper"]] for step in funnel]
    by_people = [["passed by people", "", "", "46,000"], ["in the data set", "", "", "10,000"]]
    console.table(
        ["step", "dropped", "left", "Hateful Memes"], [*rows, *by_people], right=["dropped", "left", "Hateful Memes"]
    )
    console.note(f"{funnel[-1]['left']:,} memes → {out}")


@app.command()
def render(
    layout: Annotated[
        Path, typer.Argument(metavar="LAYOUT", help="A layout as .json, or many as .jsonl (id, layout).")
    ],
    images: Annotated[Path, typer.Option(metavar="DIR", help="The folder that holds the layout's pictures.")],
    out: Annotated[Path, typer.Option(metavar="F", help="The .png or .svg to write; for a .jsonl, a folder.")],
    svg: Annotated[bool, typer.Option("--svg", help="For a .jsonl: write an SVG beside each PNG.")] = False,
) -> None:
    """Draw a meme from its layout: pictures, and boxes of text over them.

    The same renderer makes the workbench's memes. Its fonts and emoji come with Davy, so a layout looks the same on
    every machine. An SVG keeps the text as text.

    Examples:

      davy meme render meme.json --images pictures/ --out meme.png

      davy meme render memes.jsonl --images pictures/ --out memes/
    """
    if layout.suffix.lower() in (".jsonl", ".ndjson"):
        with console.ShellReporter() as reporter:
            n = render_memes(layout, images, out, svg=svg, reporter=reporter)
        console.note(f"{n:,} memes → {out}")
        return
    drawn = render_meme(layout, images, out)
    console.note(f"{drawn.width} × {drawn.height} pixels → {out}")


@app.command()
@verb_command(make_benchmark, "out memes seed")
def benchmark(run: Run[dict[str, int]], out: Path) -> None:
    """Draw a benchmark of memes that are mean or kind only by picture and text together.

    Harmless in content. Every mean meme has confounders on both sides, and every text and object stands on as many
    mean memes as kind ones: a model of one side is at chance, a model of both can reach an AUROC of 1. Files are in the
    shape of the Hateful Memes data: train.jsonl, dev.jsonl, test.jsonl, img/.

    Examples:

      davy meme benchmark --out benchmark/

      davy meme benchmark --out small/ --memes 2000 --seed 7
    """
    counts = run()
    console.note(f"{', '.join(f'{split} {n:,}' for split, n in counts.items())} → {out}")
