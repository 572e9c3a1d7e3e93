"""Convert: a file of posts into another format, without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.corpus.collect import corpora
from davy.corpus.post_source import PostSource, as_source
from davy.files import tables
from davy.files.formats import names_format, output_format
from davy.files.input_paths import short_name
from davy.files.tables import Conversion


def convert_file(
    file: Annotated[
        PostSource | Path | str,
        Options(
            PostSource,
            {
                "format": "The format where a name does not say it: csv, tsv, jsonl, parquet.",
                "text_column": "The column with the text; becomes `text`.",
                "id_column": "The column with the ids; becomes `id`.",
            },
        ),
    ],
    out: Annotated[Path | str, Option("The file to write; '-' is stdout.", metavar="F2")],
    *,
    answers: Annotated[
        bool, Option("With --corpus: a row for each person's answer, of every phase.", "--each-answer")
    ] = False,
    reporter: Reporter = SILENT,
) -> Conversion:
    """Write the posts of a file or a public corpus to `out`; a name without a format has the source's.

    With `answers`, a public corpus is written with a row for each person's answer.
    """
    source, target = as_source(file), str(out)
    out_format = None if names_format(target) else source.format
    in_format = source.format if names_format(target) or not names_format(source.path) else None
    output_format(target, out_format)
    if answers and not source.corpus:
        raise UserError(
            "--each-answer needs --corpus: which of its columns are answers, only a corpus's description says."
        )
    reporter.begin(f"Converting {short_name(source.path)}")
    if source.corpus:
        for option, value in (
            ("--encoding", source.encoding),
            ("--text-column", source.text),
            ("--id-column", source.id),
        ):
            if value is not None:
                raise UserError(f"--corpus knows the file's columns and encoding: leave out {option}.")
        table = corpora.load(source.corpus, source.path, answers=answers).table
        done = tables.copy(table, target, source=source.path, format=out_format, progress=reporter.advance)
    else:
        done = tables.convert(
            source.path,
            target,
            format=in_format,
            out_format=out_format,
            encoding=source.encoding,
            text=source.text,
            id=source.id,
            progress=reporter.advance,
        )
    reporter.end()
    return done
