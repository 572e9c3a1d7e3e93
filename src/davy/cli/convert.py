"""`davy convert`: one file of posts into another format, or a public corpus into posts."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.actions.convert import convert_file
from davy.actions.posts import PostSource
from davy.cli import console
from davy.cli.options import Corpus, Encoding, PostFiles
from davy.core.errors import UserError
from davy.files.formats import STDIO
from davy.files.many_files import join_paths


def convert(
    files: PostFiles,
    out: Annotated[str, typer.Option("--out", metavar="F2", help="The file to write; '-' is stdout.")],
    corpus: Corpus = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="With --corpus: a row for each person's answer, of every phase.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The format where a name does not say it: csv, tsv, jsonl, parquet."),
    ] = None,
    encoding: Encoding = None,
    text_column: Annotated[
        str | None, typer.Option(metavar="C", help="The column with the text; becomes `text`.")
    ] = None,
    id_column: Annotated[str | None, typer.Option(metavar="C", help="The column with the ids; becomes `id`.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Convert a file of posts between CSV, TSV, JSONL and Parquet, without loss.

    The formats follow from the extensions (.gz, .xz and .bz2 too). Nothing is left behind when it fails.

    Examples:

      davy convert posts.jsonl --out posts.parquet

      davy convert part-1.csv part-2.csv --out posts.parquet

      davy convert tweets.csv --text-column tweet --id-column tweet_id --out posts.jsonl

      davy convert edos_labelled_aggregated.csv --corpus edos --out edos.parquet

      davy convert gmhp7k/ --corpus gmhp7k --answers --out answers.parquet

      xzcat posts.jsonl.xz | davy convert - --format jsonl --out posts.csv
    """

    if json and out == STDIO:
        raise UserError("--json and --out - both want stdout. Write the posts to a file.")
    with console.ShellReporter() as reporter:
        source = PostSource(join_paths(files), corpus, text_column, id_column, format, encoding)
        done = convert_file(source, out, answers=answers, reporter=reporter)
    if json:
        value = {"rows": done.rows, "columns": done.columns, "seconds": round(done.seconds, 3), "out": done.out}
        console.json(value)
    console.note(f"{done.rows:,} rows in {done.seconds:.1f} s → {'stdout' if out == STDIO else out}")
