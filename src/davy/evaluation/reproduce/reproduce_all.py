"""Reproduce all: the papers' tables on one page, ours beside theirs where the data is at hand.

A folder with a folder a corpus in, a `PaperSection` a paper out. A paper joins by a line in `PAPERS`, or in `papers` of
its feature: a function that takes the folder, a seed and a reporter. A paper whose data is missing keeps its own
figures, and says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from davy.core.errors import UserError, nearest
from davy.core.feature import features
from davy.core.reporter import SILENT, Reporter
from davy.corpus.collect import corpora
from davy.evaluation.reproduce.hatemoji import reproduce_hatemoji, table_records
from davy.evaluation.reproduce.paper_table import Reproduction, figure_title, load_published, reasons, tables
from davy.evaluation.reproduce.reproduce import reproduce
from davy.files.atomic import make_folder, write_json
from davy.measure.intervals import Bootstrap
from davy.report import Column, Page, Provenance, Table


@dataclass(frozen=True, slots=True)
class PaperSection:
    """One paper's tables with our figures; `missing` says why ours are not there, `data` what they rest on."""

    title: str
    source: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    about: str = ""
    """What was measured on what."""
    missing: str = ""
    data: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "title": self.title,
            "about": self.about,
            "source": self.source,
            "missing": self.missing,
            "data": self.data,
            "notes": list(self.notes),
            "tables": {table.title: table_records(table) for table in self.tables},
        }


def reproduce_all(
    data: Path, *, papers: Sequence[str] = (), seed: int = 0, reporter: Reporter = SILENT
) -> dict[str, PaperSection]:
    """Return each paper's section; a paper whose data can't be read says so, and the others go on."""
    if not data.is_dir():
        raise UserError(f"There is no folder {data}. Give the one that holds a folder a corpus.")
    known = all_papers()
    for name in papers:
        if name not in known:
            raise UserError(f"There is no paper {name!r}; there are {', '.join(known)}.{nearest(name, known)}")
    sections = {}
    for name in papers or known:
        reporter.note(f"{name} …")
        try:
            sections[name] = known[name](data, seed, reporter)
        except UserError as error:
            sections[name] = published_section(name, error.message)
    return sections


def write_all(found: Mapping[str, PaperSection], folder: Path, *, seed: int, command: str = "") -> None:
    """Write report.html and results.json into a folder."""
    make_folder(folder)
    write_json(folder / "results.json", {name: section.to_dict() for name, section in found.items()})
    data = ", ".join(f"{name} {section.data}" for name, section in found.items() if section.data)
    page = Page(
        "The papers' tables beside ours",
        lead="The papers measured on their test sets. Ours are on the part that is at hand, which each table "
        "names: where that is not the test set, only large differences count.",
        provenance=Provenance(data, seed=seed, command=command, made_at=datetime.now(UTC)),
    )
    for section in found.values():
        lines = (section.about, f"Beside {section.source}.", section.missing)
        page.section(section.title, *filter(None, lines))
        for table in section.tables:
            if table.title:
                page.heading(table.title)
            page.table(replace(table, title=""))
        for note in section.notes:
            page.say(note)
    page.write(folder / "report.html")


def _hatemoji(data: Path, seed: int, reporter: Reporter) -> PaperSection:
    """Return Hatemoji's Tables 3, 4, 8 and 9; where HatemojiCheck is not there, ours are on the suite that ships."""
    made = reproduce_hatemoji(data, bootstrap=Bootstrap(1000, seed), reporter=reporter)
    at_hand = corpora.find_in(data, "hatemojicheck") is not None
    source = "Kirk, Vidgen, Röttger, Thrush, Hale (2022): Hatemoji, Tables 3, 4, 8 and 9"
    missing = (
        ""
        if at_hand
        else "HatemojiCheck is not in the data: ours are on the suite emoji-en, which has other sentences."
    )
    return PaperSection(
        "Hatemoji",
        source,
        tuple(made.tables.values()),
        missing=missing,
        data=f"{made.suite.name} {made.suite.digest}",
    )


def published_section(paper: str, missing: str) -> PaperSection:
    """Return a paper's figures alone, and what is missing for ours."""
    if paper == "hatemoji":
        return PaperSection("Hatemoji", "the paper", (), missing=missing)
    known = load_published(paper)
    made = []
    for task in dict.fromkeys(task for row in known.figures.values() for task in row):
        rows = [(row, known.figures[row].get(task, {})) for row in known.figures]
        names = list(dict.fromkeys(name for _, figures in rows for name in figures if not name.endswith("_sd")))
        columns = [Column("row"), *(Column(figure_title(name), "number", known.digits) for name in names)]
        cells = [(known.what[row] if row == known.what[row] else f"{row} {known.what[row]}",
                  *(figures.get(name) for name in names)) for row, figures in rows]  # fmt: skip
        title = f"the paper's on {task}" if task in _PARTS else f"{task}, the paper's on {known.split}"
        made.append(Table.of(columns, cells, title=title))
    return PaperSection(_TITLES[paper], known.source, tuple(made), missing=missing)


_PARTS = ("validation", "test")
"""Tasks that are the parts of one."""
_TITLES = {"edos": "EDOS", "gmhp7k": "GMHP7k", "hateful-memes": "Hateful Memes"}


def _measured(paper: str, data: Path, seed: int, reporter: Reporter) -> PaperSection:
    place = corpora.find_in(data, paper)
    if place is None:
        return published_section(paper, f"Ours are not there: {data} has no folder {paper} with the published files.")
    return section_of(paper, reproduce(paper, place, seed=seed, reporter=reporter))


def section_of(paper: str, found: Reproduction) -> PaperSection:
    """Return the section of a paper whose table was reproduced."""
    notes = (*found.notes, *reasons(found))
    shown = tuple(found.layout or tables(found))
    return PaperSection(_TITLES[paper], found.source, shown, notes, f"{found.title}.", data=found.data)


MakeSection = Callable[[Path, int, Reporter], PaperSection]
PAPERS: Mapping[str, MakeSection] = {
    "edos": partial(_measured, "edos"),
    "gmhp7k": partial(_measured, "gmhp7k"),
    "hatemoji": _hatemoji,
}
"""Paper → what makes its section from the folder of all data."""


def all_papers() -> dict[str, MakeSection]:
    """Return these papers and those of other features."""
    others = {name: target for feature in features() for name, target in feature.papers.items()}
    return {**PAPERS, **{name: resolve_name(target) for name, target in others.items()}}
