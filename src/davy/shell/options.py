"""Options that several commands share, with the same words in each one's help."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.core.options import Option

Corpus = Annotated[str | None, typer.Option(metavar="NAME", help="Read F as this public corpus: davy corpus list.")]
GoldColumns = Annotated[
    list[str] | None,
    typer.Option("--gold", metavar="[Q=]C", help="The column with the settled answers to Q, where it is not Q.gold."),
]
EngineName = Annotated[str, Option("Where the work is done: local, or ray.", "--engine", metavar="NAME")]
ClusterAddress = Annotated[
    str | None,
    Option("The Ray cluster; auto finds the one that this machine belongs to.", "--address", metavar="HOST:PORT"),
]
ClusterWorkers = Annotated[
    int | None, Option("How many cores of the cluster work; all of them when not given.", "--workers", metavar="N")
]

Database = Annotated[
    str | None,
    typer.Option("--database", help="Database URL.", envvar="DAVY_DATABASE", show_default="sqlite:///davy.sqlite"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print the tables as LaTeX, for booktabs.")]
