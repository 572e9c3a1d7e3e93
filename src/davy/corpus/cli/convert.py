"""`davy convert`: one file of posts into another format, or a public corpus into posts."""

from __future__ import annotations

from typing import Annotated

from davy.core.errors import UserError
from davy.core.options import Option
from davy.corpus.convert import convert_file
from davy.files.formats import STDIO
from davy.files.tables import Conversion
from davy.shell import console
from davy.shell.verb_command import Run, verb_command


@verb_command(convert_file, "files out corpus answers format encoding text_column id_column json")
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

      davy convert gmhp7k/ --corpus gmhp7k --answers --out answers.parquet

      xzcat posts.jsonl.xz | davy convert - --format jsonl --out posts.csv
    """

    if json and out == STDIO:
        raise UserError("--json and --out - both want stdout. Write the posts to a file.")
    done = run()
    if json:
        value = {"rows": done.rows, "columns": done.columns, "seconds": round(done.seconds, 3), "out": done.out}
        console.json(value)
    console.note(f"{done.rows:,} rows in {done.seconds:.1f} s → {'stdout' if out == STDIO else out}")
