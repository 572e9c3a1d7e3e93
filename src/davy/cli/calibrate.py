"""`davy calibrate`: temperatures and thresholds of a detector, set on posts with settled answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy.cli import console
from davy.cli.options import Corpus, Encoding, GoldColumns, IdColumn, TextColumn

if TYPE_CHECKING:
    from davy.actions.calibrate import Calibration


def calibrate(
    model: Annotated[str, typer.Argument(metavar="M", help="A detector that has a folder: davy model list.")],
    files: Annotated[
        list[str], typer.Argument(metavar="F…", help="Posts with Q.gold columns that it did not learn from.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The new model folder.")],
    threshold: Annotated[
        str,
        typer.Option(metavar="RULE", help="macro-f1, precision=0.9, recall=0.9, cost=5 (a miss is worth 5 alarms)."),
    ] = "macro-f1",
    temperature: Annotated[
        bool, typer.Option("--temperature/--no-temperature", help="Temper the probabilities, or thresholds only.")
    ] = True,
    split: Annotated[str | None, typer.Option(metavar="[C=]NAME", help="Use this split only, such as dev.")] = None,
    gold: GoldColumns = None,
    corpus: Corpus = None,
    scheme: Annotated[str | None, typer.Option(metavar="S", help="The scheme of the answers; else guessed.")] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    encoding: Encoding = None,
    json: Annotated[bool, typer.Option("--json", help="Print before and after as JSON.")] = False,
) -> None:
    """Set a detector's temperatures and thresholds on posts, and print its figures before and after.

    A temperature makes 0.9 mean nine in ten; a threshold says from where on a yes/no question is a yes.

    Examples:

      davy calibrate mine/seed-1/model dev.csv --out mine-calibrated

      davy calibrate embedded-en edos/ --corpus edos --split dev --threshold precision=0.9 --out careful
    """
    from davy.actions.calibrate import calibrate as run
    from davy.actions.posts import PostSource, load_posts, select_split
    from davy.actions.scorers import load_scorer
    from davy.files.atomic import replaced_folder, require_empty_folder
    from davy.files.many_files import join_paths

    require_empty_folder(out)
    scorer = load_scorer(model)
    source = PostSource(join_paths(files), corpus, text_column, id_column, encoding=encoding)
    posts, _ = select_split(load_posts(source).frame, split)
    with console.ShellReporter() as reporter:
        calibrated, found = run(
            scorer,
            posts,
            gold=gold or (),
            scheme=scheme,
            threshold=threshold,
            temperature=temperature,
            reporter=reporter,
        )
    with replaced_folder(out) as draft:
        calibrated.save(draft)
    if json:
        console.json({**found.to_dict(), "model": str(out)})
        return
    show_calibration(found)
    console.note(f"Written: {out}. Use it: davy score posts.csv --model {out}")


def show_calibration(found: Calibration) -> None:
    """Print each question's numbers and figures before and after, and what to be wary of."""
    rows = [
        (question, figure, f"{before:.3f}", f"{after:.3f}", f"{found.posts[question]:,}")
        for question, figure, before, after in found.frame.iter_rows()
    ]
    console.table(["question", "figure", "before", "after", "posts"], rows, right=["before", "after", "posts"])
    for warning in found.warnings:
        console.note(f"Warning: {warning}")
