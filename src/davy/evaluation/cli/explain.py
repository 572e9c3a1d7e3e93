"""`davy explain`: do a detector's explanations name the words that people marked?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from davy.core.options import Option
from davy.evaluation import explanations as action
from davy.files.atomic import require_folder_of, write_json
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

TITLES = {"token_f1": "token F1", "iou_f1": "IoU F1", "auprc": "AUPRC"}


@verb_command(
    action.measure_explanations,
    "files model marks question text_column id_column format encoding resamples seed out json",
)
def explain(
    run: Run[action.ExplanationFigures],
    out: Annotated[Path | None, Option("Write the figures as JSON.", metavar="F.json")] = None,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
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
    found = run()
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
