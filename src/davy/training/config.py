"""What a training run is told: one dataclass, read from YAML, with the papers' settings as files beside it.

A name, a file or nothing in, a `Config` out. Every field can be overridden from the
shell by `--set field=value`. A grid search runs every combination of the values that
a config lists, each in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.files.atomic import write_json
from davy.files.yaml_nodes import load_values
from davy.files.yaml_objects import YES_NO

FOLDER = Path(__file__).parent / "configs"
EMOJI: tuple[str, ...] = ("tokens", "names", "leave")
CLASS_WEIGHTS: tuple[str, ...] = ("none", "balanced", "root")
PRECISIONS: tuple[str, ...] = ("auto", "fp32", "bf16")
POOLINGS: tuple[str, ...] = ("mean", "first")
SHARES: tuple[str, ...] = ("dropout", "warmup", "average", "weight_decay")
FREE: tuple[str, ...] = ("name", "note", "seeds", "grid", "save_every")
"""Fields that may change between the start of a run and its going on."""


@dataclass(frozen=True, slots=True)
class Config:
    """One run. Lists in `grid` are tried in all combinations; each seed is a model of its own."""

    name: str = "mine"
    encoder: str = ""
    """A folder or a hub name."""
    scheme: str = ""
    questions: tuple[str, ...] = ()
    """Which questions to learn; all that have settled answers where empty."""
    max_length: int = 128
    pooling: str = "mean"
    dropout: float = 0.1
    emoji: str = "leave"
    batch: int = 32
    epochs: int = 3
    rate: float = 2e-5
    head_rate: float | None = None
    layer_decay: float = 1.0
    warmup: float = 0.06
    weight_decay: float = 0.01
    average: float = 0.0
    agreement: float = 0.0
    accumulate: int = 1
    patience: int | None = None
    choose_by: str = "macro-F1"
    """What picks the best checkpoint on dev: `macro-F1` or `loss`."""
    precision: str = "auto"
    class_weights: str = "none"
    weights: Mapping[str, float] = field(default_factory=dict)
    """Question → how much its loss counts (1 where absent)."""
    under: Mapping[str, float] = field(default_factory=dict)
    """Yes/no question → at most so many neutral posts for each yes (GMHP7k's 5): see `targets.order`."""
    over: Mapping[str, int] = field(default_factory=dict)
    """Source of posts, `question=label` or `meta.KEY=VALUE` → how often such a post stands in an epoch (Hatemoji's)."""
    consistent: bool = True
    """Whether a child question learns only where its parent's answer leads to it; else a yes/no one learns no there."""
    soft: bool = False
    """Whether annotators' votes (columns `Q.votes`) are what is learnt, instead of the settled answer."""
    save_every: int = 200
    seeds: tuple[int, ...] = (1,)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        choices = {"emoji": EMOJI, "class_weights": CLASS_WEIGHTS, "precision": PRECISIONS, "pooling": POOLINGS}
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in allowed:
                raise UserError(
                    f"{name} is {value!r}; it is one of {', '.join(allowed)}.{nearest(str(value), list(allowed))}"
                )
        for name in ("batch", "epochs", "max_length", "accumulate"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}; it must be 1 or more.")
        for name in SHARES:
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}; it lies between 0 and 1.")
        if self.choose_by not in ("macro-F1", "loss"):
            raise UserError(f"choose_by is {self.choose_by!r}; it is macro-F1 or loss.")
        if not 0 < self.rate < 1:
            raise UserError(f"rate is {self.rate}; a learning rate lies between 0 and 1, such as 2e-5.")
        if not self.seeds:
            raise UserError("seeds is empty; name one at least.")

    def as_json(self) -> dict[str, Any]:
        """Return the config as plain values."""
        return asdict(self)

    def identity(self) -> dict[str, Any]:
        """Return what a run's weights depend on; a checkpoint belongs to these values and no others."""
        return {name: value for name, value in self.as_json().items() if name not in FREE}


def config_names() -> list[str]:
    """Return the names of the configs that ship with Davy."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_config(name_or_path: str, changes: Mapping[str, str] | None = None) -> Config:
    """Return a config by name or file, with changes given as text."""
    path = FOLDER / f"{name_or_path}.yaml"
    if not path.is_file():
        path = Path(name_or_path).expanduser()
    if not path.is_file():
        raise UserError(
            f"There is no config {name_or_path!r}: no file, and the names are {', '.join(config_names())}."
            f"{nearest(name_or_path, config_names())}"
        )
    values = load_values(path, str(path), "config") or {}
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold fields and values, such as `epochs: 3`.")
    return with_changes(from_values(values, str(path)), changes or {})


def from_values(values: Mapping[str, Any], where: str) -> Config:
    """Return the config of plain values; an unknown field or a value of the wrong kind is an error."""
    known = {it.name: it for it in fields(Config)}
    for name in values:
        if name not in known:
            raise UserError(f"{where} has the field {name!r}, which no run knows.{nearest(name, list(known))}")
    return Config(**{name: _kind(name, value, where) for name, value in values.items()})


def with_changes(config: Config, changes: Mapping[str, str]) -> Config:
    """Return the config with some fields set from text, read as YAML."""
    known = [it.name for it in fields(Config)]
    values = {}
    for name, text in changes.items():
        if name not in known:
            raise UserError(f"There is no field {name!r} to set.{nearest(name, known)} Known: {', '.join(known)}.")
        values[name] = _kind(name, load_values(text, f"--set {name}", "value"), "--set")
    return replace(config, **values)


def _listed(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else (value,)


def _kind(name: str, value: Any, where: str) -> Any:
    """Return a value as its field wants it; lists are tuples here."""
    known = [it.name for it in fields(Config)]
    if name not in known:
        raise UserError(f"{where}: grid names {name!r}, which is no field.{nearest(name, known)}")
    default = getattr(Config(), name)
    try:
        if isinstance(default, bool):
            return value if isinstance(value, bool) else YES_NO[str(value).lower()]
        if isinstance(default, tuple):
            kind = int if name == "seeds" else str
            return tuple(kind(it) for it in _listed(value))
        if name == "grid":
            return {str(k): tuple(_kind(str(k), it, where) for it in _listed(v)) for k, v in dict(value).items()}
        if isinstance(default, Mapping):
            number = int if name == "over" else float
            return {str(k): number(v) for k, v in dict(value).items()}
        if default is None:
            return None if value is None else (int(value) if name == "patience" else float(value))
        if value is None:
            raise ValueError("no value")
        return type(default)(value)
    except (TypeError, ValueError, KeyError) as error:
        raise UserError(f"{where}: {name} is {value!r}; it wants something like {default!r}.") from error


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


def best_trial(found: Sequence[tuple[Trial, dict[str, Any]]]) -> tuple[Trial, dict[str, Any]]:
    """Return the trial with the highest mean score on dev; the first where there is no dev."""
    return max(found, key=lambda it: it[1]["summary"].get("score", {}).get("mean", float("-inf")))


def write_search(found: Sequence[tuple[Trial, dict[str, Any]]], out: Path) -> None:
    """Write what each trial reached on dev, the best first, to `search.json`."""
    best, _ = best_trial(found)
    rows = [{"trial": trial.name, "score": record["summary"].get("score")} for trial, record in found]
    rows.sort(key=lambda row: row["trial"] != best.name)
    write_json(out / "search.json", {"best": best.name, "trials": rows})
