"""Text, Concat and MMBT-Region on HarMeme's five folds with new seeds, all learning whole and alike: on a GPU.

    python seeds.py --keep DIR --out DIR --seconds 600 [--workers 3]

DIR is what pack_seeds.py packed. Each training is one line of `results.jsonl` and one file of `predictions/`, as
folds.py writes them, so that `choose.py` reads both; `predictions.npz` holds all logits in one file. No training starts
after `--seconds`; started again, it does what is missing. First the folds, seed by seed; then the same rows on all of
train, measured on val.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import time
import traceback
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
import torch

from davy.detectors.meme_model import MemeModel, PictureFeatures
from davy.detectors.meme_presets import MINILM, MemePreset, load_preset
from davy.training.meme_trainer import MemeExamples, MemeTensors, measure_logits, predict_logits, train_row

FOLDS = 5
SEEDS = (2, 3, 4)
"""Seed 1 was used before: its results led to this comparison."""
ROWS = ("text", "concat", "mmbt-region")
SETTINGS = {"updates": "200", "warmup": "20", "every": "20", "batch": "64", "max_length": "96", "rate": "1e-4",
            "new_rate": "5e-4"}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One training: `data` is fold-N or whole."""

    data: str
    row: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.data}.{self.row}.{self.seed}"


def all_tasks() -> list[Task]:
    """Return every training, the most important ones first."""
    folds = [Task(f"fold-{n}", row, seed) for seed in SEEDS for n in range(FOLDS) for row in ROWS]
    whole = [Task("whole", row, seed) for seed in SEEDS for row in ROWS]
    return folds + whole


class PackedMemes:
    """The memes of one data set with their features and parts."""

    def __init__(self, keep: Path, name: str) -> None:
        record = json.loads((keep / f"{name}.json").read_text(encoding="utf-8"))
        self.texts, self.labels = record["texts"], np.array(record["labels"], dtype=np.int64)
        with np.load(keep / f"{name}.npz") as arrays:
            self.parts = {part: arrays[part] for part in arrays.files if part != "boxes"}
            boxes = arrays["boxes"]
        self.pictures = {
            kind: PictureFeatures(np.load(file), boxes if kind == "region" else None)
            for kind in ("grid", "region")
            if (file := keep / f"{name}-{kind}.npy").exists()
        }

    def part(self, name: str) -> MemeExamples:
        """Return the memes of one part."""
        return MemeExamples(self.texts, self.labels, self.pictures).rows(self.parts[name])


def preset_of(task: Task, keep: Path, quick: bool) -> MemePreset:
    """Return a task's preset: the same settings for each row."""
    changes = SETTINGS | ({"updates": "4", "warmup": "1", "every": "2", "batch": "8"} if quick else {})
    return load_preset(task.row, "small", {**changes, "text_encoder": str(keep / "minilm")})


def work_on(task: Task, memes: PackedMemes, keep: Path, out: Path, device: str, quick: bool) -> dict[str, Any]:
    """Train, measure and return the record; logits are written beside it, and MMBT-Region's first model."""
    began = time.time()
    preset = preset_of(task, keep, quick)
    parts = {what: memes.part(f"{task.data}-{what}") for what in ("train", "dev", "test")}
    trained = train_row(preset, parts["train"], parts["dev"], seed=task.seed, device=device)
    logits, figures = {}, {}
    for what, part in (("valid", "dev"), ("test", "test")):
        some = parts[part]
        tensors = MemeTensors.of(some.texts, some, trained.model, device)
        logits[what] = predict_logits(trained.model.network, tensors)
        figures[what] = {**measure_logits(some.labels, logits[what]), "n": len(some)}
    places = {"rows": memes.parts[f"{task.data}-test"], "dev": memes.parts[f"{task.data}-dev"]}
    np.savez(out / "predictions" / f"{task.name}.npz", **logits, **places)
    if task == Task("whole", "mmbt-region", SEEDS[0]):
        save_model(trained.model, out / "model")
    curve = [[round(it["loss"], 3), round(it["auroc"], 3)] for it in trained.histories[-1].records]
    return {"row": task.row, "seed": task.seed, "data": task.data, "n": len(parts["train"]), **figures,
            "curve": curve, "seconds": round(time.time() - began, 1)}  # fmt: skip


def save_model(model: MemeModel, folder: Path) -> None:
    """Write a model in 16 bits, without the paths of this machine."""
    preset = replace(model.preset, text_encoder=MINILM)
    replace(model, preset=preset, device="cpu", network=model.network.cpu()).save(folder, half=True)


def serve_tasks(tasks: Any, results: Any, keep: Path, out: Path, quick: bool) -> None:
    """Do tasks until there is None."""
    torch.set_num_threads(2 if torch.cuda.is_available() else 1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    memes = PackedMemes(keep, "harmeme")
    while (task := tasks.get()) is not None:
        try:
            results.put((task, work_on(task, memes, keep, out, device, quick)))
        except Exception:  # noqa: BLE001 one task that fails must not take the others with it
            results.put((task, {"error": traceback.format_exc()}))


def unpack_features(keep: Path) -> None:
    """Turn the packed features back into arrays, once."""
    for packed in sorted(keep.glob("*.npy.xz")):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()


def gather_predictions(out: Path) -> None:
    """Write all logits as one file."""
    arrays = {}
    for file in sorted((out / "predictions").glob("*.npz")):
        with np.load(file) as found:
            arrays |= {f"{file.stem}:{part}": found[part] for part in found.files}
    hidden = out / "hidden.npz"
    np.savez_compressed(hidden, **arrays)
    hidden.replace(out / "predictions.npz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="four updates each, to try the job out")
    args = parser.parse_args()
    end = time.time() + args.seconds
    (args.out / "predictions").mkdir(parents=True, exist_ok=True)
    unpack_features(args.keep)
    log = args.out / "results.jsonl"
    done = set()
    if log.exists():
        done = {(it["data"], it["row"], it["seed"]) for it in map(json.loads, log.open())}
    waiting = [it for it in all_tasks() if (it.data, it.row, it.seed) not in done]
    commit = (args.keep / "commit.txt").read_text().strip()
    kind = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, commit {commit}, torch {torch.__version__}, {kind}, {args.workers} "
          f"processes, {SETTINGS}, {len(done)} trainings done before, {len(waiting)} to do", flush=True)  # fmt: skip
    context = torch.multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    start = partial(context.Process, target=serve_tasks, daemon=True)
    workers = [start(args=(tasks, results, args.keep, args.out, args.quick)) for _ in range(args.workers)]
    for worker in workers:
        worker.start()
    running: set[Task] = set()
    while True:
        while waiting and len(running) < args.workers and time.time() < end:
            running.add(waiting[0])
            tasks.put(waiting.pop(0))
        if not running:
            break
        try:
            task, record = results.get(timeout=5)
        except Empty:
            if not all(worker.is_alive() for worker in workers):
                raise SystemExit("a process died") from None
            continue
        running.discard(task)
        if "error" in record:
            print(task.name, record["error"], flush=True)
            continue
        with log.open("a") as file:
            file.write(json.dumps(record) + "\n")
        gather_predictions(args.out)
        figures = {what: record[what]["auroc"] for what in ("valid", "test")}
        print(f"{time.strftime('%H:%M:%S')} {task.name:32} {figures} {record['seconds']} s, curve {record['curve']}",
              flush=True)  # fmt: skip
    print("done" if not waiting else f"{len(waiting)} trainings left", flush=True)


if __name__ == "__main__":
    sys.exit(main())
