"""`davy train`: fine-tune a detector on posts with settled answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from davy.core.options import Option
from davy.shell import console
from davy.shell.verb_command import Run, verb_command
from davy.training import train as action


@verb_command(
    action.train,
    "files out config kind encoder [dev] scheme question corpus split dev_split gold text_column encoding seed set "
    "soft data_map json",
)
def train(
    run: Run[action.TrainingRun],
    out: Path,
    json: Annotated[bool, Option("Print the run's record as JSON.")] = False,
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

    trained = run(command=console.command_line())
    if not trained.record:  # another process of the team speaks for all
        return
    if json:
        console.json(trained.record)
    else:
        _show(trained, out)


def _show(run: action.TrainingRun, out: Path) -> None:
    from davy.training.run_record import figure_name

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
