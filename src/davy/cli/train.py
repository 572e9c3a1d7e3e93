"""`davy train`: fine-tune a detector on posts with settled answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.actions import train as action
from davy.actions.posts import PostSource
from davy.cli import console
from davy.cli.options import Corpus, Encoding, GoldColumns, TextColumn

if TYPE_CHECKING:
    from davy.actions.train import TrainingRun

Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the config; again for more.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The run's folder; start again with it to go on.")]


def train(
    files: Annotated[list[str], typer.Argument(metavar="F…", help="Posts with Q.gold columns; several are joined.")],
    out: Out,
    config: Annotated[
        str | None, typer.Option(metavar="C", help="A config's name or file; the names are below.")
    ] = None,
    kind: Annotated[
        str, typer.Option(help="What to train: transformer, or a baseline without an encoder, tfidf or xgboost.")
    ] = "transformer",
    encoder: Annotated[
        str | None, typer.Option(metavar="NAME", help="A folder or hub name, instead of the config's.")
    ] = None,
    dev: Annotated[str | None, typer.Option(metavar="F", help="Posts to choose the checkpoint by.")] = None,
    scheme: Annotated[str | None, typer.Option(metavar="S", help="The scheme of the answers; else guessed.")] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", metavar="Q", help="Learn this question only; again for more.")
    ] = None,
    corpus: Corpus = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Train on this split of the posts, such as train.")
    ] = None,
    dev_split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Choose by this split of F, such as dev.")
    ] = None,
    gold: GoldColumns = None,
    text_column: TextColumn = None,
    encoding: Encoding = None,
    seed: Annotated[
        list[int] | None, typer.Option("--seed", help="A seed; again for more, with mean and spread.")
    ] = None,
    set_: Set = None,
    soft: Annotated[
        bool,
        typer.Option("--soft", help="Learn annotators' votes: columns Q.votes, or a file with a row an answer."),
    ] = False,
    data_map: Annotated[
        bool,
        typer.Option("--data-map", help="Write what was easy, ambiguous or hard to learn, and the ambiguous posts."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the run's record as JSON.")] = False,
) -> None:
    """Fine-tune an encoder with a head for each question; several files each fill the heads they have answers for.

    Configs that ship with Davy carry the papers' settings: b-d, b-f, edos-b3 to edos-b6, edos-judge, gmhp7k, hatemoji.
    --data-map writes seed-N/data-map.html and .csv, and ambiguous.csv for the next round of labelling.
    A killed run goes on where it was when the same command is given again, and ends with the same weights.

    Examples:

      davy train train.csv --dev dev.csv --encoder ./minilm --scheme edos --out runs/edos

      davy train edos/ --corpus edos --split train --dev-split dev --config edos-b5 --out runs/b5 --seed 1 --seed 2

      davy train plain.csv --kind tfidf --out runs/plain

      davy train train.csv --kind xgboost --gold sexist=label --text-column body --dev dev.csv --out runs/trees

      davy train answers.csv --soft --gold hate=label --encoder ./minilm --out runs/votes

      accelerate launch --num_processes 4 -m davy train train.csv --encoder ./minilm --out runs/on-four-gpus
    """

    with console.ShellReporter() as reporter:
        run = action.train(
            [PostSource(file, corpus, text_column, encoding=encoding) for file in files],
            out,
            kind=kind,
            config=config,
            changes=action.parse_changes(set_ or ()),
            encoder=encoder,
            scheme=scheme,
            questions=question or (),
            seeds=seed or (),
            dev=PostSource(dev, text=text_column, encoding=encoding) if dev else None,
            split=split,
            dev_split=dev_split,
            gold=gold or (),
            soft=soft,
            data_map=data_map,
            command=console.command_line(),
            reporter=reporter,
        )
    if not run.record:  # another process of the team speaks for all
        return
    if json:
        console.json(run.record)
    else:
        _show(run, out)


def _show(run: TrainingRun, out: Path) -> None:
    from davy.train.run_record import figure_name

    if run.trials:
        _table("trial", "score on dev", [(name, score) for name, score in run.trials])
        console.note(f"The best on dev is {run.folder.name}; all are in {out}/search.json.")
    figures = [(figure_name(name), it) for name, it in run.record["summary"].items() if name != "score"]
    if figures:
        _table("figure on dev", "mean" if "sd" in figures[0][1] else "value", figures)
    console.note(f"Written: {run.folder}/run.json, curves.svg, and {', '.join(map(str, run.models.values()))}")
    console.note(f"Measure it on posts that it has not seen: davy evaluate FILE --model {run.model}")
    if (run.model.parent / "data-map.html").is_file():
        console.note(f"Data map: {run.model.parent}/data-map.html, data-map.csv, ambiguous.csv")


def _table(first: str, value: str, figures: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Print figures; of several seeds with their standard deviation, which one seed does not have."""
    spread = any("sd" in it for _, it in figures)
    names = [first, value, *(["sd", "seeds"] if spread else [])]
    rows = [(name, it["mean"], *((it["sd"], it["n"]) if spread else ())) for name, it in figures]
    console.table(names, rows, right=names[1:])
