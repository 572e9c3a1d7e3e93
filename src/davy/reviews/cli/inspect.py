"""`davy inspect`: two people read what every system misses, and wrong labels are mended in the next data version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.corpus.post_source import PostSource
from davy.evaluation import compare_systems as comparing
from davy.measure.intervals import Bootstrap
from davy.reviews import inspection
from davy.shell import console
from davy.shell.options import Corpus, Database, GoldColumns, Json

app = typer.Typer(
    no_args_is_help=True,
    help="Let two people read what every system misses, sum it up, and correct the labels that were wrong.\n\n"
    "Examples:\n\n  davy inspect create gold.csv -p predictions/ --question sexist --out queue\n\n"
    "  davy project create queue/project.yaml\n\n  davy inspect summary inspection-gold-csv-sexist",
)

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The inspection project's id.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]


@app.command()
def create(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The gold file with texts; or with --corpus.")],
    predictions: Annotated[
        list[Path], typer.Option("--predictions", "-p", metavar="F", help="As davy compare takes them; again for more.")
    ],
    out: Out,
    question: Annotated[str | None, typer.Option(metavar="Q", help="The question whose errors are read.")] = None,
    top: Annotated[int, typer.Option(metavar="K", min=1, help="What the best K systems all miss.")] = 10,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many posts, drawn by the seed.")] = 100,
    baseline: Annotated[
        list[str] | None, typer.Option("--baseline", metavar="NAME", help="A system that does not count.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(metavar="S", help="The scheme of the answers; else guessed.")] = None,
    corpus: Corpus = None,
    gold_column: GoldColumns = None,
    split: Annotated[str | None, typer.Option(metavar="[C=]NAME", help="Only this split of GOLD.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of the sample.")] = 0,
) -> None:
    """Write a project file and the posts that the best systems all miss; each side is a phase of its own.

    Examples:

      davy inspect create edos/ --corpus edos --split dev -p predictions/ --question sexist --out queue

      davy project create queue/project.yaml
    """
    source = PostSource(gold, corpus)
    marks = dict.fromkeys(baseline or [], "baseline")
    settings = comparing.ComparisonSettings(top=top, marks=marks, bootstrap=Bootstrap(resamples=0))
    with console.ShellReporter() as reporter:
        comparison = comparing.compare_systems(
            source,
            comparing.files_in(predictions),
            scheme=scheme,
            questions=[question] if question else [],
            split=split,
            columns=gold_column or [],
            settings=settings,
            reporter=reporter,
        )
        posts = comparing.gold_posts(source)
        items = inspection.write_inspection(comparison, posts, out, question=question, most=most, seed=seed)
    note_project(out, len(items))
    console.note("They are in clear in the files. Give people breaks, and let them refuse.")


@app.command()
def summary(project: Project, database: Database = None, json: Json = False) -> None:
    """Print whose errors they were: the systems' or the labels', by side, with grey areas, themes and the readers' κ.

    Examples:

      davy inspect summary inspection-gold-csv-sexist --json
    """
    from davy.store import open_store

    with open_store(database) as store:
        figures = inspection.summarise_inspection(store, project)
    if json:
        console.json(figures.to_dict())
        return
    for table in figures.tables():
        console.out().print(table.rich())


@app.command()
def review(
    project: Project,
    out: Out,
    scheme: Annotated[str, typer.Option(metavar="S", help="The scheme that the posts were labelled by.")],
    database: Database = None,
) -> None:
    """Write a project file with the posts whose label was found wrong, for experts to label again, blind.

    Examples:

      davy inspect review inspection-gold-csv-sexist --scheme edos --out review
    """
    from davy.store import open_store

    with open_store(database) as store:
        count = inspection.write_review(store, project, out, scheme=scheme)
    note_project(out, count)


@app.command()
def correct(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="The gold file: id and Q.gold.")],
    review: Annotated[
        Path, typer.Argument(metavar="REVIEW", help="The review's corpus: davy project corpus P --out F.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="F", help="The new version of GOLD; it must not exist.")],
    scheme: Annotated[str, typer.Option(metavar="S", help="The scheme of the answers.")],
    json: Json = False,
) -> None:
    """Write the next version of a gold file, with a review's answers in it, and print what changed.

    Examples:

      davy inspect correct gold.csv review.csv --scheme edos --out gold-2.csv
    """
    corrected = inspection.write_corrected(gold, review, out, scheme=scheme)
    if json:
        console.json(corrected.to_dict())
        return
    rows = [(it.id, it.question, it.before or "–", it.after or "–") for it in corrected.corrections]
    console.table(["id", "question", "before", "after"], rows, title=f"{len(rows):,} labels corrected")
    console.note(f"Written: {out}. Data {corrected.before} → {corrected.after}")


def note_project(out: Path, posts: int) -> None:
    """Say what was written, and what the project will be called: later commands ask for it by that name."""
    from davy.annotation.project.project_file import read_plan

    file = out / "project.yaml"
    name = read_plan(str(file)).name
    console.note(f"Written: {file} with {posts:,} posts. Next: davy project create {file}, which makes {name}")
