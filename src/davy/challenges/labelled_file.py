"""A challenge from one file of labelled posts: its rows and what somebody chose in, a plan and the data sets out.

A task is a column of labels, or a question of a scheme and its column. Posts are divided by a column of the file, or
drawn with a seed, similar texts together. The one thing to know: a task that asks about a part of another's posts
opens when that one has closed, for as long, since its posts give the other's labels away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING

from davy.challenges.challenge import ChallengePhase, ChallengeTask, TimeWindow
from davy.challenges.challenge_file import ChallengePlan, DataFile, parse_moment
from davy.core.answers import GOLD
from davy.core.errors import KeyedError
from davy.corpus.gold import settled_answers
from davy.corpus.split.plan import SplitPlan
from davy.evaluation.tasks import SCORE_METRICS

if TYPE_CHECKING:
    import polars as pl

    from davy.core.scheme import Scheme

METRICS: tuple[str, ...] = ("macro_f1", "weighted_f1", "accuracy", "balanced_accuracy", "mcc", *SCORE_METRICS)
PARTS: tuple[str, ...] = ("train", "practice", "test")
"""The data sets of such a challenge: labels of the first are public, those of the others stay hidden."""
SHARES: Mapping[str, int] = {"practice": 15, "test": 30}
"""Per cent of the posts that are drawn for the hidden sets where the form does not say."""
MOST_LABELS = 30
LONGEST_LABEL = 120
_TASK_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SPLIT_NAMES = ("split", "set", "subset", "partition", "teil")
_PART_OF = {"training": "train", "dev": "practice", "val": "practice", "valid": "practice", "validation": "practice"}
_UMLAUTS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"))
_YES = ("yes", "ja", "1", "true", "hateful", "hate", "offensive", "sexist", "toxic", "abusive", "harmful")


@dataclass(frozen=True, slots=True)
class TaskChoice:
    """A column that may become a task, its labels with their counts, and the question that it answers in a scheme."""

    column: str
    labels: Mapping[str, int]
    question: str
    title: str
    metric: str = "macro_f1"
    positive: str = ""
    chosen: bool = True


@dataclass(frozen=True, slots=True)
class PhaseChoice:
    """When predictions for a data set are taken, how many, and who reads the board; dates as texts, "" is now."""

    opens: str
    closes: str
    limit: int
    board: str = "public"
    survey: bool = False
    chosen: bool = True


@dataclass(frozen=True, slots=True)
class FileChoices:
    """What a form says about its file. `parts` is value of the split column → data set, or "" to leave it out."""

    tasks: Sequence[TaskChoice]
    phases: Mapping[str, PhaseChoice]
    split: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    shares: Mapping[str, int] = field(default_factory=lambda: dict(SHARES))
    seed: int = 1


def task_columns(rows: pl.DataFrame, taken: Collection[str | None], gold: Mapping[str, str] | None) -> list[TaskChoice]:
    """Return the columns of labels: of a scheme's questions (`gold`: question → column), else those with few values.

    Columns called like labels are chosen; without such a name, the first column is.
    """
    questions = {column: question for question, column in (gold or {}).items()}
    columns = [name for name in rows.columns if name not in taken] if gold is None else list(questions)
    found = []
    for name in columns:
        labels = label_counts(rows, name)
        if _are_few(labels):
            plain = name.removesuffix(GOLD).removeprefix("label_")
            chosen = name in questions or name != plain or plain == "label"
            found.append(
                TaskChoice(
                    name, labels, questions.get(name, ""), plain, positive=_positive(list(labels)), chosen=chosen
                )
            )
    if found and not any(task.chosen for task in found):
        found[0] = replace(found[0], chosen=True)
    return found


def label_counts(rows: pl.DataFrame, column: str) -> dict[str, int]:
    """Return how often each value of a column is there, most frequent first; empty cells are none."""
    import polars as pl

    values = rows[column].cast(pl.String, strict=False).str.strip_chars()
    counts = values.filter(values.is_not_null() & (values != "")).value_counts(sort=True)
    return dict(zip(counts[column].to_list(), counts["count"].to_list(), strict=True))


def _are_few(labels: Mapping[str, int]) -> bool:
    return 2 <= len(labels) <= MOST_LABELS and max(map(len, labels)) <= LONGEST_LABEL


def split_columns(rows: pl.DataFrame) -> list[str]:
    """Return the columns that could say which data set a post is in."""
    return [name for name in rows.columns if _are_few(label_counts(rows, name))]


def split_column(rows: pl.DataFrame, chosen: str = "") -> tuple[str, dict[str, str]]:
    """Return the column that divides a file, the one called so unless one is chosen, and which data set each value is.

    A file without such a column gives "". Where no value is called test, dev is the hidden test set.
    """
    folded = {name.strip().casefold(): name for name in rows.columns}
    name = chosen or next((folded[known] for known in _SPLIT_NAMES if known in folded), "")
    values = label_counts(rows, name) if name else {}
    if not _are_few(values):
        return "", {}
    parts = {value: _PART_OF.get(value.casefold(), value.casefold()) for value in values}
    if "test" not in parts.values():
        parts = {value: "test" if part == "practice" else part for value, part in parts.items()}
    return name, {value: part if part in PARTS else "" for value, part in parts.items()}


def name_of(title: str) -> str:
    """Return a title as a challenge's name in addresses."""
    spelt = reduce(lambda text, pair: text.replace(*pair), _UMLAUTS, title.lower())
    plain = unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


def plan_challenge(
    posts: pl.DataFrame,
    choices: FileChoices,
    *,
    name: str,
    title: str,
    visibility: str,
    texts: Mapping[str, str],
    scheme: Scheme | None,
    at: datetime,
) -> tuple[ChallengePlan, dict[str, pl.DataFrame]]:
    """Return the plan of a challenge and its data sets; `posts` have `id`, `text` and the columns of the file."""
    chosen = [task for task in choices.tasks if task.chosen]
    if not chosen:
        raise KeyedError("challenge_no_task", "Choose at least one column of labels as a task.")
    if len(chosen) > len(_TASK_NAMES):
        raise KeyedError("challenge_tasks", f"Choose at most {len(_TASK_NAMES)} tasks.", most=len(_TASK_NAMES))
    asked = {key: phase for key, phase in choices.phases.items() if phase.chosen}
    frames = _divide(posts, choices, chosen, asked)
    tasks = _tasks(posts, chosen, scheme)
    phases = tuple(
        ChallengePhase(
            "", "", part, place, part, _windows(part, phase, tasks, at), phase.limit, None, phase.board,
            "last" if part == "test" else "best", phase.survey, staggered=True,
        )
        for place, (part, phase) in enumerate(asked.items())
    )  # fmt: skip
    data = {part: DataFile(labels="public" if part == "train" else "hidden") for part in frames}
    columns = {task.name: one.column for task, one in zip(tasks, chosen, strict=True)}
    named = name or name_of(title)
    return ChallengePlan(named, title, visibility, texts, data, tasks, columns, phases, scheme), frames


def _divide(
    posts: pl.DataFrame, choices: FileChoices, tasks: Sequence[TaskChoice], phases: Collection[str]
) -> dict[str, pl.DataFrame]:
    """Return the posts of each data set: by the file's own column, or drawn, balanced by the labels of the tasks."""
    import polars as pl

    from davy.corpus.split.run import split

    wanted = [part for part in PARTS if part == "train" or part in phases]
    if choices.split:
        values = posts[choices.split].cast(pl.String).str.strip_chars()
        parts = values.replace_strict(dict(choices.parts), default="", return_dtype=pl.String)
    else:
        shares = {part: choices.shares[part] / 100 for part in wanted if part != "train"}
        if sum(shares.values()) >= 1:
            raise KeyedError("challenge_shares", "The shares leave no posts to learn from. Make them smaller.")
        balance = tuple(task.column for task in tasks)
        filled = posts.with_columns(pl.col(column).cast(pl.String).fill_null("") for column in balance)
        parts = split(filled, SplitPlan({"train": None, **shares}, stratify=balance, seed=choices.seed)).parts
    frames = {part: posts.filter(parts == part) for part in wanted}
    for part, frame in frames.items():
        if not len(frame) and part != "train":
            key = "challenge_empty_part" if choices.split else "challenge_alike"
            raise KeyedError(key, f"No post of the file is in the data set {part!r}.", part=part)
    return {part: frame for part, frame in frames.items() if len(frame)}


def _tasks(posts: pl.DataFrame, chosen: Sequence[TaskChoice], scheme: Scheme | None) -> tuple[ChallengeTask, ...]:
    """Return the tasks; one whose posts are a part of another's comes after it."""
    asked = _asked(posts, chosen, scheme)
    made = []
    for name, task in zip(asked, chosen, strict=True):
        question = scheme.question(task.question) if scheme is not None and task.question else None
        kind = "score" if task.metric in SCORE_METRICS else "labels"
        labels = question.label_names if question else tuple(task.labels)
        if kind == "score" and len(labels) != 2:
            raise KeyedError("challenge_two_labels", f"{task.metric} needs a task with two labels.", task=task.title)
        positive = question.positive if question else task.positive if len(labels) == 2 else None
        if kind == "score" and positive is not None:
            labels = (*(label for label in labels if label != positive), positive)
        after = tuple(other for other in asked if asked[name] < asked[other])
        made.append(
            ChallengeTask(name, task.title, task.question or task.column, labels, task.metric, kind, positive, after)
        )
    return tuple(made)


def _asked(posts: pl.DataFrame, chosen: Sequence[TaskChoice], scheme: Scheme | None) -> dict[str, frozenset[int]]:
    """Return by task the rows that have a label of it; under a scheme, those to which its question applies."""
    import polars as pl

    names = dict(zip((task.column for task in chosen), _TASK_NAMES, strict=False))
    if scheme is not None:
        columns = {task.question: task.column for task in chosen}
        golds = {columns[gold.question.name]: gold.rows for gold in settled_answers(posts, scheme, columns)}
        return {name: frozenset(golds.get(column, ())) for column, name in names.items()}
    filled = {column: posts[column].cast(pl.String).str.strip_chars().fill_null("") != "" for column in names}
    return {name: frozenset(filled[column].arg_true().to_list()) for column, name in names.items()}


def _windows(part: str, phase: PhaseChoice, tasks: Sequence[ChallengeTask], at: datetime) -> dict[str, TimeWindow]:
    """Return each task's window: a task that comes after others opens when they close, for as long as they had."""
    try:
        opens = parse_moment(phase.opens, at=at) if phase.opens else at
        closes = parse_moment(phase.closes, at=at, end=True)
    except ValueError:
        raise KeyedError("moment", "That is no date. Write 2027-01-31.") from None
    if opens >= closes:
        raise KeyedError("challenge_dates", f"The phase {part!r} closes before it opens.", phase=part)
    windows: dict[str, TimeWindow] = {}
    for task in sorted(tasks, key=lambda each: len(each.after)):
        first = max([opens, *(windows[other].closes for other in task.after)])
        windows[task.name] = TimeWindow(first, first + (closes - opens))
    return windows


def _positive(labels: Sequence[str]) -> str:
    """Return which of two labels is likely to be the one that is looked for: a known name, else the rarer one."""
    return next((label for label in labels if label.casefold() in _YES), labels[-1]) if labels else ""
