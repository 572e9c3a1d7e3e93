"""A challenge as a file: YAML in, a `ChallengePlan` out, or what is wrong with it by file and line.

Files that it names are relative to itself. A date without a time is midnight UTC, the end of the day for `closes`;
`+14d` counts from when the challenge is made. The one thing to know: labels of a data set are hidden unless the file
says `labels: public`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from davy import schemes
from davy.challenges.challenge import BOARDS, COUNTS, VISIBILITIES, ChallengePhase, ChallengeTask, TimeWindow
from davy.core.errors import UserError, nearest
from davy.core.scheme import Scheme
from davy.evaluation.tasks import Task
from davy.files import yaml_objects
from davy.files.yaml_nodes import Problems, YamlMap, YamlText, line_at

PACKAGE = "davy.challenges.presets"
TEXTS: tuple[str, ...] = ("description", "rules", "contact", "licence")
KEYS: tuple[str, ...] = ("name", "title", "scheme", "visibility", *TEXTS, "corpus", "images", "data", "tasks", "phases")
_LISTS = ("data", "tasks", "phases")
LABELS: tuple[str, ...] = ("public", "hidden", "none")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")


@dataclass(frozen=True, slots=True)
class DataFile:
    """Where a data set's posts are, and whether teams get its labels; `none` is unlabelled data for the kit."""

    file: str = ""
    split: str | None = None
    labels: str = "hidden"

    def __post_init__(self) -> None:
        _one_of(self.labels, LABELS, "labels")


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task as the file says it."""

    name: str
    question: str = ""
    title: str = ""
    column: str | None = None
    labels: tuple[str, ...] = ()
    metric: str = "macro_f1"
    kind: str | None = None
    positive: str | None = None
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name[:30]!r} can't name a task. Use letters, digits and hyphens, such as A")


@dataclass(frozen=True, slots=True)
class PlannedPhase:
    """A phase as the file says it; `opens` and `closes` hold for every task that `windows` does not name."""

    name: str
    data: str
    opens: str | None = None
    closes: str | None = None
    windows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limit: int = 2
    per_day: int | None = None
    board: str = "public"
    counts: str = "last"
    survey: bool | None = None
    embargo: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name[:30]!r} can't name a phase. Use letters, digits and hyphens, such as test")
        _one_of(self.board, BOARDS, "board")
        _one_of(self.counts, COUNTS, "counts")
        if not 1 <= self.limit <= 10_000 or (self.per_day is not None and not 1 <= self.per_day <= 10_000):
            raise ValueError("limit and per-day are whole numbers from 1 to 10000")


@dataclass(frozen=True, slots=True)
class ChallengePlan:
    """A whole challenge file, checked. `columns` says where each task's labels are."""

    name: str
    title: str
    visibility: str
    texts: Mapping[str, str]
    data: Mapping[str, DataFile]
    tasks: tuple[ChallengeTask, ...]
    columns: Mapping[str, str]
    phases: tuple[ChallengePhase, ...]
    scheme: Scheme | None = None
    corpus: str | None = None
    images: str = ""
    """The folder of the pictures that posts name."""
    survey: tuple[Mapping[str, Any], ...] = ()


def read_plan(path_or_preset: str | Path, *, at: datetime) -> ChallengePlan:
    """Return the plan in a file, or of a preset by its name; `at` is when the challenge is made."""
    raw = yaml_objects.read_shipped_or_file(str(path_or_preset), PACKAGE, "challenge")
    return parse_plan(raw, str(path_or_preset), at=at)


def parse_plan(raw: bytes, file: str, *, at: datetime) -> ChallengePlan:
    """Return the plan of a file's bytes; the first problem in it becomes a `UserError` with its line."""
    problems = Problems(file, what="challenge", example="docs/compare/challenges.md")
    root = yaml_objects.read_root(raw, problems, KEYS)
    for key in ("name", "title", "data", "tasks", "phases"):
        if root.get(key) is None:
            problems.add(root.line, f"The challenge lacks `{key}:`. Add it.")
    values = {key: _text(root, key, problems) for key in KEYS if key not in _LISTS}
    visibility = values["visibility"] or "accounts"
    if visibility not in VISIBILITIES:
        problems.add(root.line_of("visibility"), f"`visibility` is one of {', '.join(VISIBILITIES)}.")
    scheme = _scheme(root, values["scheme"], problems)
    data = _data(root, problems)
    planned = yaml_objects.build_list(root, "tasks", PlannedTask, problems)
    tasks = [_task(plan, scheme, problems, root.line_of("tasks")) for plan in planned]
    phases = yaml_objects.build_list(root, "phases", PlannedPhase, problems)
    problems.raise_first()
    whole = [task for task in tasks if task is not None]
    _check_names(root, whole, phases, data, problems)
    made = [_phase(phase, place, whole, data, at, problems, root) for place, phase in enumerate(phases)]
    problems.raise_first()
    return ChallengePlan(
        values["name"],
        values["title"],
        visibility,
        {key: values[key] for key in TEXTS},
        data,
        tuple(whole),
        {plan.name: plan.column or "" for plan in planned},
        tuple(phase for phase in made if phase is not None),
        scheme,
        values["corpus"] or None,
        values["images"],
    )


def parse_moment(text: str, *, at: datetime, end: bool = False) -> datetime:
    """Return the moment that a text names: ISO 8601, a date, or `+14d`; `end` takes a date to the end of its day."""
    text = text.strip()
    if match := re.fullmatch(r"\+(\d{1,4})\s*([dhm])", text):
        unit = {"d": "days", "h": "hours", "m": "minutes"}[match[2]]
        return at + timedelta(**{unit: int(match[1])})
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            day = datetime.combine(datetime.fromisoformat(text).date(), time(), UTC)
            return day + timedelta(days=1) if end else day
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is no date. Write 2027-01-31, 2027-01-31T12:00+00:00 or +14d") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def board_task(task: ChallengeTask) -> Task:
    """Return the task as the board ranks by it."""
    positive = task.positive or (task.labels[-1] if task.kind == "score" else None)
    return Task(task.name, task.question, task.labels, task.metric, task.kind, positive)


def _scheme(root: YamlMap, name: str, problems: Problems) -> Scheme | None:
    if not name:
        return None
    try:
        return schemes.load(name)
    except UserError as error:
        problems.add(root.line_of("scheme"), error.message)
        return None


def _data(root: YamlMap, problems: Problems) -> dict[str, DataFile]:
    node = root.get("data")
    if not isinstance(node, YamlMap):
        problems.add(
            root.line_of("data"), "`data` must map names to files: `train: {file: train.csv, labels: public}`."
        )
        return {}
    files = {}
    for name, inner in node.items():
        line = line_at(name, root.line_of("data"))
        if not _NAME.fullmatch(name):
            problems.add(line, f"{str(name)[:30]!r} can't name a data set. Use letters, digits and hyphens.")
        if isinstance(inner, YamlText):
            inner = YamlMap({YamlText("file"): inner})
        if not isinstance(inner, YamlMap):
            problems.add(line, f"`data`, {str(name)!r}: write a file or {{file: F, labels: public}}.")
            continue
        made = yaml_objects.build(DataFile, inner, f"`data`, {str(name)!r}", problems, line)
        if made is not None:
            files[str(name)] = made
    return files


def _task(plan: PlannedTask, scheme: Scheme | None, problems: Problems, line: int) -> ChallengeTask | None:
    """Return the task; labels and the positive one come from the scheme's question where the file names none."""
    labels, positive, title = plan.labels, plan.positive, plan.title
    question = plan.question or plan.name
    if scheme is not None:
        names = [each.name for each in scheme.questions]
        if question not in names:
            hint = nearest(question, names)
            problems.add(line, f"Scheme {scheme.name!r} has no question {question!r}; it has {', '.join(names)}.{hint}")
            return None
        asked = scheme.question(question)
        labels, positive = labels or asked.label_names, positive or asked.positive
        title = title or str(asked.title) or question
    try:
        kind = plan.kind or ("score" if plan.metric in ("auroc", "average_precision", "roc_auc") else "labels")
        task = ChallengeTask(plan.name, title or question, question, labels, plan.metric, kind, positive, plan.after)
        board_task(task)
    except (ValueError, UserError) as error:
        problems.add(line, str(error))
        return None
    return task


def _check_names(
    root: YamlMap,
    tasks: list[ChallengeTask],
    phases: tuple[PlannedPhase, ...],
    data: Mapping[str, DataFile],
    problems: Problems,
) -> None:
    for key, names in (("tasks", [task.name for task in tasks]), ("phases", [phase.name for phase in phases])):
        if not names:
            problems.add(root.line_of(key), f"`{key}` has none. A challenge needs one.")
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                problems.add(root.line_of(key), f"Two of `{key}` are called {name!r}. Give each a name of its own.")
    known = [task.name for task in tasks]
    for place, task in enumerate(tasks):
        for name in task.after:
            if name not in known[:place]:
                problems.add(
                    root.line_of("tasks"), f"Task {task.name!r} comes after {name!r}, which is no task before it."
                )
    for phase in phases:
        if phase.data not in data or data[phase.data].labels == "none":
            problems.add(
                root.line_of("phases"),
                f"Phase {phase.name!r} asks about the data {phase.data!r}, which has no labels here. "
                f"`data` has {', '.join(data)}.",
            )
        for name in phase.windows:
            if name not in known:
                problems.add(
                    root.line_of("phases"), f"Phase {phase.name!r} has a window for {name!r}, which is no task."
                )


def _phase(
    plan: PlannedPhase,
    place: int,
    tasks: list[ChallengeTask],
    data: Mapping[str, DataFile],
    at: datetime,
    problems: Problems,
    root: YamlMap,
) -> ChallengePhase | None:
    line, windows = root.line_of("phases"), {}
    for task in tasks:
        given = plan.windows.get(task.name)
        if given is None and plan.opens is None and plan.windows:
            continue  # the phase has only the tasks that it names
        opens, closes = given if given and len(given) == 2 else (plan.opens, plan.closes)
        if given is not None and len(given) != 2:
            problems.add(line, f"Phase {plan.name!r}, {task.name!r}: a window is [opens, closes].")
        try:
            windows[task.name] = _window(opens, closes, at)
        except ValueError as error:
            problems.add(line, f"Phase {plan.name!r}, {task.name!r}: {error}.")
    hidden = plan.data in data and data[plan.data].labels == "hidden"
    try:
        embargo = None if plan.embargo is None else parse_moment(plan.embargo, at=at)
    except ValueError as error:
        problems.add(line, f"Phase {plan.name!r}, embargo: {error}.")
        return None
    survey = hidden if plan.survey is None else plan.survey
    limits = (plan.limit, plan.per_day, plan.board, plan.counts)
    phase = ChallengePhase("", "", plan.name, place, plan.data, windows, *limits, survey, hidden, embargo)
    for task in tasks:
        open_for = phase.window(task)
        if open_for is not None and open_for.opens >= open_for.closes:
            names = " and ".join(task.after)
            problems.add(line, f"Phase {plan.name!r}: {task.name!r} closes before {names}, which it comes after.")
    return phase


def _window(opens: str | None, closes: str | None, at: datetime) -> TimeWindow:
    first = at if opens is None else parse_moment(opens, at=at)
    if closes is None:
        raise ValueError("it needs a date on which it closes")
    window = TimeWindow(first, parse_moment(closes, at=at, end=True))
    if window.opens >= window.closes:
        raise ValueError(f"it closes on {closes} before it opens")
    return window


def _text(root: YamlMap, key: str, problems: Problems) -> str:
    node = root.get(key)
    if node is not None and not isinstance(node, YamlText):
        problems.add(root.line_of(key), f"`{key}` must be one text.")
        return ""
    return str(node or "")


def _one_of(value: str, known: tuple[str, ...], what: str) -> None:
    if value not in known:
        raise ValueError(f"{what} is {value!r}; choose {', '.join(known)}.{nearest(value, list(known))}")
