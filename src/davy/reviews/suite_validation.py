"""Validate a suite with people: its cases out, their answers and experts' decisions back, and which cases to review.

A post's id is the case's id and a hash of its text. A reworded case is another post, so that it is labelled anew and
nobody's old answer counts for a new sentence. An expert who drops a post finds the case at fault, one who decides
about it the annotators.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from davy.annotation.exchange.store.export_rows import iter_posts
from davy.annotation.labelling.store import items
from davy.annotation.project.project_creation import add_posts
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, posts, projects
from davy.core import Metric, UserError
from davy.core.scheme import Question
from davy.files import tables
from davy.files.atomic import make_folder, write_text
from davy.measure.agreement import agreement
from davy.measure.intervals import Bootstrap
from davy.measure.ratings import Ratings
from davy.store import Store
from davy.testing.suite import Case, Suite

if TYPE_CHECKING:
    import polars as pl


PHASE = "validation"
Decisions = dict[tuple[str, str], str]
COLUMNS: tuple[str, ...] = ("case_id", "text_hash", "text", "label", "unrealistic", "comment")
FAULTS: tuple[str, ...] = ("case", "annotator")
_YES = ("1", "true", "yes", "x", "y")
_NO = ("", "0", "false", "no", "n")


def suite_posts(suite: Suite) -> pl.DataFrame:
    """Return a suite's cases as posts, without a hint at the right label."""
    import polars as pl

    return pl.DataFrame(
        {
            "id": [post_id(case) for case in suite.cases],
            "text": [case.text for case in suite.cases],
            "lang": [case.lang or suite.lang for case in suite.cases],
            "source": [f"suite {suite.name}"] * len(suite.cases),
            "meta": [json.dumps({"suite": suite.name, "case": case.id}) for case in suite.cases],
        }
    )


def post_id(case: Case) -> str:
    """Return the id that a case's post has while its text is this one."""
    return f"{case.id}.{text_hash(case)}"


def write_validation_project(suite: Suite, scheme: str, folder: Path) -> tuple[Path, Path]:
    """Write project.yaml and posts.csv for `davy project create`; return their paths."""
    make_folder(folder)
    plan = {
        "preset": "hatemoji-check",
        "name": f"{suite.name}-validation",
        "title": f"Validation of {suite.title or suite.name}",
        "scheme": scheme,
        "languages": [suite.lang],
    }
    project = write_text(folder / "project.yaml", yaml.safe_dump(plan, allow_unicode=True, sort_keys=False, width=110))
    tables.write(suite_posts(suite).lazy(), folder / "posts.csv")
    return project, folder / "posts.csv"


def read_project(store: Store, project_id: str, suite: Suite) -> tuple[list[ValidationAnswer], Decisions]:
    """Return what annotators answered to a suite's cases in a project, and whose fault experts found."""
    answers: list[ValidationAnswer] = []
    decided: Decisions = {}
    people: dict[str, str] = {}
    with store.read() as db:
        project = projects.get(db, project_id)
        giving = [phase for phase in phases.of_project(db, project_id) if phase.behaviour.gives_verdicts]
        dropped = {item.post for phase in giving for item in items.iter_items(db, phase.id) if item.state == "dropped"}
        for row in iter_posts(db, project, [phase.id for phase in giving]):
            case, _, hashed = str(row.post["id"]).rpartition(".")
            for annotation in row.annotations:
                labels = annotation.answers.get(suite.question, ())
                if annotation.refused or not labels:
                    continue
                who = people.setdefault(annotation.annotator, f"annotator {len(people) + 1}")
                flagged = "unrealistic" in annotation.flags
                answers.append(ValidationAnswer(case, who, labels[0], flagged, annotation.comment or "", hashed))
            if row.key in dropped:
                decided[case, hashed] = "case"
            elif any(verdict.basis == "expert" for verdict in row.verdicts):
                decided[case, hashed] = "annotator"
    if not answers:
        raise UserError(f"Project {project_id!r} holds no answers to {suite.question!r} yet.")
    return answers, decided


def issue_again(store: Store, project_id: str, suite: Suite, *, by: str) -> int:
    """Add the cases whose present text the project does not have, and return how many there are."""
    import polars as pl

    frame = suite_posts(suite)
    with store.write() as db:
        project = projects.get(db, project_id)
        phase = next((one for one in phases.of_project(db, project_id) if one.name == PHASE), None)
        if phase is None:
            raise UserError(f"Project {project_id!r} has no phase {PHASE!r}. Make one: davy suite project")
        known = posts.keys_of(db, project_id, frame["id"].to_list())
        new = frame.filter(~pl.col("id").is_in(list(known)))
        return add_posts(db, project, phase, new, scheme_of(db, project), by=by) if len(new) else 0


@dataclass(frozen=True, slots=True)
class ValidationAnswer:
    """What one annotator said to one case."""

    case: str
    annotator: str
    label: str
    unrealistic: bool
    comment: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class SuiteReview:
    """Where a validation stands."""

    rows: tuple[dict[str, str], ...]
    """Cases to look at, with who said what and, where a reviewer has decided, whose fault it is."""
    kappa: Metric
    """Randolph's κ over the cases as they are now."""
    percent: Metric
    answered: int
    """Cases with an answer of every annotator."""
    stale: int
    """Answers to texts that have changed since."""
    open: int
    """Cases to look at that nobody has decided about."""
    replace: dict[str, list[str]] = field(default_factory=dict)
    """Template → its cases that a reviewer found at fault and whose text still stands."""


def text_hash(case: Case) -> str:
    """Return a short hash of a case's text."""
    return hashlib.sha256(case.text.encode()).hexdigest()[:12]


def issue_cases(
    suite: Suite, annotator: str, answers: Sequence[ValidationAnswer] = (), *, seed: int = 0
) -> pl.DataFrame:
    """Return the cases that an annotator has not answered yet, shuffled, without a hint at the right label."""
    import polars as pl

    answered = {(answer.case, answer.text_hash) for answer in answers if answer.annotator == annotator}
    left = [case for case in suite.cases if (case.id, text_hash(case)) not in answered]
    random.Random(f"{seed} {annotator}").shuffle(left)  # noqa: S311 - an order to read in, not a secret
    rows = {
        "case_id": [case.id for case in left],
        "text_hash": [text_hash(case) for case in left],
        "text": [case.text for case in left],
        **{name: [""] * len(left) for name in ("label", "unrealistic", "comment")},
    }
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String))


def read_answers(rows: pl.DataFrame, annotator: str, question: Question, file: str) -> list[ValidationAnswer]:
    """Return an annotator's answers; rows without a label are not answered yet. A wrong cell is named with its row."""
    lacking = [name for name in ("case_id", "text_hash", "label") if name not in rows.columns]
    if lacking:
        raise UserError(f"{file} has no column {lacking[0]!r}. Give a file that davy suite issue wrote, filled in.")
    answers: dict[str, ValidationAnswer] = {}
    for number, row in enumerate(rows.iter_rows(named=True), 2):
        spelling = str(row["label"] or "").strip()
        flag = str(row.get("unrealistic") or "").strip().lower()
        if flag not in (*_YES, *_NO):
            raise UserError(f"{file}, row {number}: unrealistic is {flag!r}. Write yes, or leave it empty.")
        if not spelling:
            continue
        try:
            label = question.label(spelling).name
        except KeyError:
            labels = ", ".join(question.label_names)
            raise UserError(f"{file}, row {number}: {spelling!r} is not a label; write one of: {labels}.") from None
        case = str(row["case_id"])
        if case in answers:
            raise UserError(f"{file}, row {number}: case {case} is answered twice. Keep one.")
        comment = str(row.get("comment") or "").strip()
        answers[case] = ValidationAnswer(case, annotator, label, flag in _YES, comment, str(row["text_hash"]))
    return list(answers.values())


def read_decisions(rows: pl.DataFrame, file: str) -> Decisions:
    """Return a reviewer's decisions, (case, text hash) → whose fault it is, from a review file."""
    for name in ("case_id", "text_hash", "fault"):
        if name not in rows.columns:
            raise UserError(f"{file} has no column {name!r}. Give the file that davy suite review wrote.")
    decided: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows.iter_rows(named=True), 2):
        fault = str(row["fault"] or "").strip().lower()
        if fault and fault not in FAULTS:
            raise UserError(
                f"{file}, row {number}: fault is {fault!r}. Write {' or '.join(FAULTS)}, or leave it empty."
            )
        if fault:
            decided[str(row["case_id"]), str(row["text_hash"])] = fault
    return decided


def review_answers(
    suite: Suite,
    answers: Iterable[ValidationAnswer],
    decided: dict[tuple[str, str], str] | None = None,
    *,
    bootstrap: Bootstrap | None = None,
) -> SuiteReview:
    """Return what needs a look: any disagreement, with each other or with the suite, and any unrealistic flag."""
    decided = decided or {}
    cases = {case.id: case for case in suite.cases}
    current = {case.id: text_hash(case) for case in suite.cases}
    given: dict[str, list[ValidationAnswer]] = defaultdict(list)
    stale = 0
    for answer in answers:
        if current.get(answer.case) == answer.text_hash:
            given[answer.case].append(answer)
        else:
            stale += 1
    people = sorted({answer.annotator for group in given.values() for answer in group})
    rows = [
        _row(case, given[case.id], people, decided.get((case.id, current[case.id]), ""))
        for case in suite.cases
        if _needs_review(_right_label(case, cases), given.get(case.id, []))
    ]
    replace: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["fault"] == "case":
            replace[row["template"]].append(row["case_id"])
    kappa, percent = _agreement(suite, given, bootstrap)
    complete = sum(len(group) == len(people) for group in given.values())
    undecided = sum(not row["fault"] for row in rows)
    return SuiteReview(tuple(rows), kappa, percent, complete, stale, undecided, dict(replace))


def _right_label(case: Case, cases: Mapping[str, Case]) -> str | None:
    """Return the label that people should give: of an INV its original's; a DIR has none, only its score moves."""
    if case.test == "INV":
        return cases[str(case.pair)].expected
    return case.expected if case.test == "MFT" else None


def _needs_review(right: str | None, answers: Sequence[ValidationAnswer]) -> bool:
    labels = {answer.label for answer in answers}
    disputed = len(labels) > 1 or (right is not None and labels != {right})
    return bool(answers) and (disputed or any(answer.unrealistic for answer in answers))


def _row(case: Case, answers: Sequence[ValidationAnswer], people: Sequence[str], fault: str) -> dict[str, str]:
    by_person = {answer.annotator: answer for answer in answers}
    return {
        "case_id": case.id,
        "text_hash": text_hash(case),
        "text": case.text,
        "template": case.template or "",
        "functionality": case.functionality,
        "set": case.set,
        "expected": case.expected,
        **{name: by_person[name].label if name in by_person else "" for name in people},
        "unrealistic": ", ".join(answer.annotator for answer in answers if answer.unrealistic),
        "comments": " / ".join(f"{answer.annotator}: {answer.comment}" for answer in answers if answer.comment),
        "fault": fault,
    }


def _agreement(
    suite: Suite, given: dict[str, list[ValidationAnswer]], bootstrap: Bootstrap | None
) -> tuple[Metric, Metric]:
    flat = [answer for group in given.values() for answer in group]
    ratings = Ratings.from_rows(
        [answer.case for answer in flat],
        [answer.annotator for answer in flat],
        [answer.label for answer in flat],
        among=suite.labels,
    )
    metrics = {metric.name: metric for metric in agreement(ratings.counts(), bootstrap=bootstrap)}
    return metrics["randolph"], metrics["percent"]
