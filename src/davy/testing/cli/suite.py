"""`davy suite`: look at functional tests, check your own, and write them to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.core.errors import UserError, nearest
from davy.files import tables
from davy.files.atomic import require_folder_of, write_bytes, write_text
from davy.shell import console
from davy.testing import suites
from davy.testing.suite_source import FROM_FILES, load_suite
from davy.testing.suites.suite_editor import add_template, update_counts

if TYPE_CHECKING:
    from davy.testing.suite import Suite

app = typer.Typer(
    no_args_is_help=True,
    help="Look at functional tests, check your own, and write them to a file.\n\n"
    "A suite is a set of short cases that each have one right answer. Run one with: davy check",
)


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Named = Annotated[
    str, typer.Argument(metavar="SUITE", help="A shipped suite's name, a YAML file, or a public CSV file.")
]


@app.command("list")
def list_(json: Json = False) -> None:
    """List the suites that ship with Davy.

    Examples:

        davy suite list

        davy suite list --json
    """

    shipped = [suites.load(name) for name in suites.names()]
    if json:
        console.json([_summary(suite) for suite in shipped])
        return
    rows = [(s.name, s.version, s.lang, s.question, len(s.cases), len(s.functionalities), s.title) for s in shipped]
    console.table(
        ["suite", "version", "lang", "question", "cases", "parts", "what it is"],
        [*rows, *((name, "", "", "", "", "", what) for name, what in FROM_FILES.items())],
        right=["version", "cases", "parts"],
    )


@app.command()
def show(
    name: Named,
    counts: Annotated[bool, typer.Option("--counts", help="Print how many cases each cell has.")] = False,
    functionality: Annotated[str | None, typer.Option("--functionality", help="Only this functionality.")] = None,
    set_: Annotated[str | None, typer.Option("--case-set", help="Only this set, such as original or polarity.")] = None,
    target: Annotated[str | None, typer.Option("--identity", help="Only cases about this group.")] = None,
    limit: Annotated[int, typer.Option("--most", min=1, help="How many cases to print.")] = 20,
    lang: Annotated[str | None, typer.Option("--lang", help="Language of a public suite's file, such as de.")] = None,
    source: Annotated[bool, typer.Option("--yaml", help="Print the YAML file instead.")] = False,
    json: Json = False,
) -> None:
    """Show a suite's cases, masked, or how many there are.

    Examples:

        davy suite show emoji-en --counts

        davy suite show emoji-en --functionality append --case-set polarity --most 5

        davy suite show emoji-en --yaml > mine.yaml
    """

    if source:
        print(suites.path_of(name).read_text("utf-8"), end="")
        return
    suite = load_suite(name, lang=lang)
    for missing in suite.missing:
        console.note(f"Problem in the suite: {missing}")
    if suite.validation:
        console.note(suite.validation)
    if counts:
        _show_counts(suite, json)
        return
    wanted = {"functionality": functionality, "set": set_, "target": target}
    cases = [c for c in suite.cases if all(value is None or getattr(c, key) == value for key, value in wanted.items())]
    if not cases:
        raise UserError(_explain_empty(suite, wanted))
    shown = (lambda text: text) if console.settings.plain else suites.masker(suite)
    if json:
        console.json([_case(case, shown) for case in cases[:limit]])
        return
    heads = [head for head in ("functionality", "set", "target") if wanted[head] is None]
    rows = [(shown(c.text), c.expected, *(getattr(c, head) or "" for head in heads), c.id) for c in cases[:limit]]
    console.table(["text", "expected", *heads, "case"], rows)
    if len(cases) > limit:
        console.note(
            f"{limit} of {len(cases):,} cases. See more with --most, or write all: davy suite build {name} --out F.csv"
        )


@app.command()
def build(
    name: Named,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV, TSV, JSONL or Parquet file; - is stdout.")],
) -> None:
    """Write a suite's cases in HatemojiCheck's columns, texts in clear.

    Examples:

        davy suite build emoji-en --out emoji-en.csv
    """

    suite = load_suite(name)
    if suite.missing:
        raise UserError(f"{suite.missing[0]} Mend it first; see all: davy suite validate {name}")
    tables.write(suites.table(suite).lazy(), out)
    console.note(
        f"Wrote {len(suite.cases):,} cases to {out}. They hold hateful sentences in clear; never train on them."
    )


@app.command()
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Suites' YAML files, or shipped names.")],
    json: Json = False,
) -> None:
    """Check suite files and print every problem with its line. Exit code 2 if there is one.

    Examples:

        davy suite validate mine.yaml

        davy suite validate emoji-en --json
    """

    readings = [suites.read(file) for file in files]
    problems = [problem for reading in readings for problem in reading.problems]
    if json:
        console.json([{"file": it.file, "line": it.line, "message": it.message} for it in problems])
    else:
        for problem in problems:
            print(console.masked_text(str(problem)))
    if problems:
        many = "s" if len(problems) > 1 else ""
        raise UserError(f"{len(problems)} problem{many}. Mend and check again.")
    if not json:
        for file, reading in zip(files, readings, strict=True):
            suite = reading.suite
            if suite is not None:
                print(f"{file}: fine. Suite {suite.name!r}, version {suite.version}, {len(suite.cases):,} cases.")


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="Your suite's YAML file.")],
    functionality: Annotated[str, typer.Option("--functionality", help="Where the template goes.")],
    id: Annotated[str, typer.Option("--id", help="A new id for the template; case ids are made from it.")],
    text: Annotated[str, typer.Option("--template", help="The template, slots in braces.")],
    version: Annotated[
        list[str] | None,
        typer.Option("--perturbation", metavar="SET=TEXT", help="A perturbation, such as 'polarity=…'."),
    ] = None,
) -> None:
    """Add a template to your suite; the declared counts follow, other cases keep their ids.

    Examples:

        davy suite add mine.yaml --functionality praise --id praise-04 \\
            --template "I look up to {identity}" --perturbation "polarity=I look down on {identity}"
    """
    import tempfile

    template: dict[str, object] = {"id": id, "text": text}
    for each in version or []:
        name, equals, value = each.partition("=")
        if not equals:
            raise UserError(f"--perturbation {each!r} must be SET=TEXT, such as 'polarity=…'.")
        template[name.strip()] = value.strip()
    made = add_template(file, functionality, template)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".davy-") as folder:
        trial = Path(folder) / file.name
        for beside in file.parent.glob("*.lexicon"):
            (Path(folder) / beside.name).write_bytes(beside.read_bytes())
        trial.write_text(made, encoding="utf-8")
        final = update_counts(made, trial)
        trial.write_text(final, encoding="utf-8")
        reading = suites.read(trial)
    if reading.problems or reading.suite is None:
        raise UserError(f"The template does not fit: {reading.problems[0].message} Nothing was changed.")
    write_text(file, final)
    new = sum(case.template == id for case in reading.suite.cases)
    console.note(f"Added {id} to {file}: {new} cases more, {len(reading.suite.cases):,} in all.")


@app.command()
def suggest(
    text: Annotated[
        list[str], typer.Argument(help="A sentence with {mask} where words are wanted; several are averaged.")
    ],
    encoder: Annotated[str, typer.Option("--encoder", help="Folder or Hugging Face name of a masked language model.")],
    most: Annotated[int, typer.Option("--most", min=1, help="How many words.")] = 20,
    json: Json = False,
) -> None:
    """Suggest words for a template's slot with a masked language model; you choose which fit. It needs the extra train.

    Examples:

        davy suite suggest "I am a {mask} person." --encoder bert-base-uncased

        davy suite suggest "{mask} people are welcome" "We like {mask} people" --encoder ./encoder --most 50
    """
    from davy.detectors.masked_words import suggest_words

    words = suggest_words(text, encoder.removeprefix("hf:"), most=most)
    if json:
        console.json([{"word": one.word, "probability": round(one.probability, 6)} for one in words])
        return
    rows = [(console.masked_text(one.word), f"{one.probability:.4f}") for one in words]
    console.table(["word", "probability"], rows, right=["probability"])


@app.command()
def copy(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A shipped suite's name.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="YAML file to write; word lists go beside it.")],
    rename: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Name of the copy.")] = None,
    force: Annotated[bool, typer.Option("--replace", help="Write over files that are there.")] = False,
) -> None:
    """Copy a suite's YAML file and its word lists, as the start of your own.

    Examples:

        davy suite copy emoji-en --out mine.yaml --as mine
    """
    import re

    path = suites.path_of(name)
    text = path.read_text("utf-8")
    if rename is not None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", rename) or rename in suites.names():
            raise UserError(
                f"--as {rename!r} can't be the name. Write small letters, digits and hyphens; no shipped name."
            )
        text = re.sub(r"(?m)^name:.*$", f"name: {rename}", text, count=1)
    require_folder_of(out)
    beside = [path.parent / each for each in re.findall(r"file: ([\w.-]+\.lexicon)", text)]
    taken = [each for each in (out, *(out.parent / b.name for b in beside)) if each.exists()]
    if taken and not force:
        raise UserError(f"{taken[0]} exists. Write over it with --replace, or give another --out.")
    for each in beside:
        write_bytes(out.parent / each.name, each.read_bytes())
    write_text(out, text)
    console.note(f"Wrote {out}. Check it after each change: davy suite validate {out}")


def _summary(suite: Suite) -> dict[str, Any]:

    return {
        "name": suite.name,
        "version": suite.version,
        "hash": suite.digest,
        "title": suite.title,
        "lang": suite.lang,
        "question": suite.question,
        "labels": list(suite.labels),
        "functionalities": {name: suite.titled(name) for name in suite.functionalities},
        "counts": suites.counts(suite),
    }


def _case(case: Any, shown: Any) -> dict[str, Any]:
    keys = ("id", "functionality", "set", "target", "template", "pair", "test", "expected")
    return {**{key: getattr(case, key) for key in keys}, "text": shown(case.text)}


def _show_counts(suite: Suite, json: bool) -> None:

    counts = suites.counts(suite)
    if json:
        console.json(counts)
        return
    rows: list[list[Any]] = []
    for name, row in counts["cells"].items():
        rows.append([suite.titled(name), *(row.get(each, 0) for each in suite.sets), sum(row.values())])
    totals = [sum(row.get(each, 0) for row in counts["cells"].values()) for each in suite.sets]
    rows.append(["all", *totals, counts["cases"]])
    console.table(["functionality", *suite.sets, "all"], rows, right=[*suite.sets, "all"])
    for key in ("labels", "targets"):
        print(f"{key}: " + ", ".join(f"{name} {n:,}" for name, n in counts[key].items()))
    print(f"templates: {counts['templates']}   cases: {counts['cases']:,}   hash: {suite.digest}")


def _explain_empty(suite: Suite, wanted: dict[str, str | None]) -> str:

    known = {"functionality": suite.functionalities, "set": suite.sets, "target": suite.targets}
    for key, value in wanted.items():
        if value is not None and value not in known[key]:
            return f"No case has {key} {value!r}; there are {', '.join(known[key])}.{nearest(value, list(known[key]))}"
    return "No case has all of that together. Leave one option out."
