"""`davy train`, `calibrate`, `distil`, `export` and `pretrain`: options in, one line of figures about the model out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from davy.core.options import Option
from davy.detectors.calibrated import CalibratedScorer, Calibration
from davy.files.atomic import replaced_folder, require_empty_folder
from davy.shell import console
from davy.shell.verb_command import Run, verb_command
from davy.training import calibrate as calibrate_action
from davy.training import distil_action
from davy.training import train as train_action
from davy.training.export_model import export_model
from davy.training.train import TrainingRun


@verb_command(
    train_action.train,
    "files out config kind encoder [dev] scheme question corpus split dev_split gold label_none text_column encoding "
    "seed set replace soft data_map json",
)
def train(
    run: Run[train_action.TrainingRun],
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
        _show_run(trained, out)


def _show_run(run: train_action.TrainingRun, out: Path) -> None:
    from davy.training.run_record import figure_name

    if run.trials:
        _figure_table("trial", "score on dev", [(name, score) for name, score in run.trials])
        console.note(f"The best on dev is {run.folder.name}; all are in {out}/search.json.")
    figures = [(figure_name(name), it) for name, it in run.record["summary"].items() if name != "score"]
    if figures:
        _figure_table("figure on dev", "mean" if "sd" in figures[0][1] else "value", figures)
    console.note(f"Written: {run.folder}/run.json, curves.svg, and {', '.join(map(str, run.models.values()))}")
    console.note(f"Measure it on posts that it has not seen: davy evaluate FILE --model {run.model}")
    if (run.model.parent / "data-map.html").is_file():
        console.note(f"Data map: {run.model.parent}/data-map.html, data-map.csv, ambiguous.csv")


def _figure_table(first: str, value: str, figures: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Print figures; of several seeds with their standard deviation, which one seed does not have."""
    spread = any("sd" in it for _, it in figures)
    names = [first, value, *(["sd", "seeds"] if spread else [])]
    rows = [(name, it["mean"], *((it["sd"], it["n"]) if spread else ())) for name, it in figures]
    console.table(names, rows, right=names[1:])


@verb_command(
    calibrate_action.calibrate,
    "model files out threshold_rule temperature prevalence split gold label_none corpus scheme text_column id_column "
    "encoding json",
)
def calibrate(
    run: Run[tuple[CalibratedScorer, Calibration]],
    out: Annotated[Path, Option("The new model folder.", metavar="DIR")],
    json: Annotated[bool, Option("Print before and after as JSON.")] = False,
) -> None:
    """Set a detector's temperatures and thresholds on posts, and print its figures before and after.

    A temperature makes 0.9 mean nine in ten; a threshold says from where on a yes/no question is a yes.

    Examples:

      davy calibrate mine/seed-1/model dev.csv --out mine-calibrated

      davy calibrate embedded-en edos/ --corpus edos --split dev --threshold-rule precision=0.9 --out careful

      davy calibrate embedded-en dev.csv --prevalence 0.02 --out for-my-forum
    """
    require_empty_folder(out)
    calibrated, calibration = run()
    with replaced_folder(out) as draft:
        calibrated.save(draft)
    if json:
        console.json({**calibration.to_dict(), "model": str(out)})
        return
    show_calibration(calibration)
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


@verb_command(distil_action.distil, "files teacher encoder out [dev] gold encoding hard seed set json")
def distil(
    run: Run[TrainingRun],
    json: Annotated[bool, Option("Print the record as JSON.")] = False,
) -> None:
    """Distil teachers into a student, on labelled and unlabelled posts.

    The student learns the teachers' mean probabilities for the questions that they share.

    Examples:

      davy distil train.csv reddit.csv --teacher runs/a/seed-1/model --teacher runs/a/seed-2/model
      --encoder ./minilm --dev dev.csv --out runs/student --set epochs=8 --set rate=3e-4
    """

    made = run(command=console.command_line())
    if json:
        console.json(made.record)
    else:
        console.note(f"Written: {made.model}. Make it small and fast: davy export {made.model} --out my-model")


@verb_command(
    export_model,
    "model out [dev] split gold text_column encoding threshold_rule exact table_bits matrix_bits json",
)
def export(
    run: Run[tuple[dict[str, Any], Calibration | None]],
    out: Path,
    json: Annotated[bool, Option("Print the comparison as JSON.")] = False,
) -> None:
    """Export a trained model: ONNX, int8, with tokenizer, thresholds, calibration and card in one folder.

    With --dev, scores before and after are compared, and temperatures and thresholds are set as davy calibrate sets
    them; all of it is printed before and after.

    Examples:

      davy export runs/edos/seed-1/model --dev dev.csv --out my-model

      davy score posts.csv --model my-model --out scored.csv

      davy export memes/concat --out my-memes
    """

    record, calibration = run()
    if json:
        console.json({**record, **(calibration.to_dict() if calibration else {})})
        return
    if "gaps" in record:
        rows = [(name, it["mean"], it["largest"], it["labels moved"]) for name, it in record["gaps"].items()]
        title = f"Scores before and after, {record['posts']} posts"
        console.table(["question", "mean gap", "largest gap", "labels moved"], rows, title=title, right=["mean gap"])
    if calibration is not None:
        show_calibration(calibration)
    given = "--image meme.png" if record["engine"] == "meme-onnx" else "posts.csv"
    console.note(f"Written: {out}, {record['bytes'] / 1e6:.1f} MB. Use it: davy score {given} --model {out}")


@verb_command(distil_action.pretrain, "files encoder out encoding hide seed set json")
def pretrain(
    run: Run[dict[str, Any]],
    out: Path,
    json: Annotated[bool, Option("Print the record as JSON.")] = False,
) -> None:
    """Continue an encoder's pre-training: it guesses whole words that are hidden in your posts.

    The folder it writes is an encoder for davy train. A killed run goes on when the same command is given again.

    Examples:

      davy pretrain reddit.csv --encoder ./minilm --out runs/minilm-reddit --set epochs=2 --set rate=1e-4

      davy train train.csv --encoder runs/minilm-reddit --scheme edos --out runs/edos
    """

    record = run(command=console.command_line())
    if json:
        console.json(record)
    else:
        console.note(f"Written: {out}. Fine-tune it: davy train F --encoder {out} --out runs/mine")
