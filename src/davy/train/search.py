"""Grid search: every combination of the values that a config lists, each a run in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.train.config import Config


@dataclass(frozen=True, slots=True)
class Trial:
    """One combination: what it is called, its config and its folder."""

    name: str
    config: Config
    folder: Path


def trials(config: Config, out: Path) -> Iterator[Trial]:
    """Yield the runs that a config asks for: one, or one for each combination of its grid."""
    known = [it.name for it in fields(Config)]
    for name in config.grid:
        if name not in known:
            raise UserError(f"grid names {name!r}, which is no field.{nearest(name, known)}")
    if not config.grid:
        yield Trial("", config, out)
        return
    for values in product(*config.grid.values()):
        chosen = dict(zip(config.grid, values, strict=True))
        name = ",".join(f"{field}={value}" for field, value in chosen.items())
        yield Trial(name, replace(config, grid={}, **chosen), out / name.replace("/", "_"))


def best_of(found: Sequence[tuple[Trial, dict[str, Any]]]) -> tuple[Trial, dict[str, Any]]:
    """Return the trial with the highest mean score on dev; the first where there is no dev."""
    return max(found, key=lambda it: it[1]["summary"].get("score", {}).get("mean", 0.0))
