"""`davy suite project`, `issue` and `review`: validate a suite with people, in the workbench or by files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy import schemes
from davy.core.errors import UserError
from davy.files import tables
from davy.measure.agreement import verbal_labels
from davy.measure.intervals import Bootstrap
from davy.reviews import suite_validation
from davy.shell import console
from davy.shell.options import Database
from davy.store import events, open_store
from davy.testing.suite_source import load_suite

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Question
    from davy.reviews.suite_validation import ValidationAnswer
    from davy.testing.suite import Suite

Named = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name, or a YAML file.")]


Workbench = Annotated[
    str | None, typer.Option("--project", metavar="PROJECT", help="A project of the workbench, not files.")
]


def project(
    name: Named,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for project.yaml and posts.csv.")],
) -> None:
    """Write the project file and the posts with which three people validate a suite in the workbench.

    Everybody labels every case, without the right label. Any disagreement, and any case that somebody calls
    unrealistic, goes to an expert, who decides or drops it. `davy suite review --project` then says what to reword.

    Examples:

        davy suite project emoji-de --out validation

        davy project create validation/project.yaml --posts validation/posts.csv
    """
    suite = load_suite(name)
    plan, posts = suite_validation.write_validation_project(suite, _scheme_and_question(suite)[0], out)
    console.note(f"Wrote {plan} and {posts}, {len(suite.cases):,} cases in clear.")
    console.note(f"Next: davy project create {plan} --posts {posts}")


def issue(
    name: Named,
    annotator: Annotated[
        list[str] | None, typer.Option("--annotator", help="Who answers; repeat it, three are usual.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; each annotator gets NAME.csv in it.")] = None,
    project: Workbench = None,
    database: Database = None,
    answers: Annotated[
        list[Path] | None,
        typer.Option("--earlier-answers", help="Files of earlier rounds, NAME.csv; what they answer is left out."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of each annotator's order.")] = 0,
) -> None:
    """Write a suite's cases for annotators, each in an order of their own and without the right label.

    They fill in `label`, and `unrealistic` with yes where nobody would write such a thing. With --earlier-answers only
    cases that are new or whose text has changed are written: a second round.

    Examples:

        davy suite issue mine.yaml --annotator ann --annotator ben --annotator cay --out round-1

        davy suite issue mine.yaml --annotator ann --earlier-answers round-1/ann.csv --out round-2

        davy suite issue mine.yaml --project mine-validation
    """

    suite = load_suite(name)
    if project is not None:
        with open_store(database) as store:
            added = suite_validation.issue_again(store, project, suite, by=events.SHELL)
        console.note(f"{added:,} cases are new or reworded, and now wait in project {project!r}.")
        return
    if not annotator or out is None:
        raise UserError("Say who answers and where their files go (--annotator NAME --out FOLDER), or --project NAME.")
    odd = [who for who in annotator if not who or Path(who).name != who]
    if odd or len(set(annotator)) < len(annotator):
        raise UserError("--annotator takes a plain name, each once: it becomes the name of a file.")
    known = _answers(answers or [], _question(suite))
    out.mkdir(parents=True, exist_ok=True)
    taken = [out / f"{who}.csv" for who in annotator if (out / f"{who}.csv").exists()]
    if taken:
        raise UserError(f"{taken[0]} is there already, and may hold answers. Choose another folder.")
    for who in annotator:
        cases = suite_validation.issue_cases(suite, who, known, seed=seed)
        tables.write(cases.lazy(), out / f"{who}.csv")
        console.note(f"Wrote {len(cases):,} cases for {who} to {out / f'{who}.csv'}")
    console.note("They hold hateful sentences in clear. Give people breaks, and let them refuse.")


def review(
    name: Named,
    answers: Annotated[
        list[Path] | None, typer.Argument(metavar="ANSWERS...", help="Filled files, NAME.csv, of all rounds.")
    ] = None,
    project: Workbench = None,
    database: Database = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV of cases to look at; fill in `fault`.")] = None,
    decisions: Annotated[
        Path | None, typer.Option("--decisions", help="A review file with `fault` filled in: case or annotator.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap resamples of κ.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read annotators' answers: how far they agree, and which cases to look at.

    A reviewer fills `fault` in the file that --out writes: `case` where the case is ambiguous or unrealistic,
    `annotator` where it is not. Change the templates of the first kind, then issue again.

    Examples:

        davy suite review mine.yaml round-1/*.csv --out review.csv

        davy suite review mine.yaml round-1/*.csv round-2/*.csv --decisions review.csv --out review-2.csv

        davy suite review mine.yaml --project mine-validation
    """

    suite = load_suite(name)
    given, decided = _read_answers(suite, answers or [], decisions, project, database)
    seen = suite_validation.review_answers(suite, given, decided, bootstrap=Bootstrap(resamples, seed))
    if out is not None:
        _write(seen.rows, out)
    if json:
        console.json(
            {
                "cases": len(suite.cases),
                "answered": seen.answered,
                "stale": seen.stale,
                "to review": len(seen.rows),
                "undecided": seen.open,
                "replace": seen.replace,
                "randolph": seen.kappa.to_dict(),
            }
        )
        return
    print(f"{seen.answered:,} of {len(suite.cases):,} cases have everybody's answer")
    if seen.stale:
        print(f"{seen.stale:,} answers are to texts that have changed since, and do not count")
    print(f"{len(seen.rows):,} cases to look at, {seen.open:,} of them undecided")
    for template, cases in seen.replace.items():
        print(f"replace {template}: {len(cases)} cases at fault")
    words = verbal_labels(seen.kappa.value)
    print(f"Randolph's κ {seen.kappa}" + (f", {words['landis-koch']} (Landis & Koch)" if words else ""))
    print(f"percent agreement {seen.percent}")


def _read_answers(
    suite: Suite, files: list[Path], decisions: Path | None, project: str | None, database: str | None
) -> tuple[list[ValidationAnswer], dict[tuple[str, str], str]]:
    """Return people's answers and a reviewer's decisions: from the workbench, or from files."""
    if project is not None:
        if files or decisions is not None:
            raise UserError("Give files or --project, not both: a project has its experts' decisions with it.")
        with open_store(database) as store:
            return suite_validation.read_project(store, project, suite)
    if not files:
        raise UserError("Give the files that annotators filled in, or --project NAME.")
    decided = suite_validation.read_decisions(_table(decisions), str(decisions)) if decisions is not None else {}
    return _answers(files, _question(suite)), decided


def _question(suite: Suite) -> Question:
    return _scheme_and_question(suite)[1]


def _scheme_and_question(suite: Suite) -> tuple[str, Question]:
    """Return the shipped scheme that asks a suite's question, the one with the fewest others, and the question."""
    for scheme in sorted(map(schemes.load, schemes.names()), key=lambda scheme: len(scheme.questions)):
        for question in scheme.questions:
            if question.name == suite.question and set(question.label_names) == set(suite.labels):
                return scheme.name, question
    raise UserError(f"No scheme asks {suite.question!r} with the labels {' and '.join(suite.labels)}.")


def _answers(paths: list[Path], question: Question) -> list[ValidationAnswer]:
    read = suite_validation.read_answers
    return [answer for path in paths for answer in read(_table(path), path.stem, question, str(path))]


def _table(path: Path) -> pl.DataFrame:
    import polars as pl

    with tables.open_table(path) as table:
        return table.frame.select(pl.all().cast(pl.String)).collect()


def _write(rows: tuple[dict[str, str], ...], out: Path) -> None:
    import polars as pl

    if not rows:
        console.note("No case needs a look, so no file was written.")
        return
    tables.write(pl.DataFrame(list(rows)).lazy(), out)
    console.note(f"Wrote {len(rows):,} cases to {out}. Fill in `fault`: case or annotator.")
