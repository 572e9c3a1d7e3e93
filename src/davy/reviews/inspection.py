"""Inspection (EDOS §6.2): two people read what every system misses; a summary of it; and the next data version.

A comparison in, a project file with its posts out. The project's answers in, the summary out: system and annotation
errors by false negatives and false positives, grey areas, themes, and how far the two readers agree. Posts whose label
is wrong go to a review in a project of their own scheme; the review's corpus in, corrected gold out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from davy import schemes
from davy.core import Metric
from davy.core.answers import split_cell
from davy.core.errors import UserError
from davy.evaluation.compare_systems import SystemComparison
from davy.evaluation.error_analysis import ErrorAnalysis
from davy.evaluation.prediction_matrix import NONE, PredictionMatrix
from davy.files import tables
from davy.files.atomic import make_folder, write_text
from davy.files.data_hash import rows_hash
from davy.measure.agreement import agreement
from davy.measure.intervals import Bootstrap, proportion
from davy.measure.ratings import Ratings
from davy.report import Column, Table

if TYPE_CHECKING:
    from davy.annotation.exchange.rows import AnsweredPost
    from davy.core.scheme import Scheme
    from davy.store import Store


ERRORS = ("system error", "annotation error")
GREY = "grey area"
META = "inspection"
"""Under this key of a post's meta stand the question, the gold label and what most systems answered."""


@dataclass(frozen=True, slots=True)
class MissedItem:
    """An item that every system gets wrong."""

    id: str
    question: str
    gold: str
    said: str
    """What most systems answered."""
    side: str
    """`false negative` or `false positive` of a yes/no question, else `gold → said`."""


@dataclass(frozen=True, slots=True)
class InspectedItem:
    """A missed item with what people found; `error` is None while they have not settled it."""

    item: MissedItem
    error: str | None
    grey: bool
    themes: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)
    """Reader → the error that they saw."""


@dataclass(frozen=True, slots=True)
class InspectionSummary:
    """The counts of §6.2."""

    inspected: int
    undecided: int
    errors: Mapping[str, Metric]
    """`system error` and `annotation error`, as shares of what was decided."""
    sides: Mapping[str, Mapping[str, int]]
    """Error → false negatives and false positives among it."""
    grey: Mapping[str, int]
    """Error → how many of them are a grey area."""
    themes: Mapping[str, Mapping[str, int]]
    """`system error, false negative` and so on → theme → how many."""
    kappa: Metric
    """Fleiss's κ of the readers over who is wrong."""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return {
            "inspected": self.inspected,
            "undecided": self.undecided,
            "errors": {name: metric.to_dict() for name, metric in self.errors.items()},
            "sides": {name: dict(sides) for name, sides in self.sides.items()},
            "grey": dict(self.grey),
            "themes": {name: dict(themes) for name, themes in self.themes.items()},
            "kappa": self.kappa.to_dict(),
        }

    def tables(self) -> list[Table]:
        """Return the summary as tables: errors by side, then themes."""
        sides = list(dict.fromkeys(side for counts in self.sides.values() for side in counts))
        rows = [
            (name, self.errors[name], *(self.sides[name].get(side, 0) for side in sides), self.grey[name])
            for name in ERRORS
        ]
        columns = [Column("what"), Column("share", "metric"), *(Column(f"{side}s", "count") for side in sides),
                   Column("grey area", "count")]  # fmt: skip
        note = f"{self.inspected:,} inspected, {self.undecided:,} undecided. Readers agree with κ = {self.kappa}."
        tables_shown = [Table.of(columns, rows, title="Whose error is it?", note=note)]
        themes = [(group, theme, n) for group, counts in self.themes.items() for theme, n in counts.items()]
        if themes:
            tables_shown.append(Table.of(["errors", "theme", "items"], themes, title="Themes"))
        return tables_shown


def missed_items(matrix: PredictionMatrix, errors: ErrorAnalysis, *, most: int, seed: int) -> list[MissedItem]:
    """Return the items that every system misses; where there are more than `most`, a random sample of so many."""
    chosen = matrix.select(errors.systems)
    place = {post: i for i, post in enumerate(chosen.ids)}
    ids = list(errors.missed)
    if len(ids) > most:
        ids = [ids[i] for i in sorted(np.random.default_rng(seed).choice(len(ids), most, replace=False))]
    labels, task = matrix.task.labels, matrix.task
    items = []
    for post in ids:
        answers = Counter(int(code) for code in chosen.values[:, place[post]] if code != NONE)
        gold = labels[chosen.gold[place[post]]]
        predicted = labels[min(answers, key=lambda code: (-answers[code], code))] if answers else "no answer"
        side = f"{gold} → {predicted}"
        if task.positive is not None:
            side = "false negative" if gold == task.positive else "false positive"
        items.append(MissedItem(post, task.question, gold, predicted, side))
    return items


def summarise_items(items: Sequence[InspectedItem], *, bootstrap: Bootstrap | None = None) -> InspectionSummary:
    """Return the counts over items that at least one person has read."""
    read = [item for item in items if item.readings or item.error]
    decided = [item for item in read if item.error is not None]
    by_error = {name: [item for item in decided if item.error == name] for name in ERRORS}
    themes: dict[str, Counter[str]] = {}
    for item in decided:
        themes.setdefault(f"{item.error}, {item.item.side}", Counter()).update(item.themes)
    return InspectionSummary(
        len(read),
        len(read) - len(decided),
        {name: proportion(name, len(group), len(decided)) for name, group in by_error.items()},
        {name: dict(Counter(item.item.side for item in group).most_common()) for name, group in by_error.items()},
        {name: sum(item.grey for item in group) for name, group in by_error.items()},
        {name: dict(counts.most_common()) for name, counts in sorted(themes.items()) if counts},
        _kappa(read, bootstrap),
    )


def _kappa(items: Sequence[InspectedItem], bootstrap: Bootstrap | None) -> Metric:
    """Return Fleiss's κ over the items that two people or more have read."""
    shared = [item for item in items if len(item.readings) > 1]
    if not shared:
        return Metric("κ", None, 0, note="not defined: no item was read by two people")
    answers = [(item.item.id, reader, error) for item in shared for reader, error in item.readings.items()]
    ids, readers, labels = (list(column) for column in zip(*answers, strict=True))
    counts = Ratings.from_rows(ids, readers, labels, among=ERRORS).counts()
    return next(metric for metric in agreement(counts, bootstrap=bootstrap) if metric.name == "fleiss")


@dataclass(frozen=True, slots=True)
class Correction:
    """One label that a review changed."""

    id: str
    question: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class CorrectedGold:
    """A new version of a gold file: what changed, and both hashes."""

    frame: pl.DataFrame
    corrections: tuple[Correction, ...]
    before: str
    after: str

    def to_dict(self) -> dict[str, Any]:
        """Return what changed as plain values."""
        return {"before": self.before, "after": self.after, "corrections": [asdict(it) for it in self.corrections]}


def write_inspection(
    comparison: SystemComparison,
    posts: pl.DataFrame,
    folder: Path,
    *,
    question: str | None,
    most: int = 100,
    seed: int = 0,
) -> list[MissedItem]:
    """Write project.yaml and one file of posts a side into a folder; return the items.

    Each side (false negatives, false positives) is a phase, whose name tells the reader the label and the answer.
    """
    tasks = [task for task in comparison.tasks if question is None or task.board.task.question == question]
    if not tasks or tasks[0].errors is None:
        asked = ", ".join(task.board.task.question for task in comparison.tasks)
        raise UserError(f"There are no errors of {question!r} to inspect; the questions are {asked}")
    if "text" not in posts.columns:
        raise UserError("The gold file has no column 'text', so nobody could read the posts. Add it")
    texts = {str(post): text for post, text in posts.select("id", "text").iter_rows()}
    return write_queue(tasks[0].matrix, tasks[0].errors, texts, folder, title=comparison.title, most=most, seed=seed)


def write_queue(
    matrix: PredictionMatrix,
    errors: ErrorAnalysis,
    texts: Mapping[str, str],
    folder: Path,
    *,
    title: str,
    most: int,
    seed: int,
) -> list[MissedItem]:
    """Write project.yaml and the posts that every system misses, by side, into a folder; return the items."""
    items = missed_items(matrix, errors, most=most, seed=seed)
    if not items:
        raise UserError("Every item is right for some system, so there is nothing to inspect. Lower --top")
    make_folder(folder)
    sides: dict[tuple[str, str], list[MissedItem]] = {}
    for item in items:
        key = (item.gold, item.said) if len(matrix.task.labels) == 2 else (item.gold, "something else")
        sides.setdefault(key, []).append(item)
    lines = ["# Made by davy inspect create. Then: davy project create project.yaml", "preset: inspection",
             f"name: {_slug(f'inspection-{title}-{matrix.task.name}')}",
             f"title: {json.dumps(f'What every system misses: {title}', ensure_ascii=False)}",
             "phases:"]  # fmt: skip
    for number, ((gold, predicted), group) in enumerate(sides.items(), 1):
        file = f"posts-{number}.csv"
        rows = [
            {
                "id": item.id,
                "text": texts[item.id],
                "meta": json.dumps({META: asdict(item)}, ensure_ascii=False),
            }
            for item in group
        ]
        tables.write(pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.String)).lazy(), folder / file)
        name = json.dumps(f"labelled {gold}, systems say {predicted}", ensure_ascii=False)
        lines.append(f"  - {{name: {name}, kind: production, posts: {file}, answers: 2}}")
    write_text(folder / "project.yaml", "\n".join(lines) + "\n")
    return items


def inspected_items(store: Store, project: str) -> list[tuple[InspectedItem, str]]:
    """Return what people found about each item of an inspection project, with its text."""
    from davy.annotation.exchange.row_export import choose_phases, gather_rows
    from davy.annotation.project.project_scheme import scheme_of
    from davy.annotation.project.store import projects

    with store.read() as db:
        kept = projects.get(db, project)
        scheme = scheme_of(db, kept)
        if scheme.name != "inspection":
            raise UserError(f"Project {project!r} asks by scheme {scheme.name!r}; an inspection asks by 'inspection'.")
        rows = list(gather_rows(db, kept, scheme, choose_phases(db, kept, "all"), comments=False))
    return [(_inspected(row), row.text or "") for row in rows]


def summarise_inspection(store: Store, project: str) -> InspectionSummary:
    """Return the summary of §6.2 of an inspection project."""
    return summarise_items([item for item, _ in inspected_items(store, project)])


def write_review(store: Store, project: str, folder: Path, *, scheme: str) -> int:
    """Write a project file and the posts whose label was found wrong, for a review by that scheme; return how many.

    Readers of the review are not told the label, what systems said, or that it was called wrong.
    """
    wrong = [(item, text) for item, text in inspected_items(store, project) if item.error == "annotation error"]
    if not wrong:
        raise UserError(f"Nobody has settled on an annotation error in {project!r} yet, so there is nothing to review.")
    make_folder(folder)
    rows = {"id": [item.item.id for item, _ in wrong], "text": [text for _, text in wrong]}
    tables.write(pl.DataFrame(rows).lazy(), folder / "posts.csv")
    lines = [f"name: {_slug(f'review-of-{project}')}", f"title: Labels to review, from {project}", f"scheme: {scheme}",
             "posts: posts.csv", "phases:", "  - {name: review, kind: expert, posts: rest, answers: 1}"]  # fmt: skip
    write_text(folder / "project.yaml", "\n".join(lines) + "\n")
    return len(wrong)


def correct_gold(gold: pl.DataFrame, review: pl.DataFrame, scheme: Scheme) -> CorrectedGold:
    """Return gold with a review's settled answers in it: columns `Q.gold` of both, joined by `id`.

    A question that the review left unsettled keeps its answer, unless the corrected answers above rule it out.
    """
    shared = [q for q in scheme.questions if all(f"{q.name}.gold" in frame.columns for frame in (gold, review))]
    if not shared or "id" not in gold.columns or "id" not in review.columns:
        raise UserError(
            f"Gold and review need `id` and a column Q.gold of scheme {scheme.name!r} in common; "
            f"the review has {', '.join(review.columns)}"
        )
    places = {str(post): row for row, post in enumerate(gold["id"])}
    unknown = [str(post) for post in review["id"] if str(post) not in places]
    if unknown:
        raise UserError(f"The review has {len(unknown):,} ids that gold does not have, such as {unknown[0]!r}")
    cells = {q.name: gold[f"{q.name}.gold"].cast(pl.String).to_list() for q in shared}
    corrections = []
    for answers in review.iter_rows(named=True):
        row = places[str(answers["id"])]
        for question in shared:
            before = cells[question.name][row]
            after = answers[f"{question.name}.gold"] or before
            if question.under and question.under[0] in cells:
                above = split_cell(cells[question.under[0]][row])
                after = after if question.applies_under(above) else None
            absent = before is None or before in question.absent
            if after != before and not (after is None and absent):
                corrections.append(Correction(str(answers["id"]), question.name, before, after))
                cells[question.name][row] = after
    frame = gold.with_columns(pl.Series(f"{name}.gold", column, dtype=pl.String) for name, column in cells.items())
    return CorrectedGold(frame, tuple(corrections), rows_hash(gold), rows_hash(frame))


def write_corrected(gold: Path, review: Path, out: Path, *, scheme: str) -> CorrectedGold:
    """Write the next version of a gold file to a new file, and return what changed."""
    if out.exists():
        raise UserError(f"{out} is there already. What was published never changes in place: choose another name.")
    before, answers = (pl.concat(list(tables.batches(str(path))), how="diagonal_relaxed") for path in (gold, review))
    corrected = correct_gold(before, answers, schemes.load(scheme))
    tables.write(corrected.frame.lazy(), out)
    return corrected


def _inspected(row: AnsweredPost) -> InspectedItem:
    about: dict[str, Any] = row.meta.get(META) or {}
    names = ("question", "gold", "said", "side")
    item = MissedItem(row.id, *(str(about.get(name, "unknown")) for name in names))
    readings = {given.annotator: given.answers["error"][0] for given in row.given if given.answers.get("error")}
    settled = row.settled.get("error")
    grey = row.settled.get("grey_area")
    greys = [grey.labels] if grey else [given.answers.get("grey_area") or () for given in row.given]
    themes = row.settled.get("themes")
    picked: Sequence[Sequence[str]] = [themes.labels] if themes and themes.labels else [
        given.answers.get("themes") or () for given in row.given
    ]  # fmt: skip
    return InspectedItem(
        item,
        settled.labels[0] if settled and settled.labels else None,
        any(GREY in labels for labels in greys),
        tuple(dict.fromkeys(theme for labels in picked for theme in labels)),
        readings,
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]
