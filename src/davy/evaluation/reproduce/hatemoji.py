"""Reproduce the Hatemoji paper: Tables 3, 4, 8 and 9 with our detectors as columns beside the paper's.

A folder of the published files and detectors in, four tables out. Without
HatemojiCheck's file our own suite emoji-en is run instead, and the tables say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from davy import schemes
from davy.core import Metric, Scorer
from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.corpus.collect import corpora
from davy.evaluation.reproduce.paper_rows import fine_tune
from davy.files.atomic import make_folder, write_text
from davy.measure.intervals import Bootstrap
from davy.report import Page, Provenance
from davy.scoring.scorers import load_scorers
from davy.testing import hatemoji as paper
from davy.testing.hatemoji import HatemojiMetrics
from davy.testing.metrics import measure_fairness
from davy.testing.run import AnswerCache, SuiteRun, run_suite
from davy.testing.suite import Suite
from davy.testing.suite_source import load_suite

if TYPE_CHECKING:
    from davy.report import Table

NUMBERS = (3, 4, 8, 9)
OWN_ROWS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "B-D": ("b-d", ("davidson2017",)),
    "B-F": ("b-f", ("founta2018",)),
    "R8-T": ("hatemoji", ("dynahate", "hatemojibuild")),
}
"""Rows that can be trained here: the config, and the corpora that they learn from."""
SETS = {"emoji rounds": "hatemojibuild", "text rounds": "dynahate"}


@dataclass(frozen=True, slots=True)
class HatemojiTables:
    """The paper's tables with ours beside them, by the paper's numbers, and what they were made from."""

    tables: Mapping[int, Table]
    suite: Suite
    models: tuple[str, ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return each table's rows under its title, as JSON has them."""
        return {table.title: table_records(table) for table in self.tables.values()}

    def write(self, folder: Path, *, command: str = "") -> None:
        """Write report.html and a CSV file a table."""
        make_folder(folder)
        origin = Provenance(
            data=f"{self.suite.name}, hash {self.suite.digest}",
            model=", ".join(self.models),
            seed=self.seed,
            command=command,
        )
        page = Page("Hatemoji: the paper's tables beside ours", provenance=origin)
        for number, table in self.tables.items():
            page.section(table.title)
            page.table(table)
            write_text(folder / f"table-{number}.csv", table.csv())
        page.write(folder / "report.html")


def reproduce_hatemoji(
    data: Path | None,
    models: Sequence[str] = ("embedded",),
    *,
    bootstrap: Bootstrap | None = None,
    cached: bool = True,
    encoders: Sequence[str] = (),
    changes: Mapping[str, str] | None = None,
    reporter: Reporter = SILENT,
) -> HatemojiTables:
    """Return Tables 3, 4, 8 and 9. Of Table 8, test sets that are not in the folder are left empty.

    `encoders` are `ROW=NAME`: B-D, B-F or R8-T of our own, fine-tuned from that encoder by the row's config, with
    `changes` to it as text. They are kept in the cache, and are columns beside the `models`.
    """
    if data is not None and not data.is_dir():
        raise UserError(f"There is no folder {data}. Give the one that holds the published files.")
    bootstrap = bootstrap or Bootstrap(1000, 0)
    scorers = {**load_scorers(models), **_own_rows(data, encoders, changes or {}, bootstrap.seed, reporter)}
    cache = AnswerCache.default() if cached else None
    suite, official = _suite(data)
    runs = _runs(suite, scorers, cache, reporter)
    fair = [measure_fairness(suite, run, bootstrap=bootstrap) for run in runs]
    results: dict[str, list[HatemojiMetrics | None]] = {}
    if official:
        results["hatemojicheck"] = [paper.run_metrics(suite, run) for run in runs]
    results |= _others(data, scorers, cache, reporter) if data is not None else {}
    tables = (
        paper.table_3(suite, runs, official=official),
        paper.table_4(suite, runs, official=official),
        paper.table_8(results, list(scorers)),
        paper.table_9(suite, runs, fair, official=official),
    )
    names = tuple(f"{run.model} ({run.version})" for run in runs)
    return HatemojiTables(dict(zip(NUMBERS, tables, strict=True)), suite, names, bootstrap.seed)


def _own_rows(
    data: Path | None, encoders: Sequence[str], changes: Mapping[str, str], seed: int, reporter: Reporter
) -> dict[str, Scorer]:
    """Return the paper's baselines and its last target as trained here, one for each encoder that was named."""
    made: dict[str, Scorer] = {}
    for entry in encoders:
        row, _, encoder = entry.partition("=")
        if row not in OWN_ROWS or not encoder:
            raise UserError(f"--encoder takes ROW=NAME with {', '.join(OWN_ROWS)}; got {entry!r}.")
        recipe, names = OWN_ROWS[row]
        files = {name: corpora.find_in(data, name) for name in names}
        lost = [name for name, file in files.items() if file is None]
        if lost:
            raise UserError(f"{row} learns from {', '.join(names)}; {lost[0]} is not in the data folder.")
        read = [corpora.load(name, file).posts.collect() for name, file in files.items() if file is not None]
        posts = pl.concat(read, how="diagonal_relaxed").filter(pl.col("hate.gold").is_not_null())
        held = posts["split"].is_in(["dev", "test"]).fill_null(False) if "split" in posts.columns else None
        learn = posts if held is None else posts.filter(~held)
        choose = None if held is None else posts.filter(pl.col("split") == "dev")
        question = schemes.load("hate").question("hate")
        choose = choose if choose is not None and len(choose) else None
        made[f"{row}, ours"] = fine_tune(
            row, recipe, encoder, learn, choose, (question,), seed=seed, changes=changes, reporter=reporter
        )
    return made


def _runs(suite: Suite, scorers: Mapping[str, Scorer], cache: AnswerCache | None, reporter: Reporter) -> list[SuiteRun]:
    runs = []
    for name, scorer in scorers.items():
        reporter.begin(name, len(suite.cases))
        runs.append(run_suite(suite, scorer, name=name, cache=cache, progress=reporter.advance))
        reporter.end()
    return runs


def _suite(data: Path | None) -> tuple[Suite, bool]:
    """Return HatemojiCheck where the folder has it, else our own suite, and whether it is the paper's."""
    file = corpora.find_in(data, "hatemojicheck")
    return (load_suite(f"hatemojicheck:{file}"), True) if file else (load_suite("emoji-en"), False)


def _others(
    data: Path, scorers: Mapping[str, Scorer], cache: AnswerCache | None, reporter: Reporter
) -> dict[str, list[HatemojiMetrics | None]]:
    """Return the figures on the other test sets of Table 8 that the folder holds."""
    results: dict[str, list[HatemojiMetrics | None]] = {}
    file = corpora.find_in(data, "hatecheck")
    if file is not None:
        suite = load_suite(f"hatecheck:{file}")
        results["hatecheck"] = [paper.run_metrics(suite, run) for run in _runs(suite, scorers, cache, reporter)]
    parts: dict[str, list[tuple[list[str], list[str]]]] = {}
    for key, corpus in SETS.items():
        posts = _test_posts(data, corpus)
        if posts is not None:
            parts[key] = [_answers(posts, scorer, reporter) for scorer in scorers.values()]
    for key, answers in parts.items():
        results[key] = [paper.hatemoji_metrics(gold, predicted, "hateful") for gold, predicted in answers]
    if set(parts) == set(SETS):
        both = [([*a[0], *b[0]], [*a[1], *b[1]]) for a, b in zip(*parts.values(), strict=True)]
        results["all rounds"] = [paper.hatemoji_metrics(gold, predicted, "hateful") for gold, predicted in both]
    return results


def _test_posts(data: Path, corpus: str) -> pl.DataFrame | None:
    """Return the test part of a corpus, or None where the folder does not hold it."""
    file = corpora.find_in(data, corpus)
    if file is None:
        return None
    posts = corpora.load(corpus, file).posts.collect()
    if "split" not in posts.columns:
        return None
    test = posts.filter((pl.col("split") == "test") & pl.col("hate.gold").is_not_null() & pl.col("text").is_not_null())
    return test if len(test) else None


def _answers(posts: pl.DataFrame, scorer: Scorer, reporter: Reporter) -> tuple[list[str], list[str]]:
    predicted: list[str] = []
    reporter.begin(scorer.name, len(posts))
    for part in posts.iter_slices(256):
        scores = scorer.score(part.select("text", "lang"))
        predicted += ["hateful" if "hateful" in chosen else "not hateful" for chosen in scores.chosen("hate")]
        reporter.advance(len(part))
    reporter.end()
    return posts["hate.gold"].to_list(), predicted


def table_records(table: Table) -> list[dict[str, Any]]:
    """Return a table's rows as JSON has them."""
    names = [column.name or "row" for column in table.columns]
    cells = ([cell.to_dict() if isinstance(cell, Metric) else cell for cell in row] for row in table.rows)
    return [dict(zip(names, row, strict=True)) for row in cells]
