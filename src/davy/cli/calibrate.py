"""`davy calibrate`: temperatures and thresholds of a detector, set on posts with settled answers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from davy.cli import console
from davy.cli.options import Corpus, GoldColumns, TextColumn


def calibrate(
    model: Annotated[str, typer.Argument(metavar="M", help="A detector that has a folder: davy model list.")],
    file: Annotated[str, typer.Argument(metavar="F", help="Posts with Q.gold columns that it did not learn from.")],
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
    text_column: TextColumn = None,
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
    from davy.files.atomic import check_folder

    check_folder(out)
    scorer = load_scorer(model)
    posts, _ = select_split(load_posts(PostSource(file, corpus, text_column)).frame, split)
    with console.ShellReporter() as reporter:
        calibrated, found = run(
            scorer, posts, gold=gold or (), threshold=threshold, temperature=temperature, reporter=reporter
        )
    calibrated.save(out)
    if json:
        console.json({**asdict(found), "model": str(out)})
        return
    console.table(["question", "figure", "before", "after"], found.frame.rows(), right=["before", "after"])
    for name, value in found.temperatures.items():
        cut = f", threshold {found.thresholds[name]:.3g}" if name in found.thresholds else ""
        console.note(f"{name}: temperature {value:.3g}{cut} ({found.posts[name]:,} posts)")
    console.note(f"Written: {out}. Use it: davy score posts.csv --model {out}")
