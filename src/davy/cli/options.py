"""Options that several commands share, with the same words in each one's help."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.core.options import Option

PostFiles = Annotated[
    list[str],
    typer.Argument(metavar="F…", help="Posts: files, folders, patterns in quotes, as one table; '-' is stdin."),
]
SomePostFiles = Annotated[
    list[str] | None,
    typer.Argument(metavar="F…", help="Posts: files, folders, patterns in quotes, as one table; '-' is stdin."),
]
Corpus = Annotated[str | None, typer.Option(metavar="NAME", help="Read F as this public corpus: davy corpus list.")]
GoldColumns = Annotated[
    list[str] | None,
    typer.Option("--gold", metavar="[Q=]C", help="The column with the settled answers to Q, where it is not Q.gold."),
]
TextColumn = Annotated[str | None, typer.Option(metavar="C", help="The column with the text.")]
IdColumn = Annotated[str | None, typer.Option(metavar="C", help="The column with the ids.")]
Format = Annotated[
    str | None, typer.Option(metavar="NAME", help="The format where a name does not say it: csv, jsonl …")
]
EngineName = Annotated[str, Option("Where the work is done: local, or ray.", "--engine", metavar="NAME")]
ClusterAddress = Annotated[
    str | None,
    Option("The Ray cluster; auto finds the one that this machine belongs to.", "--address", metavar="HOST:PORT"),
]
ClusterWorkers = Annotated[
    int | None, Option("How many cores of the cluster work; all of them when not given.", "--workers", metavar="N")
]
Encoding = Annotated[str | None, typer.Option(help="The encoding of F, where it is not UTF-8 or UTF-16.")]
