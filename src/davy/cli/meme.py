"""`davy meme`: source memes, the image library, drawing memes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions.memes import render_meme, render_memes
from davy.cli import console, meme_library

app = typer.Typer(
    no_args_is_help=True,
    help="Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark.",
)
app.add_typer(meme_library.app, name="library")


@app.callback()
def meme() -> None:
    """Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark."""


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
