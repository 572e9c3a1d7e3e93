"""Evaluate: how good detectors are on posts with settled answers, and whether one is better than another.

Posts, detectors and files of predictions in, an `Evaluation` out, which
`write_evaluation` puts into a folder as a page, a table and JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy import schemes
from davy.core.errors import UnknownName, UserError, nearest
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Scheme
from davy.core.scorer import Scorer, label_advice
from davy.corpus.empty_cells import LabelNone
from davy.corpus.gold import ROW, GivenGold, answer_columns, settled_answers
from davy.corpus.post_source import GivenPosts, LoadedPosts, load_posts, select_split
from davy.detectors.model_name import SCHEMED, ModelName
from davy.detectors.training_text_index import calibrated_by_any, learnt_by_any, seen_by_any
from davy.evaluation import evaluate as comparison
from davy.evaluation.page import page
from davy.evaluation.predictions import Predictions, align_predictions, read_predictions, shared_questions
from davy.evaluation.results import figures_table, record
from davy.files import tables
from davy.files.atomic import make_folder, write_json, write_text
from davy.files.data_hash import data_hash, file_hash
from davy.measure.intervals import Bootstrap
from davy.scoring.scorers import Learning, Models, check_names, load_scorers, score_posts


def evaluate(
    posts: GivenPosts,
    models: Annotated[Models, Option("A detector to measure; again for more.", "--model -m", metavar="M")] = (),
    predictions: Annotated[
        Sequence[str], Option("Or a file with id, Q.label and Q; again for more.", metavar="F2")
    ] = (),
    *,
    scheme: Annotated[
        str | Scheme | None, Option("The scheme of the answers; else the corpus's, or guessed.", metavar="S")
    ] = None,
    questions: Annotated[
        Sequence[str], Option("Measure this question only; again for more.", "--question", metavar="Q")
    ] = (),
    split: Annotated[
        str | None, Option("Measure this split only, such as dev; C is its column.", metavar="[C=]NAME")
    ] = None,
    gold: GivenGold = (),
    label_none: LabelNone = False,
    everywhere: Annotated[
        bool, Option("Measure yes/no child questions on all posts, as no where they don't apply.")
    ] = False,
    unseen: Annotated[bool, Option("Leave out posts that a model learnt from or was calibrated on.")] = False,
    by: Annotated[
        str | None, Option("Rates and fairness ratios by the groups that column C names.", metavar="C")
    ] = None,
    texts: bool = True,
    bootstrap: Annotated[Bootstrap | None, Options(Bootstrap)] = None,
    images: Annotated[
        Path | None, Option("The folder with the pictures that posts name, for meme models.", metavar="DIR")
    ] = None,
    reporter: Reporter = SILENT,
) -> comparison.Evaluation:
    """Return every detector's figures on the settled answers of the posts, and paired tests between each two.

    `gold` names the columns of settled answers (`Q=COLUMN`) where they are not `Q.gold`; `everywhere` measures yes/no
    child questions on all posts, as no where they don't apply; `texts` keeps the posts' texts for the lists of errors.
    `images` is the folder of the pictures that posts name. Each model makes one scoring pass. Posts that a model learnt
    from or was calibrated on are counted beside its figures; with `unseen` they are left out for all models. `by` is a
    column that names the groups a post is about (`women|muslims`): rates by group and fairness ratios come with every
    yes/no question.
    """
    if not models and not predictions:
        raise UserError("Say what to measure: --model M (davy model list), or --predictions FILE.")
    check_names([*models, *predictions])
    source = load_posts(posts)
    chosen, part = select_split(source.frame, split, reporter)
    if by is not None:
        _check_column(chosen, by)
    scorers = load_scorers(models, Learning(gold, questions, label_none), images=images)
    among = tuple({q.name: q for scorer in reversed(scorers.values()) for q in scorer.questions}.values())
    rules, columns = answer_columns(
        chosen,
        gold,
        scheme or source.scheme,
        asked=questions,
        among=among,
        file=source.path,
        label_none=label_none,
        reporter=reporter,
    )
    asked = partial(settled_answers, file=source.path, questions=list(questions), everywhere=everywhere)
    golds = asked(chosen, rules, columns)
    _check_models(scorers, rules)
    if unseen:
        chosen = _unseen(chosen, scorers, reporter)
        golds = asked(chosen, rules, columns)
    detectors = [
        *_by_models(scorers, chosen, rules, reporter),
        *_by_files(predictions, chosen, source, rules),
    ]
    evaluation = comparison.evaluate(
        golds,
        detectors,
        title=f"{source.name}, {part}" if part else source.name,
        data=data_hash(chosen, columns),
        settings={"file": source.name, "scheme": f"{rules.name} {rules.version}", "split": part},
        bootstrap=bootstrap or Bootstrap(),
        groups=None if by is None else (by, chosen[by].cast(pl.String).to_list()),
        families=_families(chosen),
    )
    if not texts:
        return evaluation
    return replace(evaluation, ids=tuple(map(str, chosen["id"])), texts=tuple(chosen["text"].cast(pl.String)))


def _families(posts: pl.DataFrame) -> list[str]:
    """Return for each post the original that it belongs to: its parent, or itself; nothing where no post has one."""
    if "parent" not in posts.columns or not posts["parent"].is_not_null().any():
        return []
    return (
        posts.select(pl.coalesce(pl.col("parent").cast(pl.String), pl.col("id").cast(pl.String))).to_series().to_list()
    )


def write_evaluation(evaluation: comparison.Evaluation, folder: Path, *, command: str = "") -> None:
    """Write report.html, figures.csv and results.json into a folder, and errors.csv where the texts are known."""
    make_folder(folder)
    write_json(folder / "results.json", record(evaluation))
    write_text(folder / "figures.csv", figures_table(evaluation).csv())
    if evaluation.texts:
        errors_frame(evaluation).write_csv(folder / "errors.csv")
    page(evaluation, command=command).write(folder / "report.html")


def errors_frame(evaluation: comparison.Evaluation) -> pl.DataFrame:
    """Return every wrong answer as a row, by question and detector, the most confident first; texts as they are."""
    rows = [
        (result.question.name, model.name, evaluation.ids[one.row], evaluation.texts[one.row], one.gold, one.predicted,
         one.confidence)
        for result in evaluation.results
        for model in result.models
        for one in evaluation.mistakes(result, model.name)
    ]  # fmt: skip
    names = ["question", "model", "id", "text", "gold", "predicted"]
    return pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), "confidence": pl.Float64}, orient="row")


def _check_column(posts: pl.DataFrame, by: str) -> None:
    columns = [name for name in posts.columns if name != ROW]
    if by not in columns:
        raise UnknownName(
            f"There is no column {by!r} to group by; the columns are {', '.join(columns)}.{nearest(by, columns)}"
        )


def _check_models(scorers: Mapping[str, Scorer], scheme: Scheme) -> None:
    for name, scorer in scorers.items():  # before the first of them reads all posts
        advice = label_advice(scorer, scheme.questions[0].name).removeprefix(". ")
        asked = ModelName.parse(name)
        if asked.kind in SCHEMED and asked.scheme is None and scheme.name in schemes.names():
            advice = f"Say whose questions it answers: {name}@{scheme.name}"
        shared_questions(name, [question.name for question in scorer.questions], scheme, advice=advice)


def _unseen(posts: pl.DataFrame, scorers: Mapping[str, Scorer], reporter: Reporter) -> pl.DataFrame:
    """Return the posts that none of the models learnt from or was calibrated on; none left is an error."""
    seen = seen_by_any((learnt_by_any(scorers.values()), calibrated_by_any(scorers.values())))
    if seen is None:
        raise UserError(f"None of {', '.join(scorers)} keeps what it learnt from. Leave out --unseen.")
    kept = posts.filter(~pl.Series(seen(posts["text"].to_list())))
    if not len(kept):
        raise UserError(
            f"{', '.join(scorers)} learnt from all {len(posts):,} posts, or was calibrated on them. Measure on others."
        )
    left = f"{len(posts) - len(kept):,} of {len(posts):,} posts left out"
    reporter.note(f"{left}: a model learnt from them or was calibrated on them.")
    return kept


def _by_models(
    scorers: Mapping[str, Scorer], posts: pl.DataFrame, scheme: Scheme, reporter: Reporter
) -> list[Predictions]:
    made = []
    texts = posts["text"].to_list()
    for name, scorer in scorers.items():
        read = read_predictions(name, scorer.version, score_posts(posts, scorer, reporter), scheme)
        seen, calibrated = (
            None if tells is None else tells(texts).tolist()
            for tells in (scorer.abilities.learnt, scorer.abilities.calibrated)
        )
        made.append(replace(read, seen=seen, calibrated=calibrated))
    return made


def _by_files(names: Sequence[str], posts: pl.DataFrame, source: LoadedPosts, scheme: Scheme) -> list[Predictions]:
    made = []
    for name in names:
        rows: Any = pl.concat(list(tables.batches(name)), how="diagonal_relaxed")
        every = source.frame["id"].to_list()
        rows = align_predictions(rows, posts["id"].to_list(), every, file=name, posts=source.path)
        made.append(read_predictions(Path(name).name, file_hash(Path(name))[:12], rows, scheme, file=name))
    return made
