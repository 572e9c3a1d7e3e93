"""What `davy agree` prints and draws: coefficients with their words, tables, and plots of combinations of annotators.

Studies in; tables in the terminal out, and with --subsets --out the agreement of every combination of annotators as one
plot, or as a page with a plot and a table for each question, as in GMHP7k's Figure 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from davy.core.errors import UserError
from davy.measure.agreement import COEFFICIENTS, verbal_labels
from davy.measure.agreement_study import AgreementStudy, has_words
from davy.measure.ratings import order_labels
from davy.report import Column, Page, Provenance, Table
from davy.report.plots import Plot, scatter
from davy.shell import console

if TYPE_CHECKING:
    from davy.core import Metric
    from davy.measure.intervals import Bootstrap


MOST_IN_A_MATRIX = 12
MOST_IN_A_LIST = 50


def show(found: list[AgreementStudy], by: str | None, coefficient: str, pairs: bool, bootstrap: Bootstrap) -> None:
    """Print every study's coefficients, then what they are without each annotator, for each label and each pair."""

    if by is not None:
        _print_sizes(found, by)
    for study in found:
        _print_coefficients(study)
    measured = [study for study in found if study["percent"].n]
    title = COEFFICIENTS[coefficient]
    if any(study.one_out for study in measured):
        _print_panels(measured, f"{title} of all annotators, and without each", coefficient)
    _print_labels(measured, by)
    for study in measured:
        if pairs and 2 < len(study.ratings.annotators) <= MOST_IN_A_MATRIX:
            _print_pairs(study)
        if study.subsets:
            rows = [(", ".join(p.annotators), _value(p[coefficient]), _range(p[coefficient])) for p in study.subsets]
            console.table(["annotators", title, "95 %"], rows, title=f"{_name(study)}: every subset", right=[title])
    if bootstrap.resamples and measured:
        console.note(
            f"Intervals: 95 %, {bootstrap.method} bootstrap over items, {bootstrap.resamples} resamples, "
            f"seed {bootstrap.seed}. Words: Landis & Koch 1977, McHugh 2012."
        )


def _print_sizes(found: list[AgreementStudy], by: str) -> None:
    """Print each group's items and answers, in all and per annotator, as GMHP7k's Table 5."""
    first = [study for study in found if study.question == found[0].question]
    rows = [
        (study.group or "", f"{study.items:,}", f"{len(study.ratings):,}", f"{len(study.ratings.annotators):,}",
         f"{len(study.ratings) / max(1, len(study.ratings.annotators)):,.0f}")
        for study in first
    ]  # fmt: skip
    heads = [by, "items", "answers", "annotators", "per annotator"]
    console.table(heads, rows, title=f"Answers to {found[0].question}", right=heads[1:])


def _print_coefficients(study: AgreementStudy) -> None:
    """Print one study's coefficients, with notes beneath; a study with nothing to compare is one line."""

    people, answers = len(study.ratings.annotators), len(study.ratings)
    things = "items" if study.posts is None else f"words of {study.posts:,} post{'s' * (study.posts != 1)}"
    size = f"{study.items:,} {things}, {people:,} annotator{'s' * (people != 1)}, {answers:,} answers"
    if not study["percent"].n:
        console.line(f"{_name(study)}: {size}. No item has two answers, so agreement can't be measured.")
        console.line()
        return
    rows = []
    notes: dict[str, list[str]] = {}
    for metric in study.metrics:
        words = verbal_labels(metric.value) if has_words(metric) else {}
        title = COEFFICIENTS[metric.name]
        rows.append((title, _value(metric), _range(metric), words.get("landis-koch", ""), words.get("mchugh", "")))
        if metric.note:
            notes.setdefault(metric.note, []).append(title)
    console.table(
        ["coefficient", "value", "95 %", "Landis & Koch", "McHugh"],
        rows,
        title=f"{_name(study)}: {size}",
        right=["value"],
    )
    lines = [f"{', '.join(titles)}: {note}." for note, titles in notes.items()]
    if study.single:
        lines.append(f"{study.single:,} items have one answer only and are left out; n is {study['percent'].n:,}.")
    for line in lines:
        console.line(f"  {line}")
    if lines:
        console.line()


def _print_panels(found: list[AgreementStudy], title: str, coefficient: str) -> None:
    """Print the table of GMHP7k's Table 4: everyone, then everyone without each annotator."""

    people = order_labels({name for study in found for name in study.ratings.annotators})
    if len(people) > MOST_IN_A_LIST:
        console.note(f"{len(people)} annotators: the figures without each are in --json and --out.")
        return
    rows = [("all", *(_value(study[coefficient]) for study in found))]
    for person in people:
        panels = (next((p for p in study.one_out if p.without == (person,)), None) for study in found)
        rows.append((f"without {person}", *("" if p is None else _value(p[coefficient]) for p in panels)))
    names = [_name(study) for study in found]
    console.table(["", *names], rows, title=title, right=names)


def _print_labels(found: list[AgreementStudy], by: str | None) -> None:
    """Print each label's figures, for questions with more than two: the two of a yes/no question have the same."""
    shown = {"fleiss": "Fleiss' κ", "alpha": "α", "ac1": "AC1"}
    rows = []
    for study in found:
        counts = study.ratings.label_counts()
        for label, metrics in study.by_label.items() if len(counts) > 2 else ():
            values = {metric.name: metric for metric in metrics}
            where = [study.question] if by is None else [study.question, study.group]
            rows.append((*where, label, counts[label], *(_value(values[name]) for name in shown)))
    heads = ["question", *([by] if by else []), "label", "answers", *shown.values()]
    if rows:
        console.table(heads, rows, title="Each label against the rest", right=heads[-4:])


def _print_pairs(study: AgreementStudy) -> None:
    people = study.ratings.annotators
    pairs = study.pairs.pairs
    rows = []
    for one in people:
        metrics = (pairs.get((one, other)) or pairs.get((other, one)) for other in people)
        rows.append((one, *("" if metric is None else _value(metric) for metric in metrics)))
    console.table(["", *people], rows, title=f"{_name(study)}: Cohen's κ of each pair", right=people)


def _name(study: AgreementStudy) -> str:
    return study.question if study.group is None else f"{study.question}, {study.group}"


def _value(metric: Metric) -> str:
    return "undefined" if metric.value is None else f"{metric.value:.4f}"


def _range(metric: Metric) -> str:
    return "" if metric.low is None else f"{metric.low:.3f} to {metric.high:.3f}"


PICTURES = (".svg", ".png", ".html")
APART = 0.09
"""How far groups stand beside each other, so that their dots don't cover one another."""


def write_pictures(
    found: Sequence[AgreementStudy], out: Path, coefficient: str, *, data: str = "", command: str = ""
) -> None:
    """Write the combinations as one picture (.svg, .png), or as a page with a picture a question (.html)."""
    drawn = [study for study in found if study.subsets]
    if not drawn:
        raise UserError("There is no combination of annotators to draw: no item has two answers.")
    if out.suffix != ".html":
        subset_plot(drawn, coefficient).write(out)
        return
    title = COEFFICIENTS[coefficient]
    report = Page(
        f"{title} of every combination of annotators",
        lead="Each dot is one combination. A person whose absence lifts the dots reads the guideline differently.",
        provenance=Provenance(data, command=command),
    )
    for question in dict.fromkeys(study.question for study in drawn):
        own = [study for study in drawn if study.question == question]
        report.section(question)
        report.plot(subset_plot(own, coefficient), f"{title} by the number of annotators in a combination.")
        report.table(_subset_table(own, coefficient, title))
    report.write(out)


def subset_plot(found: Sequence[AgreementStudy], coefficient: str) -> Plot:
    """Return a dot for each combination: how many annotators, how far they agree; a colour a question and group."""
    several = len({study.question for study in found}) > 1
    points: dict[str, list[tuple[float, float]]] = {}
    for place, study in enumerate(found):
        name = " ".join(part for part in (study.question if several else "", study.group or "") if part)
        beside = (place - (len(found) - 1) / 2) * APART
        points[name or study.question] = [
            (len(panel.annotators) + beside, value)
            for panel in study.subsets
            if (value := panel[coefficient].value) is not None
        ]
    values = [value for group in points.values() for _, value in group]
    title = "" if several else found[0].question
    low = min(0.0, *values) if values else 0.0
    return scatter(
        points, title=title, x="annotators in the combination", y=COEFFICIENTS[coefficient], domain_y=(low, 1.0)
    )


def _subset_table(found: Sequence[AgreementStudy], coefficient: str, title: str) -> Table:
    rows = [
        (study.group or "", ", ".join(panel.annotators), panel[coefficient])
        for study in found
        for panel in study.subsets
    ]
    return Table.of([Column("group"), Column("annotators"), Column(title, "metric", 4)], rows)
