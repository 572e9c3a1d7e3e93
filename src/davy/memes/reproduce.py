"""Reproduce the Hateful Memes paper's Table 1: a folder of memes in, its eleven rows trained over seeds out.

Rows are trained in their small presets, or the paper's. What each reached is kept in the cache, so that a second call
only reads it; rows that were trained elsewhere come as a file of results. A row that can't run says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UserError, missing_extra, nearest
from davy.core.reporter import SILENT, Reporter
from davy.corpus.collect import corpora
from davy.evaluation.reproduce.memes_table import ROWS, MeasuredMemes, MemeRun, table_1
from davy.evaluation.reproduce.paper_rows import cache_path
from davy.evaluation.reproduce.reproduce_all import PaperSection, published_section, section_of
from davy.files.atomic import atomic_path, make_folder, read_text
from davy.measure.intervals import Bootstrap
from davy.memes.meme_data import MemeParts, load_memes

if TYPE_CHECKING:
    from davy.evaluation.reproduce.paper_table import Reproduction

RESULTS = "results.jsonl"
"""What the rows of `davy reproduce memes` reached elsewhere, in a file beside the memes."""
LATE_FUSION = "late-fusion"
PARTS_OF_LATE_FUSION = ("image-grid", "text")
KEPT = {"dev": "valid", "test": "test"}
"""Our part → what a file of results calls it."""


@dataclass
class _Rows:
    """Trains rows and remembers what each reached."""

    memes: MemeParts
    size: str
    changes: Mapping[str, str]
    captioned: MemeParts | None
    fresh: bool
    reporter: Reporter
    runs: dict[tuple[str, int], MemeRun] = field(default_factory=dict)

    def run(self, row: str, seed: int) -> MemeRun:
        """Return what a row reached with a seed; Late Fusion is the mean of its two rows' probabilities."""
        if (row, seed) not in self.runs:
            made = self._fused(seed) if row == LATE_FUSION else self._trained(row, seed)
            self.runs[row, seed] = made
        return self.runs[row, seed]

    def _fused(self, seed: int) -> MemeRun:
        image, text = (self.run(row, seed) for row in PARTS_OF_LATE_FUSION)
        logits = {part: fuse_logits(image.logits[part], text.logits[part]) for part in image.logits}
        figures = {part: _measured(self.memes, part, found) for part, found in logits.items()}
        return MemeRun(LATE_FUSION, seed, figures, logits)

    def _trained(self, row: str, seed: int) -> MemeRun:
        from davy.detectors.meme_presets import load_preset
        from davy.memes.meme_train import train_preset

        preset = load_preset(row, self.size, self.changes)
        before = self.captioned.data_hash if self.captioned and preset.pretraining else ""
        path = cache_path("memes", row, asdict(preset), self.memes.data_hash, seed, before).with_suffix(".npz")
        if not path.is_file() or self.fresh:
            trained, _ = train_preset(preset, self.memes, seed, captioned=self.captioned, reporter=self.reporter)
            make_folder(path.parent)
            with atomic_path(path) as hidden, hidden.open("wb") as file:
                np.savez(file, dev=trained.logits["dev"], test=trained.logits["test"])
        with np.load(path, allow_pickle=False) as kept:
            logits = {part: kept[part] for part in ("dev", "test")}
        figures = {part: _measured(self.memes, part, found) for part, found in logits.items()}
        return MemeRun(row, seed, figures, logits)


def reproduce_memes(
    data: Path,
    *,
    rows: Sequence[str] = (),
    size: str = "small",
    seeds: int = 3,
    changes: Mapping[str, str] | None = None,
    captions: Path | None = None,
    results: Sequence[Path] = (),
    fresh: bool = False,
    bootstrap: Bootstrap | None = None,
    reporter: Reporter = SILENT,
) -> Reproduction:
    """Return Table 1 beside ours. `rows` are those to run, all without; `results` have rows that ran elsewhere.

    `captions` is a folder of captioned pictures, for the rows with multimodal pre-training; without it the memes' own.
    """
    for row in rows:
        if row not in ROWS:
            raise UserError(f"There is no row {row!r}.{nearest(row, list(ROWS))} The rows are {', '.join(ROWS)}.")
    memes = load_memes(data)
    task = MeasuredMemes(
        memes.name, memes.data_hash, {part: _labels(memes, part) for part in ("dev", "test")}, dict(memes.names)
    )
    if results:
        runs, labels = read_results(results, memes)
        task = replace(task, labels={**task.labels, **labels})
        notes = (f"Rows were trained before: {', '.join(map(str, results))}.",)
        size_of = {part: runs[0].figures[part].get("n") for part in task.labels}
        # A part that was cut otherwise than here, such as the tenth of train, has other memes.
        kept = {part: each for part, each in task.labels.items() if size_of[part] in (None, len(each))}
        task = replace(task, labels=kept)
        return table_1(task, runs, _absent(runs), notes=notes, bootstrap=bootstrap)
    captioned = load_memes(captions) if captions is not None else None
    lab = _Rows(memes, size, changes or {}, captioned, fresh, reporter)
    missing: dict[str, str] = {}
    for row in rows or ROWS:
        try:
            for seed in range(seeds):
                reporter.note(f"{row}, seed {seed}")
                lab.run(row, seed)
        except UserError as error:
            missing[row] = error.message.rstrip(".")
        except ModuleNotFoundError as error:
            absent = missing_extra(error)
            if absent is None:
                raise
            missing[row] = absent.message
    runs = [run for (row, _), run in lab.runs.items() if row not in missing and row in (rows or ROWS)]
    return table_1(task, runs, missing, ran=_ran(size, changes or {}), bootstrap=bootstrap)


def read_results(paths: Sequence[Path], memes: MemeParts) -> tuple[list[MemeRun], dict[str, np.ndarray]]:
    """Return the runs of files of results for this data, and the labels of the memes that they were measured on.

    Of a row that several files have, the last one counts. A file has a JSON object a line. It may name an `.npz` beside
    it, with logits as `valid-ROW-SEED` and `test-ROW-SEED` and ids as `valid-id` and `test-id`: the dev part there need
    not be the one that is cut here. Lines of other data and those that a search did not choose are left out.
    """
    by_row: dict[str, list[MemeRun]] = {}
    labels: dict[str, np.ndarray] = {}
    for path in paths:
        runs, of_file = _read_file_of_results(path, memes)
        for part, each in of_file.items():
            if part in labels and not np.array_equal(labels[part], each):
                raise UserError(f"{path} measured other memes of {part} than the file before it. Read them one by one.")
        labels |= of_file
        by_row |= {row: [run for run in runs if run.row == row] for row in {run.row for run in runs}}
    return [run for row in ROWS for run in by_row.get(row, ())], labels


def _read_file_of_results(path: Path, memes: MemeParts) -> tuple[list[MemeRun], dict[str, np.ndarray]]:
    files: dict[str, tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = {}
    runs = []
    labels: dict[str, np.ndarray] = {}
    for number, line in enumerate(read_text(path, "file of results").splitlines(), 1):
        record = _record(line, f"{path}, line {number}")
        if record and record["data"] in (memes.name, memes.data_hash) and record.get("chosen", True):
            name = Path(str(record.get("predictions", ""))).name
            if name not in files:
                files[name] = _saved_logits(path.parent / name, memes)
            arrays, of_file = files[name]
            labels |= of_file
            stem = f"{record['row']}-{record['seed']}"
            logits = {part: arrays[f"{prefix}-{stem}"] for part, prefix in KEPT.items() if f"{prefix}-{stem}" in arrays}
            figures = {"dev": record["valid"], "test": record["test"]}
            runs.append(MemeRun(record["row"], int(record["seed"]), figures, logits))
    if not runs:
        raise UserError(f"{path} has no results on {memes.name}. Its lines have row, seed, data, valid and test.")
    return runs, labels


def _saved_logits(path: Path, memes: MemeParts) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the logits of an `.npz` by name, and by part the labels of its memes; nothing where it is not there."""
    if path.suffix != ".npz" or not path.is_file():
        return {}, {}
    with np.load(path, allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    known = {name: yes for part in memes.parts.values() for name, yes in part.select("id", "yes").iter_rows()}
    labels = {}
    for part, prefix in KEPT.items():
        ids = [str(name) for name in kept.pop(f"{prefix}-id", ())]
        strange = next((name for name in ids if name not in known), None)
        if strange is not None:
            raise UserError(f"{path} has answers to {strange}, which {memes.folder} has no label of. Name its memes.")
        if ids:
            labels[part] = np.array([known[name] for name in ids], dtype=np.int64)
    return {name: logits.astype(np.float64) for name, logits in kept.items()}, labels


def fuse_logits(image: np.ndarray, text: np.ndarray) -> np.ndarray:
    """Return the logit of the mean of two probabilities."""
    mean = (1 / (1 + np.exp(-image.astype(np.float64))) + 1 / (1 + np.exp(-text.astype(np.float64)))) / 2
    mean = np.clip(mean, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(mean / (1 - mean)))


def _record(line: str, where: str) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        record = json.loads(line)
        if record["row"] not in ROWS:
            raise ValueError(f"no row {record['row']!r}")
        return {**record, "data": str(record["data"]), "valid": dict(record["valid"]), "test": dict(record["test"])}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{where} is no result of a row ({error}). Write row, seed, data, valid and test.") from None


def _measured(memes: MemeParts, part: str, logits: np.ndarray) -> dict[str, float]:
    from davy.measure.ranking import auroc

    labels = _labels(memes, part)
    return {"auroc": auroc(labels == 1, logits), "accuracy": float(np.mean((logits >= 0) == (labels == 1)))}


def _labels(memes: MemeParts, part: str) -> np.ndarray:
    return np.asarray(memes.parts[part]["yes"].to_list(), dtype=np.int64)


def _absent(runs: Sequence[MemeRun]) -> dict[str, str]:
    measured = {run.row for run in runs}
    return {row: "it is not in the file of results" for row in ROWS if row not in measured}


def _ran(size: str, changes: Mapping[str, str]) -> str:
    """Return what rows ran with, where that is not the paper's: encoders by size, and every changed field."""
    small = "MiniLM-L6 and EfficientNet-Lite0 or boxes of SSD-MobileNet-v2, small preset"
    parts = [small] if size == "small" else []
    return ", ".join([*parts, *(f"{name}={value}" for name, value in changes.items())])


def paper_section(data: Path, seed: int, reporter: Reporter) -> PaperSection:
    """Return the Hateful Memes paper's Table 1; ours from a file of results, since its rows take hours to train."""
    for corpus in ("hateful-memes", "harmeme"):
        place = corpora.find_in(data, corpus)
        if place is not None and (place / RESULTS).is_file():
            resamples = Bootstrap(1000, seed)
            found = reproduce_memes(place, results=[place / RESULTS], bootstrap=resamples, reporter=reporter)
            return section_of("hateful-memes", found)
    missing = f"Ours are not there: no {RESULTS} lies beside the memes. Their rows: davy reproduce memes --data DIR."
    return published_section("hateful-memes", missing)
