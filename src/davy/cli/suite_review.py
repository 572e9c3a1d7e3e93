"""`davy suite issue` and `davy suite review`: validate a suite with people, round by round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy import schemes
from davy.actions.suite_source import load_suite
from davy.check import validation
from davy.cli import console
from davy.core.errors import UserError
from davy.files import tables
from davy.measure.intervals import Bootstrap
from davy.measure.verbal_scales import verbal_labels

if TYPE_CHECKING:
    import polars as pl

    from davy.check.validation import ValidationAnswer
    from davy.core import Question, Suite

Named = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name, or a YAML file.")]


def issue(
    name: Named,
    annotator: Annotated[list[str], typer.Option("--annotator", help="Who answers; repeat it, three are usual.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; each annotator gets NAME.csv in it.")],
    answers: Annotated[
        list[Path] | None,
        typer.Option("--answers", help="Files of earlier rounds, NAME.csv; what they answer is left out."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of each annotator's order.")] = 0,
) -> None:
    """Write a suite's cases for annotators, each in an order of their own and without the right label.

    They fill in `label`, and `unrealistic` with yes where nobody would write such a thing. With --answers only
    cases that are new or whose text has changed are written: a second round.

    Examples:

        davy suite issue mine.yaml --annotator ann --annotator ben --annotator cay --out round-1

        davy suite issue mine.yaml --annotator ann --answers round-1/ann.csv --out round-2
    """

    suite = load_suite(name)
    odd = [who for who in annotator if not who or Path(who).name != who]
    if odd or len(set(annotator)) < len(annotator):
        raise UserError("--annotator takes a plain name, each once: it becomes the name of a file.")
    known = _answers(answers or [], _question(suite))
    out.mkdir(parents=True, exist_ok=True)
    taken = [out / f"{who}.csv" for who in annotator if (out / f"{who}.csv").exists()]
    if taken:
        raise UserError(f"{taken[0]} is there already, and may hold answers. Choose another folder.")
    for who in annotator:
        cases = validation.issue_cases(suite, who, known, seed=seed)
        tables.write(cases.lazy(), out / f"{who}.csv")
        console.note(f"Wrote {len(cases):,} cases for {who} to {out / f'{who}.csv'}")
    console.note("They hold hateful sentences in clear. Give people breaks, and let them refuse.")


def review(
    name: Named,
    answers: Annotated[list[Path], typer.Argument(metavar="ANSWERS...", help="Filled files, NAME.csv, of all rounds.")],
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
    """

    suite = load_suite(name)
    given = _answers(answers, _question(suite))
    decided = validation.read_decisions(_table(decisions), str(decisions)) if decisions is not None else {}
    seen = validation.review_answers(suite, given, decided, bootstrap=Bootstrap(resamples, seed))
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


def _question(suite: Suite) -> Question:

    for scheme in schemes.names():
        for question in schemes.load(scheme).questions:
            if question.name == suite.question and set(question.label_names) == set(suite.labels):
                return question
    raise UserError(f"No scheme asks {suite.question!r} with the labels {' and '.join(suite.labels)}.")


def _answers(paths: list[Path], question: Question) -> list[ValidationAnswer]:

    return [one for path in paths for one in validation.read_answers(_table(path), path.stem, question, str(path))]


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
