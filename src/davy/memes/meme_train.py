"""Train a meme model: a folder of memes in, a model folder with its card, its figures and what it learnt from out.

One row of the Hateful Memes table in one size and seed. A killed training goes on when the same call is made again:
its checkpoints lie beside the model folder until it is done.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from davy.core.errors import UserError
from davy.core.options import Option
from davy.core.reporter import SILENT, Reporter
from davy.detectors import folder as folders
from davy.detectors.training_text_index import write_learnt
from davy.files.atomic import make_folder, replaced_folder, require_empty_folder, write_json, write_text
from davy.measure.calibration import fit_temperature
from davy.memes.meme_data import MemeParts, examples, load_memes
from davy.training.train import parse_changes

if TYPE_CHECKING:
    from davy.detectors.meme_model import MemeModel
    from davy.detectors.meme_presets import MemePreset
    from davy.detectors.neighbour_model import NeighbourModel
    from davy.training.meme_trainer import MemeExamples


@dataclass(frozen=True)
class TrainedMemeRow:
    """One trained row: figures and logits by part (`dev`, `test`), which seam files and tables are made from."""

    row: str
    seed: int
    data: str
    figures: Mapping[str, Mapping[str, float]]
    logits: Mapping[str, np.ndarray]
    folder: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a line of a results file."""
        valid, test = (dict(self.figures.get(part, {})) for part in ("dev", "test"))
        return {"row": self.row, "seed": self.seed, "data": self.data, "valid": valid, "test": test}


def train_meme(
    data: Annotated[
        Path,
        Option(
            "A split corpus, or a folder: Hateful Memes, MMF's, HarMeme, a drawn benchmark.", "data", metavar="DATA"
        ),
    ],
    out: Annotated[Path, Option("The new model folder.", metavar="FOLDER")],
    *,
    row: Annotated[
        str,
        Option(
            "image-grid, text, late-fusion, concat, mmbt-grid, vilbert, visualbert, clip-neighbours …", metavar="ROW"
        ),
    ] = "concat",
    size: Annotated[str, Option("small: minutes on two cores; full: the paper's networks.")] = "small",
    seed: Annotated[int, Option("The seed of weights and order.")] = 0,
    changes: Annotated[
        Mapping[str, str] | None,
        Option(
            "Change a field of the preset, such as updates=200.", "--set", metavar="FIELD=VALUE", read=parse_changes
        ),
    ] = None,
    images: Annotated[Path | None, Option("The folder with the pictures, unless DATA's own.", metavar="DIR")] = None,
    question: Annotated[str | None, Option("The yes/no question, if DATA answers several.", metavar="Q")] = None,
    captions: Annotated[
        Path | None,
        Option("Captioned pictures for vilbert-cc and visualbert-coco; else DATA's own.", metavar="DIR2"),
    ] = None,
    reporter: Reporter = SILENT,
) -> TrainedMemeRow:
    """Train a row on memes and write its model folder; `captions` is a folder of captioned pictures.

    `data` is a corpus with a column `split`, whose pictures are in `images`, or a folder that holds both.
    `changes` sets fields of the preset, such as `updates` or `text_encoder`. The best checkpoint on dev is kept.
    """
    from davy.detectors.meme_presets import load_preset

    preset = load_preset(row, size, changes)
    require_empty_folder(out)
    memes = load_memes(data, images=images, question=question)
    captioned = load_memes(captions) if captions is not None else None
    run = out.with_name(f"{out.name}.run")
    trained, model = train_preset(preset, memes, seed, captioned=captioned, folder=run, reporter=reporter)
    save_meme_model(model, preset, memes, trained, out)
    shutil.rmtree(run, ignore_errors=True)
    return replace(trained, folder=out)


PAPER_GRID = "paper"
"""What `--search` takes for the ranges that a row's preset lists."""
WARMUPS = (0.0, 0.1)
"""Shares of the updates that a search of the paper's ranges tries as warm-up: the paper names no values."""
RECORD = "runs.json"
VECTORS = "vector"
"""The features of a row over a frozen CLIP-like model: one vector for each picture, one for each text."""


@dataclass(frozen=True)
class MemeRuns:
    """A row trained with several seeds: each run, and what the search for its settings tried before."""

    runs: tuple[TrainedMemeRow, ...]
    chosen: Mapping[str, Any]
    tried: tuple[Mapping[str, Any], ...] = ()

    def summary(self) -> dict[str, dict[str, list[float | None]]]:
        """Return mean and sample standard deviation of each figure by part; no deviation for one run."""
        found: dict[str, dict[str, list[float | None]]] = {}
        for part in ("dev", "test"):
            for name in ("auroc", "accuracy"):
                values = [run.figures[part][name] for run in self.runs]
                spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
                found.setdefault(part, {})[name] = [float(np.mean(values)), spread]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the runs as JSON has them."""
        runs = [{**run.to_dict(), "folder": str(run.folder)} for run in self.runs]
        return {"runs": runs, "summary": self.summary(), "chosen": dict(self.chosen), "tried": list(self.tried)}


def train_meme_runs(
    data: Path,
    out: Path,
    *,
    row: str = "concat",
    size: str = "small",
    seed: int = 0,
    seeds: Annotated[int, Option("Train with so many seeds, from --seed on, into OUT/seed-N.", min=1, metavar="N")] = 1,
    search: Annotated[
        Sequence[str],
        Option(
            "Try these settings first, each with the others; dev chooses. 'paper': the paper's.", metavar="FIELD=V,V"
        ),
    ] = (),
    changes: Mapping[str, str] | None = None,
    images: Path | None = None,
    question: str | None = None,
    captions: Path | None = None,
    reporter: Reporter = SILENT,
) -> MemeRuns:
    """Search a row's settings on dev where asked, then train it with each seed; a run that was stopped goes on.

    Settings that were tried before, and seeds that are done, are read from `out`.
    """
    from davy.detectors.meme_presets import load_preset

    preset = load_preset(row, size, changes)
    grid = _grid(preset, search)
    make_folder(out)
    chosen, tried = _searched(preset, grid, data, out, images, question, captions, seed, reporter) if grid else ({}, [])
    given = {**(changes or {}), **{name: str(value) for name, value in chosen.items()}}
    runs = []
    for each in range(seed, seed + seeds):
        folder = out / f"seed-{each}"
        known = _known_run(folder, row, each)
        if known is None:
            known = train_meme(
                data, folder, row=row, size=size, seed=each, changes=given, images=images, question=question,
                captions=captions, reporter=reporter,
            )  # fmt: skip
        runs.append(known)
    done = MemeRuns(tuple(runs), chosen, tuple(tried))
    write_json(out / RECORD, done.to_dict())
    return done


def _known_run(folder: Path, row: str, seed: int) -> TrainedMemeRow | None:
    """Return a run that is done, by its model's manifest; None where there is none yet."""
    if not (folder / folders.MANIFEST).is_file():
        return None
    settings = folders.read(folder).settings
    if (settings.get("row"), settings.get("seed")) != (row, seed):
        raise UserError(f"{folder} holds another run. Name another folder with --out.")
    return TrainedMemeRow(row, seed, str(settings["data"]), settings["figures"], {}, folder)


def _grid(preset: MemePreset, search: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return the values to try, by the field of the training."""
    from davy.detectors.meme_presets import with_preset_changes

    grid: dict[str, tuple[Any, ...]] = {}
    for entry in search:
        name, _, values = entry.partition("=")
        if entry == PAPER_GRID:
            grid |= {**preset.grid, "warmup": tuple(int(preset.training.updates * share) for share in WARMUPS)}
            continue
        if name not in {each.name for each in fields(type(preset.training))} or not values:
            raise UserError(f"--search {entry}: write a setting of the training and its values, rate=1e-5,5e-5.")
        each = (with_preset_changes(preset, {name: value}) for value in values.split(","))
        tried = [getattr(changed.training, name) for changed in each]
        grid[name] = tuple(tried)
    return grid


def _searched(
    preset: MemePreset,
    grid: Mapping[str, tuple[Any, ...]],
    data: Path,
    out: Path,
    images: Path | None,
    question: str | None,
    captions: Path | None,
    seed: int,
    reporter: Reporter,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings with the best AUROC on dev, and what each reached; those done before are not tried again."""
    from davy.training.meme_trainer import grid_presets

    record = out / "search.json"
    memes = load_memes(data, images=images, question=question)
    captioned = load_memes(captions) if captions is not None else None
    asked = {"row": preset.row, "data": memes.data_hash, "seed": seed, "grid": {k: list(v) for k, v in grid.items()}}
    kept: dict[str, Any] = {**asked, "tried": []}
    if record.is_file():
        kept = json.loads(record.read_text(encoding="utf-8"))
    if {name: kept[name] for name in asked} != json.loads(json.dumps(asked)):
        raise UserError(f"{record} is of another search. Name another folder with --out.")
    tried: list[dict[str, Any]] = kept["tried"]
    known = {each["trial"] for each in tried}
    for values, (name, each) in zip(product(*grid.values()), grid_presets(replace(preset, grid=grid)), strict=True):
        if name in known:
            continue
        reporter.note(f"Trying {name}")
        trained, _ = train_preset(each, memes, seed, captioned=captioned, reporter=reporter)
        auroc = trained.figures["dev"]["auroc"]
        tried.append({"trial": name, "auroc": auroc, "settings": dict(zip(grid, values, strict=True))})
        write_json(record, {**asked, "tried": tried})
    best = max(tried, key=lambda each: each["auroc"])
    return best["settings"], tried


def train_preset(
    preset: MemePreset,
    memes: MemeParts,
    seed: int,
    *,
    captioned: MemeParts | None = None,
    folder: Path | None = None,
    reporter: Reporter = SILENT,
) -> tuple[TrainedMemeRow, MemeModel | NeighbourModel]:
    """Return a preset trained on memes, with its figures on dev and test, and the model."""
    from davy.training.meme_trainer import default_device, measure_logits, train_row

    parts = {part: examples(memes, part, preset, reporter=reporter) for part in ("train", "dev", "test")}
    if preset.network.features == VECTORS:
        return _train_neighbours(preset, memes, parts, seed, reporter)
    reads = examples(captioned, "train", preset, reporter=reporter) if captioned and preset.pretraining else None
    if preset.pretraining and not (reads or parts["train"]).captions:
        raise UserError(
            f"The row {preset.row} first learns from captioned pictures, and these memes have no captions. "
            "Name a folder that has: --captions DIR (davy meme benchmark --out DIR makes one)."
        )
    device = default_device()
    reporter.begin(f"Training {preset.row}, seed {seed}", _evaluations(preset))
    trained = train_row(
        preset, parts["train"], parts["dev"], seed=seed, device=device, captioned=reads, folder=folder,
        tell=lambda _: reporter.advance(),
    )  # fmt: skip
    reporter.end()
    model = replace(trained.model, question=memes.question, name=f"{preset.row}-{preset.size}")
    logits = {part: _logits(model, parts[part]) for part in ("dev", "test")}
    figures = {part: measure_logits(parts[part].labels, found) for part, found in logits.items()}
    model = replace(model, temperature=_temperature(logits["dev"], parts["dev"].labels))
    return TrainedMemeRow(preset.row, seed, memes.data_hash, figures, logits), model


def _train_neighbours(
    preset: MemePreset, memes: MemeParts, parts: Mapping[str, MemeExamples], seed: int, reporter: Reporter
) -> tuple[TrainedMemeRow, NeighbourModel]:
    """Return a frozen CLIP-like model's fusion and its neighbours; it is trained in one go, so nothing is resumed."""
    from davy.detectors.clip_vectors import ClipVectors
    from davy.training.meme_trainer import measure_logits, require_two_labels
    from davy.training.neighbour_trainer import MemeVectors, train_neighbours

    vectors = ClipVectors(preset.image_encoder)
    for part in ("train", "dev"):
        require_two_labels(parts[part], part)
    found = {
        part: MemeVectors(vectors.texts(each.texts), each.pictures["vector"].vectors, each.labels)
        for part, each in parts.items()
    }
    reporter.begin(f"Training {preset.row}, seed {seed}", _evaluations(preset))
    model = train_neighbours(preset, found["train"], found["dev"], vectors, seed=seed, tell=reporter.advance)
    reporter.end()
    logits = {part: model.logits_of(found[part].texts, found[part].pictures) for part in ("dev", "test")}
    figures = {part: measure_logits(parts[part].labels, each) for part, each in logits.items()}
    temperature = _temperature(logits["dev"], parts["dev"].labels)
    model = replace(model, question=memes.question, name=f"{preset.row}-{preset.size}", temperature=temperature)
    return TrainedMemeRow(preset.row, seed, memes.data_hash, figures, logits), model


def save_meme_model(
    model: MemeModel | NeighbourModel, preset: MemePreset, memes: MemeParts, trained: TrainedMemeRow, out: Path
) -> None:
    """Write a model folder with its card and the list of what it learnt from, whole or not at all."""
    figures = {part: dict(each) for part, each in trained.figures.items()}
    with replaced_folder(out) as draft:
        write_learnt(draft, memes.parts["train"]["text"].to_list())
        write_text(draft / "card.md", meme_card(preset, memes, trained))
        model.save(draft, data=memes.data_hash, seed=trained.seed, size=preset.size, figures=figures)


def meme_card(preset: MemePreset, memes: MemeParts, trained: TrainedMemeRow) -> str:
    """Return a model's card: what it is, what it learnt from, how good it is, what it can't do."""
    counts = {part: (len(frame), int(frame["yes"].sum())) for part, frame in memes.parts.items()}
    cells = {part: (_figure(trained, part, "auroc"), _figure(trained, part, "accuracy")) for part in counts}
    parts = "\n".join(
        f"| {part} ({memes.names[part]}) | {n:,} | {yes:,} | {cells[part][0]} | {cells[part][1]} |"
        for part, (n, yes) in counts.items()
    )
    looks = {
        "": "the text alone",
        "grid": "picture (grid) and text",
        "region": "picture (regions) and text",
        "vector": "picture and text",
    }
    origin = (
        f"the row {preset.row} of the Hateful Memes paper (Kiela et al. 2020, Table 1),\n"
        f"over {preset.text_encoder} and {preset.image_encoder}"
    )
    if preset.network.features == VECTORS:
        origin = (
            f"a fusion over {preset.image_encoder}, which was not trained, and asks the {preset.neighbours} nearest\n"
            "memes that it learned from. It keeps their vectors and labels"
        )
    return f"""# {preset.row}, {preset.size}

A detector of memes: it answers `{memes.question.name}` ({memes.question.positive} or not) from
{looks[preset.network.features]}. It is {origin}.

| {memes.name} | memes | {memes.question.positive} | AUROC | accuracy |
| --- | --- | --- | --- | --- |
{parts}

Trained with seed {trained.seed} for {preset.training.updates:,} updates of {preset.training.batch} memes; the kept one
is the best on dev by AUROC. Data {memes.data_hash}.

## Limits

It knows memes like those it learnt from. It was measured on one corpus, with one seed, and decides nothing alone: a
person should. The licence of its corpus holds for what it learnt.
"""


def _figure(trained: TrainedMemeRow, part: str, name: str) -> str:
    value = trained.figures.get(part, {}).get(name)
    return "–" if value is None else f"{value:.3f}"


def _logits(model: MemeModel, memes: MemeExamples) -> np.ndarray:
    return model.logits(memes.texts, memes.pictures.get(model.preset.network.features))


def _temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    return round(fit_temperature(logits, labels), 4)


def _evaluations(preset: MemePreset) -> int:
    """Return how often a training tells of itself."""
    own = math.ceil(preset.training.updates / preset.training.every)
    before = preset.pretraining
    return own * len(preset.parts) + (math.ceil(before.updates / before.every) if before else 0)
