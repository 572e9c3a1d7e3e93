"""`davy scheme`: look at the schemes, check your own, and start one from a copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy import schemes
from davy.core.errors import UserError
from davy.core.question_kind import QUESTION_KINDS
from davy.files.atomic import write_text
from davy.shell import console

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from davy.core import Label, Question, Scheme

app = typer.Typer(
    no_args_is_help=True,
    help="Look at the schemes, check your own, and start one from a copy.\n\n"
    "A scheme is the set of questions that people and detectors answer about a post.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NameOrFile = Annotated[str, typer.Argument(metavar="NAME", help="A shipped scheme's name, or the path of a YAML file.")]


@app.command("list")
def list_(json: Json = False) -> None:
    """List the schemes that ship with Davy.

    Examples:

        davy scheme list

        davy scheme list --json
    """

    listed = [schemes.load(name) for name in schemes.names()]
    if json:
        console.json([_summary(scheme) for scheme in listed])
        return
    rows = [
        (s.name, s.version, ", ".join(q.name for q in s.questions), " ".join(s.languages), s.title.said_in("en"))
        for s in listed
    ]
    console.table(["scheme", "version", "questions", "languages", "what it is"], rows, right=["version"])


@app.command()
def show(
    name: NameOrFile,
    lang: Annotated[str, typer.Option("--lang", help="Language of the wording, such as en or de.")] = "en",
    guideline: Annotated[bool, typer.Option("--guideline", help="Show the guideline in force instead.")] = False,
    json: Json = False,
) -> None:
    """Show a scheme as a tree: questions, labels with their codes, definitions.

    Examples:

        davy scheme show edos

        davy scheme show gmhp7k --lang de --guideline

        davy scheme show my-scheme.yaml --json
    """

    scheme = schemes.load(name)
    if json:
        console.json({**schemes.to_dict(scheme), "digest": schemes.digest(scheme)})
        return
    if scheme.languages and lang not in scheme.languages:
        console.note(f"{scheme.name} is not all worded in {lang!r}, only in {', '.join(scheme.languages)}.")
    if guideline:
        _print_guideline(scheme, lang)
    else:
        _print_scheme(scheme, lang)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="YAML files to check.")],
    json: Json = False,
) -> None:
    """Check scheme files and print every problem with its line. Exit code 2 if there is one.

    Examples:

        davy scheme check my-scheme.yaml

        davy scheme check schemes/*.yaml --json
    """

    problems = [problem for file in files for problem in _problems(file)]
    if json:
        console.json(problems)
    else:
        for problem in problems:
            where = f"{problem['file']}:{problem['line']}" if problem["line"] else problem["file"]
            print(f"{where}: {console.masked_text(str(problem['message']))}")
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        spoilt = len({problem["file"] for problem in problems})
        many = "s" if len(files) > 1 else ""
        raise UserError(f"{count} in {spoilt} of {len(files)} file{many}. Mend and check again.")
    if not json:
        for file in files:
            scheme = schemes.read(file)
            asked = ", ".join(question.name for question in scheme.questions)
            print(f"{file}: fine. Scheme {scheme.name!r}, version {scheme.version}, asks {asked}.")


def _problems(file: Path) -> list[dict[str, str | int | None]]:
    """Return what is wrong with a file; one that can't be read at all has a problem without a line."""

    try:
        return [{"file": it.file, "line": it.line, "message": it.message} for it in schemes.check(file)]
    except UserError as error:
        return [{"file": str(file), "line": None, "message": error.message}]


@app.command()
def copy(
    name: NameOrFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write; - for the screen.")],
    rename: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Name of the copy.")] = None,
) -> None:
    """Copy a scheme's YAML file, comments and all, as the start of your own.

    Examples:

        davy scheme copy edos --out mine.yaml --as mine
    """

    text = schemes.text_of(name).decode("utf-8", errors="replace")
    if rename is not None:
        text = schemes.renamed(text, rename)
    if str(out) == "-":
        print(text, end="")
        return
    if out.is_dir():
        raise UserError(f"{out} is a folder. Give the file to write.")
    write_text(out, text)
    console.note(f"Wrote {out}. Check it after each change: davy scheme check {out}")


def _summary(scheme: Scheme) -> dict[str, object]:

    return {
        "name": scheme.name,
        "version": scheme.version,
        "title": scheme.title.said_in("en"),
        "questions": {question.name: len(question.labels) for question in scheme.questions},
        "languages": list(scheme.languages),
        "guideline": scheme.guideline.version if scheme.guideline else None,
        "source": scheme.source,
        "digest": schemes.digest(scheme),
    }


def _print_guideline(scheme: Scheme, lang: str) -> None:
    if scheme.guideline is None:
        raise UserError(f"Scheme {scheme.name!r} has no guideline. Add one under `guidelines:` in its file.")
    print(f"{scheme.name}, guideline {scheme.guideline.version}")
    print(f"Warning: {console.masked_text(scheme.warning.said_in(lang))}\n" if scheme.warning else "")
    print(console.masked_text(scheme.guideline.text.said_in(lang)))


def _print_scheme(scheme: Scheme, lang: str) -> None:
    from rich.text import Text

    out = console.out()
    out.print(Text.assemble((scheme.name, "bold"), f", version {scheme.version}: ", scheme.title.said_in(lang)))
    if scheme.warning:
        out.print(Text.assemble(("Warning: ", "yellow"), console.masked_text(scheme.warning.said_in(lang))))
    if scheme.description:
        out.print(Text(console.masked_text(scheme.description.said_in(lang))))
    for question in scheme.questions:
        if question.under is None:
            out.print()
            out.print(_branch(scheme, question, lang), soft_wrap=False)  # a tree is cut off, not wrapped, otherwise
    out.print()
    if scheme.guideline:
        out.print(Text(f"Guideline {scheme.guideline.version}: davy scheme show {scheme.name} --guideline", "dim"))
    out.print(Text(f"After: {scheme.source}", "dim"))


def _branch(scheme: Scheme, question: Question, lang: str, above: Label | None = None) -> Tree:
    """Return a question with its labels; beneath each label the questions that only it leads to."""
    from rich.text import Text
    from rich.tree import Tree

    title = Text(question.name, "bold cyan")
    if above is None or not any(
        label.under for label in question.labels
    ):  # else it stands under each label: say it short
        title.append("  " + console.masked_text(question.title.said_in(lang)), "bold")
        title.append(f"  {_how(question, above)}", "dim")
        title.append("\n" + console.masked_text(question.definition.said_in(lang)) if question.definition else "")
    tree = Tree(title, guide_style="dim")
    groups: dict[str, Tree] = {}
    children = [child for child in scheme.questions if child.under and child.under[0] == question.name]
    for label in question.labels:
        if above and label.under and above.name not in label.under:
            continue
        if label.group and label.group not in groups:
            groups[label.group] = tree.add(Text(label.group, "italic"))
        leaf = groups.get(label.group or "", tree).add(_leaf(label, lang))
        for child in children:
            if child.under and label.name in child.under[1] and _splits(child):
                leaf.add(_branch(scheme, child, lang, label))
    for child in children:
        if not _splits(child):
            tree.add(_branch(scheme, child, lang))
    return tree


def _splits(question: Question) -> bool:
    """Return whether a question reads best beneath each label that leads to it."""
    if question.under is None:
        return False
    return len(question.under[1]) == 1 or any(label.under for label in question.labels)


def _how(question: Question, above: Label | None) -> str:
    """Return in a few words how the question is answered."""
    parts = [QUESTION_KINDS[question.kind].summary]
    if question.open:
        parts.append("open list")
    if question.derived:
        parts = [f"follows from {question.derived[0]}"]
    if question.under and above is None:
        parts.append(f"asked where {question.under[0]} is {' or '.join(question.under[1])}")
    return f"({', '.join(parts)})"


def _leaf(label: Label, lang: str) -> Text:
    from rich.text import Text

    text = Text()
    if label.code:
        text.append(f"{label.code} ", "cyan")
    text.append(console.masked_text(label.name), "bold")
    title = label.title.said_in(lang)
    if title and title.casefold() != label.name.casefold():
        text.append(f" ({console.masked_text(title)})")
    if label.priority:
        text.append("  priority", "yellow")
    if label.of:
        text.append(f"  {'both ' if len(label.of) > 1 else 'some of '}{' and '.join(label.of)}", "dim")
    text.append("\n" + console.masked_text(label.definition.said_in(lang)) if label.definition else "")
    for example in label.examples:
        text.append(f"\n“{console.masked_text(example.said_in(lang))}”", "italic dim")
    return text
