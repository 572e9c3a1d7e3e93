"""The story of a project's rounds so far: every figure of Fig. 1 and Tables 2, 6 and 7, from the entries themselves.

Entries of all rounds and what each close gave in, tables out. The page and `davy round status` show the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from davy.core.scheme import Question
from davy.measure.intervals import Bootstrap
from davy.report import Column, Table
from davy.rounds.candidates import Measured, read_measured, target_table
from davy.rounds.round_figures import (
    RoundErrorRate,
    compose_rounds,
    composition_table,
    error_rate_table,
    error_rates,
    frequent_table,
    quality_rows,
    quality_table,
    seconds_table,
)

if TYPE_CHECKING:
    import polars as pl

LISTS: tuple[str, ...] = ("emoji", "target", "intersection", "strategy")
SUITES = "Functional tests: reported, never used to choose"


@dataclass(frozen=True, slots=True)
class RoundStory:
    """Error rates with their intervals, and the tables by name, in the order in which they are read."""

    rates: tuple[RoundErrorRate, ...]
    tables: Mapping[str, Table]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        return {
            "error_rates": [
                {"round": it.round, "target": it.model, "raw": it.raw.to_dict(), "confirmed": it.confirmed.to_dict()}
                for it in self.rates
            ],
            "tables": {
                name: [
                    {
                        f"{place}. {column.name}": cell.to_dict() if hasattr(cell, "to_dict") else cell
                        for place, (column, cell) in enumerate(zip(table.columns, row, strict=True), 1)
                    }
                    for row in table.rows
                ]
                for name, table in self.tables.items()
            },
        }


def tell_story(
    entries: pl.DataFrame, questions: Sequence[Question], outcomes: Mapping[int, Mapping[str, Any]]
) -> RoundStory:
    """Return the story; `outcomes` are what the closes gave, by the round's number."""
    if not len(entries):
        return RoundStory((), {})
    rates = error_rates(entries, questions[0])
    tables = {"error": error_rate_table(rates)}
    tables |= _targets(outcomes)
    tables["composition"] = composition_table(compose_rounds(entries, questions))
    tables["quality"] = quality_table(quality_rows(entries, questions[0], bootstrap=Bootstrap(200)))
    tables |= {what: frequent_table(entries, what) for what in LISTS}
    tables["time"] = seconds_table(entries)
    return RoundStory(rates, {name: table for name, table in tables.items() if table.rows})


def _targets(outcomes: Mapping[int, Mapping[str, Any]]) -> dict[str, Table]:
    """Return each target on every part, as the last close measured them, and the suites that each winner ran."""
    closed = [outcomes[number] for number in sorted(outcomes) if outcomes[number]]
    if not closed:
        return {}
    measured: dict[str, Measured] = {name: read_measured(each) for name, each in closed[-1]["targets"].items()}
    parts = list(dict.fromkeys(part for each in measured.values() for split in each.values() for part in split))
    groups = {**{part: [part] for part in parts}, **({"all": parts} if len(parts) > 1 else {})}
    tables = {f"targets.{split}": target_table(measured, groups, split=split) for split in ("test", "dev")}
    rows = [
        (outcome["target"], suite, figure["accuracy"], figure["n"])
        for outcome in closed
        for suite, figure in outcome.get("suites", {}).items()
    ]
    columns = [Column("target"), Column("suite"), Column("accuracy", "number"), Column("n", "count")]
    return {**tables, **({"suites": Table.of(columns, rows, title=SUITES)} if rows else {})}
