"""What `davy agree --subsets --out` draws: the agreement of every combination of annotators, as GMHP7k's Figure 2.

Studies in; one plot, or a page with a plot and a table for each question, out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from davy.core.errors import UserError
from davy.measure.agreement import COEFFICIENTS
from davy.measure.agreement_study import AgreementStudy
from davy.report import Column, Page, Provenance, Table
from davy.report.plots import Plot, scatter

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
        report.table(_table(own, coefficient, title))
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


def _table(found: Sequence[AgreementStudy], coefficient: str, title: str) -> Table:
    rows = [
        (study.group or "", ", ".join(panel.annotators), panel[coefficient])
        for study in found
        for panel in study.subsets
    ]
    return Table.of([Column("group"), Column("annotators"), Column(title, "metric", 4)], rows)
