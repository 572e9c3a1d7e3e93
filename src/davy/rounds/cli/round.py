"""`davy round`: rounds of people against a detector."""

from __future__ import annotations

import typer

app = typer.Typer(
    no_args_is_help=True,
    help="Rounds of people against a detector: open, close, look at the story so far, replay recorded ones.",
)


@app.callback()
def round_() -> None:
    """Rounds of people against a detector: open, close, look at the story so far, replay recorded ones."""
