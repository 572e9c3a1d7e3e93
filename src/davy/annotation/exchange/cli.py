"""`davy project export` and `davy project import`: a project in and out of other tools' files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from davy.annotation.exchange.exchange import ExportRequest, ImportRequest, export_survey, import_file
from davy.annotation.exchange.exchange import export_project as write
from davy.annotation.project.images import add_missing, pictures_in_folder
from davy.core.errors import UserError
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]


def export(
    project: Project,
    out: Annotated[Path, typer.Option("--out", help="File to write; what it holds appears whole or not at all.")],
    format: Annotated[
        str,
        typer.Option(
            "--exchange-format",
            help="long, corpus, label-studio, doccano, prodigy, argilla, crowd, huggingface or codabench.",
        ),
    ] = "long",
    phases: Annotated[
        str | None,
        typer.Option("--phase", help="Names with commas, or all.", show_default="what enters the corpus"),
    ] = None,
    question: Annotated[str | None, typer.Option("--question", help="Only this question.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Leave spreadsheet formulas in CSV and TSV as they are.")] = False,
    comments: Annotated[bool, typer.Option("--comments/--no-comments", help="With people's comments.")] = True,
    statement: Annotated[
        Path | None, typer.Option("--statement", help="Write the data statement here too, as Markdown.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images-out", help="Write the pictures into this new folder, with credits.csv.")
    ] = None,
    survey: Annotated[
        Path | None,
        typer.Option(
            "--survey", help="Write the survey's scales here, of people who allowed joining them with labels."
        ),
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Write a project's posts, everyone's answers and the verdicts to a file. People appear as pseudonyms only.

    `long` has a row an answer and a column a question, as .csv, .tsv, .jsonl or .parquet by the file's ending.
    Training stays out unless --phase names it. See docs/project/exchange.md for what each format can hold.

    Examples:

        davy project export pilot --out answers.csv

        davy agree answers.csv --id-column item --annotator-column annotator --gold hate --by phase

        davy project export pilot --exchange-format label-studio --phase all --out pilot.json

        davy project export pilot --exchange-format huggingface --out corpus

        davy project export memes --out memes.jsonl --images-out memes-pictures
    """

    wish = ExportRequest(project, format, phases, question, raw, comments)
    with open_store(database) as store, console.progress("Exporting") as step:
        wrote = write(store, wish, out, statement=statement, images=images, progress=_steps(step))
        surveyed = None if survey is None else export_survey(store, project, survey)
    figures = {"posts": wrote.posts, "answers": wrote.answers, "settled": wrote.settled, "annotators": wrote.annotators}
    if json:
        more = {"phases": list(wrote.phases), "flags": dict(wrote.flags)}
        console.json({"project": project, "format": format, "out": str(out), **figures, **more})
        return
    console.note(
        f"{wrote.posts:,} posts, {wrote.answers:,} answers by {wrote.annotators:,} annotators, "
        f"{wrote.settled:,} settled ({', '.join(wrote.phases)}) → {out}"
    )
    if surveyed is not None:
        console.note(f"{surveyed:,} answers of the survey, of those who allowed it → {survey}")
    if wrote.flags:
        flagged = ", ".join(f"{flag} {n:,}" for flag, n in wrote.flags.items())
        console.note(f"Flagged by more than half of a post's people: {flagged}.")


def corpus(
    project: Project,
    out: Annotated[Path, typer.Option("--out", help="File to write: .csv, .tsv, .jsonl or .parquet.")],
    phases: Annotated[
        str | None,
        typer.Option("--phase", help="Names with commas, or all.", show_default="what enters the corpus"),
    ] = None,
    question: Annotated[str | None, typer.Option("--question", help="Only this question.")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Write a project's settled posts as a corpus: one row a post, ready to train on.

    Q.gold is the settled answer, Q.basis how it was reached, Q.votes how many people gave which answer.
    The same as davy project export --exchange-format corpus.

    Examples:

        davy project corpus pilot --out corpus.parquet

        davy train corpus.parquet --scheme edos --encoder ./minilm --out runs/pilot
    """
    export(project, out, "corpus", phases, question, database=database, json=json)


def import_(
    project: Project,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What to read; a folder or zip for huggingface.")],
    format: Annotated[str, typer.Option("--exchange-format", help="As for export.")] = "long",
    phase: Annotated[
        str | None,
        typer.Option("--phase", help="Phase that takes everything.", show_default="the one that each answer names"),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", help="What a crowd table without the column asks.")
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", help="Put before every post's id.")] = "",
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="FIELD=C", help="What is where: item, annotator, phase, text, a question."),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option("--corpus", metavar="C", help="A public corpus whose answers these are: gmhp7k, edos.")
    ] = None,
    posts_only: Annotated[bool, typer.Option("--posts-only", help="Take posts, and leave the answers.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Don't take the apostrophe before a formula away.")] = False,
    images: Annotated[
        Path | None, typer.Option("--images", help="The folder with the pictures that came with the file.")
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Read posts, answers and verdicts of a file into a project: all of it, or nothing.

    Annotators keep the names of the file and get no account. A post that is there already must have the same text.
    Verdicts of the file count; where it has none, the project's rules settle what has all its answers.

    Examples:

        davy project import pilot answers.csv

        davy project import pilot misogynistic_hatespeech_phase2.csv --corpus gmhp7k

        davy project import pilot crowd.csv --column item=unit --column hate=is_hate --column pool=channel

        davy project import pilot tasks.json --exchange-format label-studio --phase 3

        davy project import pilot votes.csv --exchange-format crowd --question hate --phase 3

        davy project import pilot corpus --exchange-format huggingface --posts-only --phase 3 --prefix new-

        davy project import memes memes.jsonl --images memes-pictures
    """

    pictures = pictures_in_folder(images) if images is not None else None

    wish = ImportRequest(project, format, phase, question, prefix, posts_only, raw, _columns(column or ()), corpus)
    with open_store(database) as store, console.progress("Importing") as step:
        came = import_file(store, wish, file, by=events.SHELL, progress=_steps(step))
        figures = {"posts": came.posts, "known": came.known, "answers": came.answers, "verdicts": came.settled}
        if pictures is not None:
            figures["images"], missing = add_missing(store, project, pictures, by=events.SHELL)
            figures["missing_images"] = len(missing)
    if json:
        console.json({"project": project, "format": format, "file": str(file), **figures, "people": len(came.people)})
        return
    console.note(
        f"{came.posts:,} new posts, {came.known:,} known, {came.answers:,} answers by {len(came.people):,} annotators, "
        f"{came.settled:,} verdicts ← {file}"
    )
    if pictures is not None:
        console.note(f"{figures['images']:,} pictures ← {images}; {figures['missing_images']:,} are still missing.")


def _columns(given: Iterable[str]) -> dict[str, str]:
    """Return what is in which column, from NAME=COLUMN entries."""
    pairs = [entry.partition("=") for entry in given]
    for name, parted, column in pairs:
        if not (name and parted and column):
            raise UserError(f"--column wants NAME=COLUMN, such as item=tweet_id; got {name + parted + column!r}.")
    return {name: column for name, _, column in pairs}


def _steps(step: Any) -> Callable[[int, int], None]:
    """Return a function that takes how much is done and draws how much that is more than before."""
    done = 0

    def progress(now: int, _total: int) -> None:
        nonlocal done
        step(now - done)
        done = now

    return progress
