"""Grid search: every combination of the values that a config lists, each a run in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.files.atomic import write_json
from davy.training.config import Config

SHARED_FIELDS: tuple[str, ...] = ("scheme", "questions", "seeds", "grid", "name", "note")
"""Fields that belong to all trials alike."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One combination: what it is called, its config and its folder."""

    name: str
    config: Config
    folder: Path


def trials(config: Config, out: Path) -> Iterator[Trial]:
    """Yield the runs that a config asks for: one, or one for each combination of its grid."""
    for name in config.grid:
        if name in SHARED_FIELDS:
            raise UserError(
                f"grid names {name!r}, which is the same for all runs of a search. Set it outside the grid."
            )
    if not config.grid:
        yield Trial("", config, out)
        return
    for values in product(*config.grid.values()):
        chosen = dict(zip(config.grid, values, strict=True))
        name = ",".join(f"{field}={value}" for field, value in chosen.items())
        yield Trial(name, replace(config, grid={}, **chosen), out / name.replace("/", "_"))


def best_of(found: Sequence[tuple[Trial, dict[str, Any]]]) -> tuple[Trial, dict[str, Any]]:
    """Return the trial with the highest mean score on dev; the first where there is no dev."""
    return max(found, key=lambda it: it[1]["summary"].get("score", {}).get("mean", float("-inf")))


def write_search(found: Sequence[tuple[Trial, dict[str, Any]]], out: Path) -> None:
    """Write what each trial reached on dev, the best first, to `search.json`."""
    best, _ = best_of(found)
    rows = [{"trial": trial.name, "score": record["summary"].get("score")} for trial, record in found]
    rows.sort(key=lambda row: row["trial"] != best.name)
    write_json(out / "search.json", {"best": best.name, "trials": rows})
