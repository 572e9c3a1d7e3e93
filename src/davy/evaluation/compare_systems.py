"""Compare: many systems' predictions against gold, as a board with intervals, paired tests and an error analysis.

A gold file and files of predictions in, a `SystemComparison` out, which `write_comparison` puts into a folder. A
finished board is only a column of scores: `summarise_file`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Scheme
from davy.corpus.empty_cells import LabelNone
from davy.corpus.gold import ROW, GivenGold, answer_columns, settled_answers
from davy.corpus.post_source import PostSource, load_posts, select_split
from davy.evaluation.board import ScoreSummary, rank_matrix, summarise_scores
from davy.evaluation.board_page import TaskComparison, comparison_page
from davy.evaluation.error_analysis import analyse_errors
from davy.evaluation.pair_tests import choose_pairs, compare_pairs
from davy.evaluation.prediction_matrix import (
    SCORES,
    PredictionMatrix,
    is_wide,
    item_agreement,
    item_groups,
    plain_matrix,
    scheme_matrices,
    split_wide,
    without_copies,
)
from davy.files import tables
from davy.files.atomic import make_folder, write_json, write_text
from davy.files.data_hash import rows_hash
from davy.measure.intervals import Bootstrap
from davy.report import Provenance


def mark_systems(
    baseline: Annotated[
        Sequence[str], Option("Mark a system as a baseline; with --scores NAME=FIGURE.", metavar="NAME")
    ] = (),
    human: Annotated[Sequence[str], Option("Mark a system as people's answers.", metavar="NAME")] = (),
) -> dict[str, str]:
    """Return which systems are marked, and as what."""
    return dict.fromkeys(baseline, "baseline") | dict.fromkeys(human, "human")


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """How systems are compared. `marks`: system → baseline or human; such rows take no rank."""

    metric: Annotated[str, Option("macro_f1, accuracy, auroc …, or a scorer of scikit-learn.", metavar="M")] = (
        "macro_f1"
    )
    test: Annotated[str, Option("The paired test: bootstrap, mcnemar or randomisation.", metavar="T")] = "bootstrap"
    pairs: Annotated[str, Option("Test neighbours on the board, or all pairs.", "--test-pairs", metavar="WHICH")] = (
        "neighbours"
    )
    top: Annotated[int, Option("The error analysis is of the best K systems.", metavar="K", min=1)] = 10
    """How many of the best systems the error analysis is of."""
    marks: Annotated[Mapping[str, str], Options(mark_systems)] = field(default_factory=dict)
    positive: Annotated[str | None, Option("The yes, where GOLD has a plain column label.", metavar="LABEL")] = None
    """The yes of a gold file without a scheme."""
    agreement: Annotated[
        str | None, Option("A column with the share of annotators who agree; else Q.votes.", metavar="C")
    ] = None
    bootstrap: Annotated[
        Bootstrap, Options(Bootstrap, {"resamples": "How many resamples intervals and tests rest on."})
    ] = field(default_factory=Bootstrap)


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """Every task that has gold and predictions."""

    tasks: tuple[TaskComparison, ...]
    title: str
    data: str
    seed: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, as `--json` and results.json hold it."""
        return {
            "title": self.title,
            "data": self.data,
            "seed": self.seed,
            "notes": list(self.notes),
            "tasks": {task.board.task.name: task.to_dict() for task in self.tasks},
        }


def compare_systems(
    gold: Annotated[
        PostSource | Path | str | pl.DataFrame,
        Options(
            PostSource,
            {
                "files": Option("The gold file: id, and Q.gold or label. Or with --corpus.", "gold_file", "[GOLD]"),
                "encoding": "The encoding of GOLD, where it is not UTF-8 or UTF-16.",
            },
        ),
    ],
    predictions: Annotated[
        Sequence[Path | str] | Mapping[str, pl.DataFrame],
        Option(
            "A system's file: id, and Q.label, label or score. "
            "Again for more; or one wide file, a column a system; or a folder of files.",
            "--predictions -p",
            metavar="F",
            read=files_in,
        ),
    ] = (),
    *,
    scheme: Annotated[str | Scheme | None, Option("The scheme of the answers; else guessed.", metavar="S")] = None,
    questions: Annotated[Sequence[str], Option("This question only; again for more.", "--question", metavar="Q")] = (),
    split: Annotated[str | None, Option("Only this split of GOLD, such as dev.", metavar="[C=]NAME")] = None,
    columns: GivenGold = (),
    label_none: LabelNone = False,
    settings: Annotated[ComparisonSettings | None, Options(ComparisonSettings)] = None,
    notes: Annotated[
        Sequence[str], Option("A line for the report, such as who saw what.", "--note", metavar="TEXT")
    ] = (),
    reporter: Reporter = SILENT,
) -> SystemComparison:
    """Return the boards of systems on every question with gold.

    `gold` has columns Q.gold, or `label`; `columns` names others (`Q=COLUMN`). `predictions` are files with `id` and
    `Q.label` (or `label`, `score`), one file a system, or one wide file with a column a system.
    """
    settings = settings or ComparisonSettings()
    whole, name, known = _gold_frame(gold)
    frame, part = select_split(whole, split, reporter)
    systems = _system_frames(predictions, "score" if settings.metric in SCORES else "label")
    systems = {each: without_copies(answers) for each, answers in systems.items()}
    _check_marks(settings.marks, systems)
    plain = all({"label", "score"} & set(each.columns) for each in systems.values())
    if "label" in frame.columns and plain and not (scheme or known or columns):
        matrices, rules = [plain_matrix(_within(frame), systems, settings.metric, positive=settings.positive)], None
    else:
        rules, gold_of = answer_columns(
            frame,
            columns,
            scheme or known,
            asked=questions,
            file=name,
            label_none=label_none,
            reporter=reporter,
        )
        frame = frame.with_columns(pl.col(column).alias(f"{q}.gold") for q, column in gold_of.items())
        golds = settled_answers(frame, rules, gold_of, file=name, questions=list(questions))
        every = whole["id"].to_list()
        matrices = scheme_matrices(frame, golds, systems, rules, settings.metric, every=every, source=name)
    tasks = []
    reporter.begin("Ranking", len(matrices))
    for matrix in matrices:
        tasks.append(_task(matrix, frame, rules, settings))
        reporter.advance(1)
    reporter.end()
    title = f"{name}, {part}" if part else name
    seed = settings.bootstrap.seed
    return SystemComparison(tuple(tasks), title, rows_hash(frame.drop(ROW, strict=False)), seed, tuple(notes))


def write_comparison(comparison: SystemComparison, folder: Path, *, command: str = "") -> None:
    """Write report.html, results.json and a board as CSV for each task, each whole or not at all."""
    make_folder(folder)
    write_json(folder / "results.json", comparison.to_dict())
    for task in comparison.tasks:
        write_text(folder / f"board-{task.board.task.name}.csv", task.board.csv())
    systems = ", ".join(dict.fromkeys(row.system for task in comparison.tasks for row in task.board.rows))
    provenance = Provenance(comparison.data, systems, comparison.seed, command)
    title = f"{comparison.title}: systems compared"
    comparison_page(comparison.tasks, title, provenance, comparison.notes).write(folder / "report.html")


def summarise_file(
    path: Path | str, column: str | None = None, *, baselines: Mapping[str, float] | None = None
) -> tuple[str, ScoreSummary]:
    """Return the column that was read and its summary; a cell that is no finite number is an error with its row."""
    frame = _table(path)
    if column is None:
        numeric = [name for name in frame.columns if frame[name].dtype.is_numeric()]
        if len(numeric) != 1:
            raise UserError(f"{path} has {len(numeric)} columns of numbers. Name one: --score-column C")
        column = numeric[0]
    if column not in frame.columns:
        raise UserError(f"{path} has no column {column!r}; it has {', '.join(frame.columns)}")
    scores = []
    for row, cell in enumerate(frame[column].to_list(), 1):
        if cell is None or cell == "":
            continue
        try:
            score = float(cell)
        except (TypeError, ValueError):
            score = float("nan")
        if not isfinite(score):
            raise UserError(f"{path}: row {row}, column {column!r} has {str(cell)[:40]!r}, which is no finite number")
        scores.append(score)
    if not scores:
        raise UserError(f"{path}: column {column!r} has no scores")
    return column, summarise_scores(scores, baselines)


def _task(
    matrix: PredictionMatrix, frame: pl.DataFrame, scheme: Scheme | None, settings: ComparisonSettings
) -> TaskComparison:
    bootstrap = settings.bootstrap
    board = rank_matrix(
        matrix, seed=bootstrap.seed, resamples=bootstrap.resamples, level=bootstrap.level, marks=settings.marks
    )
    pairs = choose_pairs([row.system for row in board.ranked], settings.pairs)
    tested = bool(bootstrap.resamples) or settings.test == "mcnemar"
    tests = compare_pairs(matrix, pairs, settings.test, bootstrap=bootstrap) if tested else []
    if matrix.task.kind != "labels":
        return TaskComparison(board, matrix, tuple(tests))
    groups = item_groups(frame, matrix, scheme) if scheme else {}
    best = board.top(settings.top) or [row.system for row in board.rows[: settings.top]]
    errors = analyse_errors(matrix, best, groups=groups, agreement=item_agreement(frame, matrix, settings.agreement))
    texts: dict[str, str] = {}
    if "text" in frame.columns:
        missed = set(errors.missed)
        texts = {post: text for post, text in frame.select("id", "text").iter_rows() if post in missed and text}
    codes = {}
    if scheme is not None:
        codes = {label.name: label.code for label in scheme.question(matrix.task.question).labels if label.code}
    return TaskComparison(board, matrix, tuple(tests), errors, texts, codes)


def gold_posts(gold: PostSource | Path | str) -> pl.DataFrame:
    """Return the rows of a gold file, with their texts where it has them."""
    return _gold_frame(gold)[0].drop(ROW)


def files_in(given: Sequence[Path]) -> list[Path]:
    """Return the files, those of a folder in its place, in the order of their names."""
    found: list[Path] = []
    for path in given:
        files = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
        if not files:
            raise UserError(f"The folder {path} is empty. Name a file of predictions, or a folder of them.")
        found += files
    return found


def _gold_frame(gold: PostSource | Path | str | pl.DataFrame) -> tuple[pl.DataFrame, str, str | None]:
    """Return the gold frame with row numbers, its name, and its corpus's scheme. It needs no texts."""
    if isinstance(gold, pl.DataFrame):
        frame, name, scheme = gold, "gold", None
    elif isinstance(gold, PostSource) and gold.corpus is not None:
        loaded = load_posts(gold)
        return loaded.frame.with_columns(pl.col("id").cast(pl.String)), loaded.name, loaded.scheme
    else:
        path = gold.path if isinstance(gold, PostSource) else str(gold)
        if Path(path).is_dir():
            raise UserError(f"{path} is a folder. Name a file, or say which public corpus it holds: --corpus NAME.")
        encoding = gold.encoding if isinstance(gold, PostSource) else None
        frame, name, scheme = _table(path, encoding), Path(path).name, None
        if isinstance(gold, PostSource) and gold.id:
            frame = frame.rename({gold.id: "id"})
    if "id" not in frame.columns:
        raise UserError(f"{name} has no column 'id' to join by; it has {', '.join(frame.columns)}")
    frame = frame.with_columns(pl.col("id").cast(pl.String))
    return frame.drop(ROW, strict=False).with_row_index(ROW, offset=1), name, scheme


def _within(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop_nulls("label")


def _system_frames(
    predictions: Sequence[Path | str] | Mapping[str, pl.DataFrame], column: str
) -> dict[str, pl.DataFrame]:
    """Return one frame a system, by its file's name without the ending; a single wide file is cut by columns."""
    if isinstance(predictions, Mapping):
        return {name: frame.with_columns(pl.col("id").cast(pl.String)) for name, frame in predictions.items()}
    if not predictions:
        raise UserError("Say what to compare: --predictions FILE for each system, or one wide file")
    paths = [str(path) for path in predictions]
    frames = [_table(path) for path in paths]
    if len(frames) == 1 and is_wide(frames[0]):
        return split_wide(paths[0], frames[0], column)
    stems = [Path(path).stem for path in paths]
    names = [stem if stems.count(stem) == 1 else path for stem, path in zip(stems, paths, strict=True)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"{twice!r} is given twice. Name each file once")
    return dict(zip(names, frames, strict=True))


def _check_marks(marks: Mapping[str, str], systems: Mapping[str, pl.DataFrame]) -> None:
    for name in marks:
        if name not in systems:
            raise UserError(f"There is no system {name!r} to mark; the systems are {', '.join(systems)}")


def _table(path: Path | str, encoding: str | None = None) -> pl.DataFrame:
    frames = list(tables.batches(str(path), encoding=encoding))
    if not frames:
        raise UserError(f"{path} has no rows")
    frame: pl.DataFrame = pl.concat(frames, how="diagonal_relaxed")
    return frame.with_columns(pl.col("id").cast(pl.String)) if "id" in frame.columns else frame
