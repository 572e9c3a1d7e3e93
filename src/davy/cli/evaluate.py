"""`davy evaluate`: how good detectors are on labelled posts, and whether one is better than another."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console
from davy.cli.options import Corpus, Format, IdColumn, TextColumn
from davy.core.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from davy.compare.evaluate import Evaluation
    from davy.compare.predictions import Predictions
    from davy.core.scheme import Scheme
    from davy.core.scorer import Scorer


def evaluate(
    file: Annotated[str, typer.Argument(metavar="F", help="Labelled posts; '-' is stdin. With --corpus, or a folder.")],
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="M", help="A detector to measure; again for more.")
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option("--predictions", metavar="F2", help="Or a file with id, Q.label and Q; again for more."),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="S", help="The scheme of the answers; else the corpus's, or guessed.")
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", metavar="Q", help="Measure this question only; again for more.")
    ] = None,
    corpus: Corpus = None,
    split: Annotated[
        str | None, typer.Option(metavar="[C=]NAME", help="Measure this split only, such as dev; C is its column.")
    ] = None,
    gold: Annotated[
        list[str] | None, typer.Option("--gold", metavar="[Q=]C", help="The column with the settled answers to Q.")
    ] = None,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="Measure yes/no child questions on all posts, as no where they don't apply."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write results.json, figures.csv and report.html here.")
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: Format = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of F, where it is not UTF-8 or UTF-16.")] = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="How many resamples an interval rests on.")] = 1000,
    seed: Annotated[int, typer.Option(help="The seed of the resamples.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure detectors on labelled posts: macro-F1, per-label figures, AUROC, confusion matrices, paired tests.

    The settled answers are the columns Q.gold, or what --gold names. A child question is measured on the posts whose
    settled parent answer leads to it. Every figure comes with its n and its 95 % interval.

    Examples:

      davy evaluate labelled.csv --model embedded-en --model keywords:words.txt

      davy evaluate edos/ --corpus edos --split dev --model embedded-en --out report

      davy evaluate posts.csv --gold label --scheme hate --predictions mine.csv
    """
    from davy.compare.evaluate import evaluate as measured
    from davy.compare.gold import data_hash, settled_answers
    from davy.compare.results import record
    from davy.measure.intervals import Bootstrap

    _check(model or [], predictions or [], out)
    bootstrap = Bootstrap(resamples=resamples, seed=seed)
    posts, home = read_labelled(file, corpus, format, text_column, id_column, encoding)
    chosen, where = select_split(posts, split)
    rules, columns = _scheme_and_columns(scheme or home, chosen, gold or [], question or [])
    golds = settled_answers(chosen, rules, columns, file=file, questions=question or [], everywhere=everywhere)
    called = corpus or ("stdin" if file == "-" else Path(file).name)
    settings = {"file": Path(file).name, "scheme": f"{rules.name} {rules.version}", "split": where}
    detectors = [*_by_models(model or [], chosen, rules), *_by_files(predictions or [], chosen, posts, rules, file)]
    title = f"{called}, {where}" if where else called
    data = data_hash(chosen, list(columns.values()))
    found = measured(golds, detectors, title=title, data=data, settings=settings, bootstrap=bootstrap)
    if out is not None:
        write_evaluation(found, out)
    if json:
        console.json(record(found))
    else:
        _print(found)
    if out is not None:
        console.note(f"Written: {out}/report.html, figures.csv, results.json")


def read_labelled(
    file: str,
    corpus: str | None,
    format: str | None = None,
    text: str | None = None,
    id: str | None = None,
    encoding: str | None = None,
) -> tuple[pl.DataFrame, str | None]:
    """Return all posts of a file, numbered by row, and the scheme that the corpus names."""
    from davy.collect import corpora
    from davy.compare.gold import ROW
    from davy.files import post_columns, tables
    from davy.files.file_table import translate_errors

    if corpus is not None:
        if text or id or format or encoding:
            raise UserError("--corpus knows the file: leave out --text-column, --id-column, --format and --encoding.")
        loaded = corpora.load(corpus, file)
        return loaded.posts.collect().with_row_index(ROW, offset=1), loaded.scheme
    if Path(file).is_dir():
        raise UserError(f"{file} is a folder. Name a file, or say which public corpus it holds: --corpus NAME.")
    with tables.open_table(file, format=format, encoding=encoding) as table:
        made = post_columns.check_ids(post_columns.as_posts(table, text=text, id=id))
        with translate_errors(file):
            return made.frame.collect().with_row_index(ROW, offset=1), None


def select_split(posts: pl.DataFrame, split: str | None) -> tuple[pl.DataFrame, str]:
    """Return the posts of a split, and the words for it; all posts where none is named."""
    import polars as pl

    column, _, name = split.rpartition("=") if split else ("", "", "")
    column = column or "split"
    if split and column not in posts.columns:
        others = ", ".join(c for c in posts.columns if c.startswith("split")) or "none"
        raise UserError(f"There is no column {column!r} to take the split from; columns of splits: {others}.")
    if column not in posts.columns:
        return posts, ""
    counts = {str(value): n for value, n in posts[column].value_counts(sort=True).iter_rows()}
    if not split:
        if len(counts) > 1:
            listed = ", ".join(f"{value} {n:,}" for value, n in counts.items())
            console.note(
                f"Measuring all splits together ({listed}). Name one with --split; models may have seen train."
            )
        return posts, " + ".join(counts)
    if name not in counts:
        raise UserError(f"There is no split {name!r} in column {column!r}; it has {', '.join(counts)}.")
    return posts.filter(pl.col(column).cast(pl.String) == name), name


def score_posts(posts: pl.DataFrame, scorer: Scorer, *, what: str = "") -> pl.DataFrame:
    """Return a detector's answers to the posts, in their order: the columns that scoring adds."""
    import polars as pl

    from davy.score.batch import ScoreSettings, added_columns, score_frames

    seen = posts.select(name for name in ("id", "text", "lang", "image") if name in posts.columns)
    with console.progress(what or f"Scoring with {scorer.name}", total=len(posts)) as advance:
        frames = list(score_frames([seen], scorer, ScoreSettings(replace=True), progress=advance))
    return pl.concat(frames).select(added_columns(scorer))


def write_evaluation(evaluation: Evaluation, folder: Path) -> None:
    """Write an evaluation's page, figures and record into a folder, each whole or not at all."""
    import json as codec

    from davy.compare.page import page
    from davy.compare.results import figures_table, record
    from davy.files.output_file import atomic_path

    make_folder(folder)
    with atomic_path(folder / "results.json") as hidden:
        hidden.write_text(codec.dumps(record(evaluation), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    with atomic_path(folder / "figures.csv") as hidden:
        hidden.write_text(figures_table(evaluation).csv(), encoding="utf-8")
    page(evaluation, command=shlex.join(["davy", *sys.argv[1:]])).write(folder / "report.html")


def _check(models: list[str], predictions: list[str], out: Path | None) -> None:
    """Raise where the command can't be carried out, before anything is read."""
    if not models and not predictions:
        raise UserError("Say what to measure: --model M (davy model list), or --predictions FILE.")
    names = [*models, *predictions]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{twice!r} is named twice. Name each model once.")
    check_folder(out)


def check_folder(out: Path | None) -> None:
    """Raise, before the work begins, where a report could not be written."""
    import os

    if out is None:
        return
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file. Give a folder to write into.")
    there = next(parent for parent in (out, *out.absolute().parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise UserError(f"Can't write in {there}. Give another folder for --out.")


def make_folder(out: Path) -> None:
    """Make the folder for a report."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Can't make the folder {out}: {error.strerror}. Give another --out.") from None


def _scheme_and_columns(
    name: str | None, posts: pl.DataFrame, gold: list[str], questions: list[str]
) -> tuple[Scheme, dict[str, str]]:
    from davy import schemes
    from davy.compare.gold import ROW, gold_columns, guess_scheme

    if name is None:
        name = guess_scheme(posts.drop(ROW))
        console.note(f"Scheme: {name} (guessed from the answers; choose with --scheme).")
    scheme = schemes.load(name)
    return scheme, gold_columns([c for c in posts.columns if c != ROW], gold, scheme, questions)


def _by_models(names: list[str], posts: pl.DataFrame, scheme: Scheme) -> list[Predictions]:
    from davy.compare.predictions import read_predictions, shared_questions
    from davy.files import tables
    from davy.models.load import load

    scorers = [load(name, read=tables.batches) for name in names]
    for name, scorer in zip(names, scorers, strict=True):  # before the first of them reads all posts
        shared_questions(name, [question.name for question in scorer.questions], scheme)
    return [
        read_predictions(name, s.version, score_posts(posts, s), scheme) for name, s in zip(names, scorers, strict=True)
    ]


def _by_files(
    names: list[str], posts: pl.DataFrame, every: pl.DataFrame, scheme: Scheme, file: str
) -> list[Predictions]:
    import polars as pl

    from davy.compare.predictions import align_predictions, read_predictions
    from davy.files import tables
    from davy.score.resume import input_hash

    found = []
    for name in names:
        rows: Any = pl.concat(list(tables.batches(name)), how="diagonal_relaxed")
        rows = align_predictions(rows, posts["id"].to_list(), every["id"].to_list(), file=name, posts=file)
        found.append(read_predictions(Path(name).name, input_hash(Path(name))[:12], rows, scheme, file=name))
    return found


def _print(evaluation: Evaluation) -> None:
    from davy.compare.results import confusion_table, label_table, overall_table, pair_table

    out = console.out()
    for result in evaluation.results:
        out.print(overall_table(result).rich())
        for model in result.models:
            out.print(label_table(result, model).rich())
            matrix = confusion_table(result, model)
            if matrix is not None and len(matrix.columns) <= 7:
                out.print(matrix.rich())
        pairs = pair_table(result)
        if pairs is not None:
            out.print(pairs.rich())
    models = ", ".join(f"{name} {version}".strip() for name, version in evaluation.models.items())
    out.print(
        f"{evaluation.title} · data {evaluation.data} · seed {evaluation.seed} · {models}", style="dim", markup=False
    )
