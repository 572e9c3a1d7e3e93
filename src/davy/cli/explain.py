"""`davy explain`: do a detector's explanations name the words that people marked?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions import explanations as action
from davy.actions.posts import PostSource
from davy.cli import console
from davy.cli.options import Encoding, Format, IdColumn, PostFiles, TextColumn
from davy.files.atomic import require_folder_of, write_json
from davy.files.many_files import join_paths
from davy.measure.intervals import Bootstrap

TITLES = {"token_f1": "token F1", "iou_f1": "IoU F1", "auprc": "AUPRC"}


def explain(
    files: PostFiles,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="M", help="A detector to measure; again for more.")
    ] = None,
    marks: Annotated[
        str, typer.Option("--marks", metavar="C", help="Column of the words that people marked, such as 12-17|20-25.")
    ] = action.MARKS,
    question: Annotated[
        str | None,
        typer.Option("--question", metavar="Q", help="Explain this question; else what decides the verdict."),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: Format = None,
    encoding: Encoding = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="How many resamples an interval rests on.")] = 1000,
    seed: Annotated[int, typer.Option(help="The seed of the resamples and of the random words.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="F.json", help="Write the figures as JSON.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure whether the words of `davy score --explain` are those that people marked.

    Posts with marked words (rationales), such as `davy project corpus` writes them for a question of kind `spans`. For
    each detector: token F1, IoU F1 and AUPRC, as ERASER defines them, beside words drawn at random. As many words count
    as chosen as people mark on average. To see explanations, use davy score --explain.

    Examples:

      davy explain corpus.csv --model embedded-en --model embedded-en-large

      davy explain posts.jsonl --model embedded-de --question hate --marks words.gold --json
    """
    if out is not None:
        require_folder_of(out)
    with console.ShellReporter() as reporter:
        found = action.measure_explanations(
            PostSource(join_paths(files), None, text_column, id_column, format, encoding),
            model or [],
            marks=marks,
            question=question,
            bootstrap=Bootstrap(resamples=resamples, seed=seed),
            reporter=reporter,
        )
    if out is not None:
        write_json(out, found.to_dict())
        console.note(f"Wrote {out}")
    if json:
        console.json(found.to_dict())
        return
    rows = [
        (name, *(_cell(metric.value, metric.low, metric.high) for metric in metrics))
        for name, metrics in found.metrics.items()
    ]
    title = f"{found.posts:,} posts, of which people marked {found.share:.0%} on average"
    console.table(["weights", *TITLES.values()], rows, title=title, right=list(TITLES.values()))
    if found.without_marks:
        console.note(f"Left out, because nobody marked a word in them: {found.without_marks:,} posts.")


def _cell(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3f}" + ("" if low is None or high is None else f" [{low:.3f}, {high:.3f}]")
