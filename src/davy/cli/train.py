"""`davy train`: fine-tune a detector on posts with settled answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console
from davy.cli.options import Corpus
from davy.core.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from davy.core.scheme import Question
    from davy.train.config import Config

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
    encoder: Annotated[
        str | None, typer.Option(metavar="NAME", help="A folder or hub name, instead of the config's.")
    ] = None,
    dev: Annotated[str | None, typer.Option(metavar="F", help="Posts to choose the checkpoint by.")] = None,
    scheme: Annotated[str | None, typer.Option(metavar="S", help="The scheme of the answers.")] = None,
    corpus: Corpus = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Train on this split of the posts, such as train.")
    ] = None,
    dev_split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Choose by this split of F, such as dev.")
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option("--seed", help="A seed; again for more, with mean and spread.")
    ] = None,
    set_: Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print the run's record as JSON.")] = False,
) -> None:
    """Fine-tune an encoder with a head for each question; several files each fill the heads they have answers for.

    Configs that ship with Davy carry the papers' settings: b-d, b-f, edos-b3 to edos-b6, edos-judge, gmhp7k, hatemoji.
    A killed run goes on where it was when the same command is given again, and ends with the same weights.

    Examples:

      davy train train.csv --dev dev.csv --encoder ./minilm --scheme edos --out runs/edos

      davy train edos/ --corpus edos --split train --dev-split dev --config edos-b5 --out runs/b5 --seed 1 --seed 2

      accelerate launch --num_processes 4 -m davy train train.csv --encoder ./minilm --out runs/on-four-gpus
    """
    from davy.train.config import from_values, load_config

    chosen = (
        load_config(config, parse_changes(set_)) if config else _apply_changes(from_values({}, "the defaults"), set_)
    )
    chosen = _replace_fields(chosen, encoder=encoder, scheme=scheme, seeds=tuple(seed) if seed else None)
    posts = read_joined(files, corpus)
    learn, judged = _parts(posts, split, dev_split)
    if dev:
        judged = read_joined([dev], None)
    if chosen.grid and judged is None:
        raise UserError("A grid needs posts to choose by: --dev F, or --dev-split NAME.")
    check_out(out)
    questions = questions_to_train(chosen, learn)
    _run(chosen, questions, learn, judged, out, json=json)


def _run(
    config: Config,
    questions: tuple[Question, ...],
    posts: pl.DataFrame,
    dev: pl.DataFrame | None,
    out: Path,
    *,
    json: bool,
) -> None:
    from davy.train import run_record
    from davy.train.processes import process_group
    from davy.train.search import best_of, trials, write_search
    from davy.train.trainer import train as trained

    leads = process_group().leads
    found = []
    for trial in trials(config, out):
        histories, scorers = {}, {}
        for seed in config.seeds:
            folder = trial.folder / f"seed-{seed}"
            if leads:
                asked_for = ", ".join(question.name for question in questions)
                console.note(f"{trial.name or config.name}, seed {seed}: {len(posts)} posts, {asked_for}")
            done = trained(posts, dev, questions, trial.config, folder, seed=seed, tell=print_evaluation)
            histories[seed], scorers[seed] = done.history, done.folder
        if not leads:
            continue
        data = {"posts": len(posts), "hash": run_record.data_hash(posts)}
        if dev is not None:
            data |= {"dev posts": len(dev), "dev hash": run_record.data_hash(dev)}
        written = run_record.write_run(trial.folder, "train", trial.config, data, histories)
        labels = {question.name: list(question.label_names) for question in questions}
        text = run_record.model_card(trial.config, data, written["summary"], labels)
        for folder in scorers.values():
            (folder / "card.md").write_text(text, encoding="utf-8")
            run_record.write_manifest(folder)
        found.append((trial, written))
    if not leads:
        return
    trial, written = best_of(found)
    if config.grid:
        write_search(found, out)
    if json:
        console.json(written)
        return
    if config.grid:
        scores = [(it.name, run["summary"]["score"]["mean"], run["summary"]["score"]["sd"]) for it, run in found]
        console.table(["trial", "score on dev", "sd"], scores, right=["score on dev", "sd"])
        console.note(f"The best on dev is {trial.name}; all are in {out}/search.json.")
    found_here = {run_record.figure_name(name): it for name, it in written["summary"].items() if name != "score"}
    rows = [(name, it["mean"], it["sd"], it["n"]) for name, it in found_here.items()]
    if rows:
        console.table(["figure on dev", "mean", "sd", "seeds"], rows, right=["mean", "sd", "seeds"])
    console.note(f"Written: {trial.folder}/run.json, curves.svg, and the models in seed-N/model")


def check_out(out: Path) -> None:
    """Make the run's folder, or say why it can't be one, before anything is loaded."""
    from davy.cli.evaluate import check_folder, make_folder

    check_folder(out)
    make_folder(out)


def print_evaluation(record: dict[str, Any]) -> None:
    """Print one evaluation to stderr."""
    console.note("  " + "  ".join(f"{name} {value}" for name, value in record.items() if name != "score"))


def parse_changes(given: list[str] | None) -> dict[str, str]:
    """Return what --set says, field by field."""
    found = {}
    for entry in given or []:
        name, equals, value = entry.partition("=")
        if not equals:
            raise UserError(f"--set takes FIELD=VALUE, got {entry!r}, such as --set epochs=5.")
        found[name.strip()] = value
    return found


def _apply_changes(config: Config, given: list[str] | None) -> Config:
    from davy.train.config import with_changes

    return with_changes(config, parse_changes(given))


def _replace_fields(config: Config, **values: Any) -> Config:
    from dataclasses import replace

    return replace(config, **{name: value for name, value in values.items() if value is not None})


def read_joined(files: list[str], corpus: str | None) -> pl.DataFrame:
    """Return the posts of several files in one frame; a column that one lacks is null there."""
    import polars as pl

    from davy.cli.evaluate import read_labelled
    from davy.compare.gold import ROW

    return pl.concat([read_labelled(file, corpus)[0].drop(ROW) for file in files], how="diagonal_relaxed")


def _parts(posts: pl.DataFrame, split: str | None, dev_split: str | None) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    from davy.cli.evaluate import select_split

    if dev_split and not split:
        raise UserError(f"--dev-split {dev_split} needs --split, such as train; else those posts would be learnt too.")
    if not split and "split" in posts.columns and posts["split"].n_unique() > 1:
        counts = ", ".join(f"{value} {n:,}" for value, n in posts["split"].value_counts(sort=True).iter_rows())
        console.note(f"Learning from all splits together ({counts}). Name one with --split.")
    learn = select_split(posts, split)[0] if split else posts
    return learn, select_split(posts, dev_split)[0] if dev_split else None


def questions_to_train(config: Config, posts: pl.DataFrame) -> tuple[Question, ...]:
    """Return the scheme's questions that the posts have answers to, or those that the config names."""
    from davy import schemes
    from davy.models.gold import gold_questions

    scheme = schemes.load(config.scheme)
    known = [question.name for question in scheme.questions]
    for name in (*config.questions, *config.weights):
        if name not in known:
            raise UserError(f"Scheme {config.scheme!r} has no question {name!r}; it asks {', '.join(known)}.")
    wanted = tuple(q for q in scheme.questions if not config.questions or q.name in config.questions)
    return tuple(gold_questions(wanted, posts))
