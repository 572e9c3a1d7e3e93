"""What a run leaves beside its model: a manifest, the curves as a picture, and a card.

A run's settings, data and histories in; `run.json`, `curves.svg` and `card.md` out.
The manifest is written last: its presence means that the run completed.
"""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.files.atomic import write_json, write_text
from davy.training.config import Config

if TYPE_CHECKING:
    pass

NO_FIGURES = ("epoch", "seconds", "loss", "dev loss", "score")
"""What a record holds beside each question's macro-F1."""
MEAN = "macro-F1 on dev"
SETTINGS = ("rate", "batch", "epochs", "max_length", "emoji", "class_weights", "under", "over", "weights")
PACKAGES = ("davy", "torch", "transformers", "tokenizers", "numpy", "polars", "safetensors")


@dataclass(frozen=True, slots=True)
class StepProgress:
    """Where a training is before a step: `share` of the run is done, `loss` is the mean of the epoch so far."""

    share: float
    epoch: int
    epochs: int
    step: int
    steps: int
    loss: Callable[[], float | None] = lambda: None

    def __str__(self) -> str:
        loss = self.loss()
        loss_text = "" if loss is None else f", loss {loss:.4f}"
        return f"epoch {self.epoch} of {self.epochs}, step {self.step:,} of {self.steps:,}{loss_text}"


@dataclass(slots=True)
class History:
    """What happened: a record for each evaluation, and which was best."""

    records: list[dict[str, Any]] = field(default_factory=list)
    best: int = -1
    stopped: bool = False

    @property
    def best_score(self) -> float:
        return float(self.records[self.best]["score"]) if self.best >= 0 else -math.inf


def versions() -> dict[str, str]:
    """Return the versions of what a run rests on."""
    packages = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            continue
    return packages


def write_run(
    folder: Path,
    kind: str,
    config: Config,
    data: dict[str, Any],
    histories: dict[int, History],
    *,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Write the manifest and the picture of a run; return the manifest. `command` is what was run."""
    record = {
        "kind": kind,
        "command": list(command),
        "config": config.as_json(),
        "data": data,
        "versions": versions(),
        "seeds": {seed: {"best": it.best, "records": it.records} for seed, it in histories.items()},
        "summary": summary(list(histories.values())),
    }
    write_text(folder / "curves.svg", curves_svg(histories))
    write_json(folder / "run.json", record)
    return record


def summary(histories: Sequence[History]) -> dict[str, dict[str, float]]:
    """Return each figure's mean at the seeds' best checkpoints and, of several seeds, the standard deviation."""
    bests = [history.records[history.best] for history in histories if history.best >= 0]
    names = [name for name in (bests[0] if bests else {}) if name not in ("epoch", "seconds", "loss")]
    figures = {}
    for name in names:
        values = [float(best[name]) for best in bests]
        figures[name] = {"mean": round(statistics.fmean(values), 4), "n": len(values)}
        if len(values) > 1:
            figures[name]["sd"] = round(statistics.stdev(values), 4)
    return figures


def curves_svg(histories: dict[int, History]) -> str:
    """Return the losses and the mean macro-F1 on dev over the epochs as SVG: the mean of all seeds, and their range."""
    from davy.report import plots

    lines: dict[str, list[tuple[float, float]]] = {}
    bands: dict[str, list[tuple[float, float, float]]] = {}
    for name in ("loss", "dev loss", MEAN):
        scores: dict[int, list[float]] = {}
        for record in (record for history in histories.values() for record in history.records):
            if (value := _drawn(name, record)) is not None:
                scores.setdefault(record["epoch"], []).append(value)
        if scores:
            lines[name] = [(epoch, statistics.fmean(values)) for epoch, values in sorted(scores.items())]
            bands[name] = [(epoch, min(values), max(values)) for epoch, values in sorted(scores.items())]
    title = f"Training, {len(histories)} seeds" if len(histories) > 1 else "Training"
    return plots.line(lines, x="epoch", title=title, bands=bands if len(histories) > 1 else None).svg()


def _drawn(name: str, record: dict[str, Any]) -> float | None:
    """Return a record's value for a line; the mean over questions where macro-F1 is meant."""
    if name != MEAN:
        return float(record[name]) if name in record else None
    figures = [float(value) for key, value in record.items() if key not in NO_FIGURES]
    return statistics.fmean(figures) if figures else None


def figure_name(name: str) -> str:
    """Return a figure's name for people: questions are measured by macro-F1."""
    return name if name in NO_FIGURES else f"{name}, macro-F1"


def model_card(
    config: Config, data: dict[str, Any], found: dict[str, dict[str, float]], labels: dict[str, list[str]], base: str
) -> str:
    """Return a model card with what the run knows; people add what it can't know. `base` says what was trained."""
    lines = [f"# {config.name}", "", f"A {base} for {', '.join(labels)}.", "", "## Data", ""]
    lines += [f"- {name}: {value}" for name, value in data.items()]
    lines += ["", "## Labels", "", *[f"- {name}: {', '.join(names)}" for name, names in labels.items()], ""]
    figures = {name: it for name, it in found.items() if name != "score"}
    if any("sd" in it for it in figures.values()):
        lines += ["## Figures on dev", "", "| figure | mean | sd | seeds |", "| --- | --- | --- | --- |"]
        lines += [f"| {figure_name(name)} | {it['mean']} | {it['sd']} | {it['n']} |" for name, it in figures.items()]
    elif figures:
        lines += ["## Figures on dev (one seed)", "", "| figure | value |", "| --- | --- |"]
        lines += [f"| {figure_name(name)} | {it['mean']} |" for name, it in figures.items()]
    chosen = {name: value for name, value in config.as_json().items() if name in SETTINGS and value}
    lines += ["", "## Settings", "", *[f"- {name}: {value}" for name, value in chosen.items()]]
    lines += [
        "",
        "## Who should not use it",
        "",
        "- Nobody should act on a score alone: it is a hint for a person.",
        "",
    ]
    return "\n".join(lines)


def write_manifest(folder: Path) -> None:
    """Write a model folder's manifest again after its card changed."""
    from davy.detectors import folder as folders

    folders.write(folder, folders.read(folder, check=False))
