"""`davy corpus`: which public corpora Davy reads. `davy convert`: a file of posts, or a corpus, in another format."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.core.errors import UserError
from davy.core.options import Option
from davy.corpus.collect.corpora import describe, names
from davy.corpus.convert import convert_file
from davy.files.formats import STDIO
from davy.files.tables import Conversion
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

app = typer.Typer(
    no_args_is_help=True,
    help="Look at the public corpora that Davy reads by name.\n\n"
    "Examples:\n\n  davy corpus list\n\n  davy corpus show hatemojibuild",
)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the corpora that `davy convert --corpus NAME` reads.

    Examples:

      davy corpus list
    """

    descriptions = [describe(name) for name in names()]
    if json:
        console.json([_summary(one) for one in descriptions])
        return
    rows = [
        (one.name, one.title, one.scheme, one.lang if not one.langs else "many", one.licence) for one in descriptions
    ]
    console.table(["name", "what", "scheme", "lang", "licence"], rows)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The corpus: see davy corpus list.")],
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show a corpus: its files, columns, questions, licence and what to cite.

    Examples:

      davy corpus show edos
    """

    about = describe(name)
    if json:
        console.json(_summary(about))
        return
    labels = ", ".join(f"{where.column} → {question}.gold" for question, where in about.labels.items())
    parent = " or ".join(about.parent.columns) if about.parent else "none"
    rows = [
        ("what", about.title),
        ("scheme", about.scheme),
        ("language", ", ".join(about.langs.values()) + f", else {about.lang}" if about.langs else about.lang),
        ("licence", about.licence),
        ("cite", about.citation),
        ("files", ", ".join(about.files)),
        ("id", " or ".join(about.id) or "made from file name and row"),
        ("text", about.text),
        ("labels", labels),
        ("split", about.split or ("from the file's name" if about.splits else "none")),
        ("parent", parent),
        ("note", about.note),
    ]
    console.table([name, ""], rows)
    console.note(f"Read it with: davy convert FILE_OR_FOLDER --corpus {name} --out {name}.parquet")


def _summary(about: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(about)  # type: ignore[call-overload, no-any-return]


@verb_command(convert_file, "files out corpus each_answer format encoding text_column id_column json")
def convert(
    run: Run[Conversion],
    out: str,
    json: Annotated[bool, Option("Print what was done as JSON.")] = False,
) -> None:
    """Convert a file of posts between CSV, TSV, JSONL and Parquet, without loss.

    The formats follow from the extensions (.gz, .xz and .bz2 too). Nothing is left behind when it fails.

    Examples:

      davy convert posts.jsonl --out posts.parquet

      davy convert part-1.csv part-2.csv --out posts.parquet

      davy convert tweets.csv --text-column tweet --id-column tweet_id --out posts.jsonl

      davy convert edos_labelled_aggregated.csv --corpus edos --out edos.parquet

      davy convert gmhp7k/ --corpus gmhp7k --each-answer --out answers.parquet

      xzcat posts.jsonl.xz | davy convert - --format jsonl --out posts.csv
    """

    if json and out == STDIO:
        raise UserError("--json and --out - both want stdout. Write the posts to a file.")
    done = run()
    if json:
        value = {"rows": done.rows, "columns": done.columns, "seconds": round(done.seconds, 3), "out": done.out}
        console.json(value)
    console.note(f"{done.rows:,} rows in {done.seconds:.1f} s → {'stdout' if out == STDIO else out}")
