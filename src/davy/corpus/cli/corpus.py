"""`davy corpus`: which public corpora Davy reads, and how."""

from __future__ import annotations

from typing import Annotated

import typer

from davy.corpus.collect.corpora import describe, names
from davy.shell import console

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

    found = [describe(name) for name in names()]
    if json:
        console.json([_summary(one) for one in found])
        return
    rows = [(one.name, one.title, one.scheme, one.lang if not one.langs else "many", one.licence) for one in found]
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
