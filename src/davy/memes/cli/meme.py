"""`davy meme`: source memes, the image library, drawing memes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from davy.core.options import Option
from davy.memes.cli import library as meme_library
from davy.memes.cli import train as meme_train
from davy.memes.make_benchmark import make_benchmark
from davy.memes.meme_reading import read_memes
from davy.memes.render_memes import render_meme, render_memes
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

app = typer.Typer(
    no_args_is_help=True,
    help="Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark.",
)
app.add_typer(meme_library.app, name="library")
app.command("train")(meme_train.train)


@app.callback()
def meme() -> None:
    """Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark."""


@app.command()
@verb_command(read_memes, "source out images smallest near ignore_text json")
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
@verb_command(make_benchmark, "out size seed")
def benchmark(run: Run[dict[str, int]], out: Path) -> None:
    """Draw a benchmark of memes that are mean or kind only by picture and text together.

    Harmless in content. Every mean meme has confounders on both sides, and every text and object stands on as many
    mean memes as kind ones: a model of one side is at chance, a model of both can reach an AUROC of 1. Files are in the
    shape of the Hateful Memes data: train.jsonl, dev.jsonl, test.jsonl, img/.

    Examples:

      davy meme benchmark --out benchmark/

      davy meme benchmark --out small/ --size 2000 --seed 7
    """
    counts = run()
    console.note(f"{', '.join(f'{split} {n:,}' for split, n in counts.items())} → {out}")
