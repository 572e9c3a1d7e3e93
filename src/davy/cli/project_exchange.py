"""`davy project export` and `davy project import`: a project in and out of other tools' files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.cli import console
from davy.cli.database import Database, Json

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]


def export(
    project: Project,
    out: Annotated[Path, typer.Option("--out", help="File to write; what it holds appears whole or not at all.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="long, label-studio, doccano, prodigy, argilla, crowd, huggingface or codabench.",
        ),
    ] = "long",
    phases: Annotated[
        str | None,
        typer.Option("--phases", help="Names with commas, or all.", show_default="what enters the corpus"),
    ] = None,
    question: Annotated[str | None, typer.Option("--question", help="Only this question.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Leave spreadsheet formulas in CSV and TSV as they are.")] = False,
    comments: Annotated[bool, typer.Option("--comments/--no-comments", help="With people's comments.")] = True,
    database: Database = None,
    json: Json = False,
) -> None:
    """Write a project's posts, everyone's answers and the verdicts to a file. People appear as pseudonyms only.

    `long` has a row an answer and a column a question, as .csv, .tsv, .jsonl or .parquet by the file's ending.
    Training stays out unless --phases names it. See docs/exchange.md for what each format can hold.

    Examples:

        davy project export pilot --out answers.csv

        davy agree answers.csv --item item --annotator annotator --label hate --by phase

        davy project export pilot --format label-studio --phases all --out pilot.json

        davy project export pilot --format huggingface --out corpus
    """
    from davy.serve.exchange import Wish
    from davy.serve.exchange import export as write
    from davy.store import open_store

    wish = Wish(project, format, phases, question, raw, comments)
    done = 0
    with open_store(database) as store, console.progress("Exporting") as step:

        def progress(now: int, _total: int) -> None:
            nonlocal done
            step(now - done)
            done = now

        wrote = write(store, wish, out, progress=progress)
    figures = {"posts": wrote.posts, "answers": wrote.answers, "settled": wrote.settled, "annotators": wrote.annotators}
    if json:
        console.json({"project": project, "format": format, "out": str(out), **figures, "phases": list(wrote.phases)})
        return
    console.note(
        f"{wrote.posts:,} posts, {wrote.answers:,} answers by {wrote.annotators:,} annotators, "
        f"{wrote.settled:,} settled ({', '.join(wrote.phases)}) → {out}"
    )
