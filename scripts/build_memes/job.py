"""Train every row of the table on the benchmark and on HarMeme, several at a time on one GPU.

    python job.py --keep DIR --out DIR --seconds 500
    python job.py --keep DIR --out DIR --seconds 9000 --workers 2 --only '*.vilbert.*' --set precision=bf16

In DIR lies what prepare.py packed and features.py computed. Each training is a task; tasks are done in the order of
their weight, results are written as they come (`results.jsonl`, and logits in `predictions/`), and no task starts
after `--seconds`. Started again with the same --keep, it does what is missing.

1. Every row on the benchmark, three seeds. The first seed tries two pairs of learning rates; dev's AUROC chooses.
   ViLBERT keeps its preset's rates and length: at the others its new blocks collapse (docs/decisions.md, 74).
2. Every row on HarMeme, likewise; dev is a tenth of its train part, test is its val part.
3. Text, Concat and the best fusion on both together.

Cross-validation on HarMeme is folds.py's.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
import traceback
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
import torch

from davy.detectors.meme_model import PictureFeatures
from davy.detectors.meme_networks import PRETRAINED, ROWS
from davy.detectors.meme_presets import MINILM, MemePreset, load_preset
from davy.training.meme_trainer import MemeExamples, MemeTensors, measure_logits, predict_logits, train_row

SEEDS = (1, 2, 3)
TRAINED = tuple(row for row in ROWS if row != "late-fusion")
FUSIONS = tuple(row for row in TRAINED if row.startswith(("mmbt", "vil", "visual")))
SHARED_FROM_BENCHMARK = 3000
"""Memes of the benchmark beside HarMeme's in the trainings on both."""
RATES: dict[str, tuple[dict[str, str], ...]] = {
    "benchmark": ({"rate": "1e-4", "new_rate": "1e-3"}, {"rate": "2e-4", "new_rate": "3e-4"}),
    "harmeme": ({"rate": "1e-4", "new_rate": "5e-4"}, {"rate": "4e-5", "new_rate": "2e-4"}),
}
"""The rates that the first seed tries, of the text encoder and of what is new."""
OWN_SETTINGS = ("vilbert",)
"""Rows that are trained as their presets say."""
SETTINGS: dict[str, dict[str, str]] = {
    "benchmark": {"updates": "1200", "warmup": "120", "every": "100", "batch": "128", "max_length": "48"},
    "harmeme": {"updates": "500", "warmup": "50", "every": "25", "batch": "64", "max_length": "96"},
    "both": {"updates": "1200", "warmup": "120", "every": "100", "batch": "96", "max_length": "96"},
}


@dataclass(frozen=True)
class Task:
    """One training. `data` is benchmark, harmeme or both."""

    data: str
    row: str
    seed: int
    rates: int = 0

    @property
    def name(self) -> str:
        return f"{self.data}.{self.row}.{self.seed}.{self.rates}"

    @property
    def weight(self) -> int:
        """The order of tasks, first ones first."""
        if self.data == "both":
            return 2 if self.seed == SEEDS[0] else 4
        return {"benchmark": 0, "harmeme": 1}[self.data]


class Memes:
    """The packed data, read when it is needed."""

    def __init__(self, keep: Path) -> None:
        self.keep = keep

    def part(self, name: str, part: str, preset: MemePreset) -> MemeExamples:
        """Return one part of a data set with the features that a preset's row looks at."""
        stem = f"{name}-{part}"
        rows = [json.loads(line) for line in (self.keep / f"{stem}.jsonl").read_text(encoding="utf-8").splitlines()]
        pictures = {}
        if preset.network.features == "grid":
            kind = {1: "one", 9: "nine"}[preset.network.cells]
            pictures["grid"] = PictureFeatures(np.load(self.keep / f"{stem}-{kind}.npy"))
        elif preset.network.features == "region":
            arrays = (np.load(self.keep / f"{stem}-{kind}.npy") for kind in ("region", "boxes"))
            pictures["region"] = PictureFeatures(*arrays)
        captions = [row["caption"] for row in rows] if "caption" in rows[0] else ()
        return MemeExamples([row["text"] for row in rows], np.array([row["label"] for row in rows]), pictures, captions)


def join(one: MemeExamples, other: MemeExamples) -> MemeExamples:
    """Return two sets of memes as one."""
    pictures = {}
    for kind, mine in one.pictures.items():
        yours = other.pictures[kind]
        boxes = None if mine.boxes is None or yours.boxes is None else np.concatenate([mine.boxes, yours.boxes])
        pictures[kind] = PictureFeatures(np.concatenate([mine.vectors, yours.vectors]), boxes)
    labels = np.concatenate([one.labels, other.labels])
    return MemeExamples([*one.texts, *other.texts], labels, pictures)


def split_dev(memes: MemeExamples, share: float = 0.1) -> tuple[MemeExamples, MemeExamples]:
    """Return memes to learn from and a dev part, the same in every run: HarMeme's val is for measuring."""
    rng = np.random.default_rng(0)
    chosen = np.zeros(len(memes), bool)
    for label in (0, 1):
        places = rng.permutation(np.flatnonzero(memes.labels == label))
        chosen[places[: round(share * len(places))]] = True
    return memes.rows(np.flatnonzero(~chosen)), memes.rows(np.flatnonzero(chosen))


def data_of(task: Task, memes: Memes, preset: MemePreset) -> dict[str, MemeExamples]:
    """Return train, dev and the parts to measure of a task."""
    if task.data == "benchmark":
        return {part: memes.part("benchmark", part, preset) for part in ("train", "dev", "test")}
    whole = memes.part("harmeme", "train", preset)
    train, dev = split_dev(whole)
    parts = {"train": train, "dev": dev, "test": memes.part("harmeme", "val", preset)}
    if task.data == "both":
        drawn = memes.part("benchmark", "train", preset)
        few = np.random.default_rng(0).permutation(len(drawn))[:SHARED_FROM_BENCHMARK]
        parts["train"] = join(train, drawn.rows(few))
        parts["benchmark"] = memes.part("benchmark", "test", preset)
    return parts


QUICK = {"updates": "4", "warmup": "1", "every": "2", "batch": "8"}


def preset_of(task: Task, keep: Path, changed: dict[str, str]) -> MemePreset:
    """Return a task's preset: the small one, as long as its data asks for, with what the caller changes."""
    changes = {**SETTINGS[task.data], **RATES["benchmark" if task.data == "benchmark" else "harmeme"][task.rates]}
    if task.row in OWN_SETTINGS:
        changes = {}
    preset = load_preset(task.row, "small", {**changes, "text_encoder": str(keep / "minilm"), **changed})
    if preset.pretraining is not None and changed.items() >= QUICK.items():
        preset = replace(preset, pretraining=replace(preset.pretraining, updates=4, warmup=1, every=2, batch=8))
    return preset


def work_on(task: Task, memes: Memes, out: Path, device: str, changed: dict[str, str]) -> dict[str, Any]:
    """Train, measure and return the record; logits are written beside it, and models of both data sets."""
    began = time.time()
    preset = preset_of(task, memes.keep, changed)
    parts = data_of(task, memes, preset)
    captioned = memes.part("benchmark", "train", preset) if task.row in PRETRAINED else None
    heard: list[dict[str, Any]] = []
    trained = train_row(preset, parts["train"], parts["dev"], seed=task.seed, device=device, captioned=captioned,
                        tell=heard.append)  # fmt: skip
    record: dict[str, Any] = {"row": task.row, "seed": task.seed, "data": task.data, "rates": task.rates}
    record |= {"n": len(parts["train"]), "rate": preset.training.rate, "new_rate": preset.training.new_rate}
    record |= {"updates": preset.training.updates, "batch": preset.training.batch}
    logits = {}
    for part, examples in parts.items():
        if part == "train":
            continue
        tensors = MemeTensors.of(examples.texts, examples, trained.model, device)
        logits[part] = predict_logits(trained.model.network, tensors)
        name = {"dev": "valid"}.get(part, part)
        record[name] = {**measure_logits(examples.labels, logits[part]), "n": len(examples)}
    np.savez(out / "predictions" / f"{task.name}.npz", **logits)
    record["predictions"] = f"{task.name}.npz"
    record["curve"] = [[round(it["loss"], 3), round(it.get("auroc", 0), 3)] for it in heard]
    if task.data == "both" and task.seed == SEEDS[0]:
        model = replace(trained.model, preset=replace(trained.model.preset, text_encoder=MINILM))
        model.save(out / "models" / task.row, half=True)
    record["seconds"] = round(time.time() - began, 1)
    return record


def serve_tasks(tasks: Any, results: Any, keep: Path, out: Path, changed: dict[str, str]) -> None:
    """Do tasks until there is None."""
    torch.set_num_threads(2 if torch.cuda.is_available() else 1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    memes = Memes(keep)
    while (task := tasks.get()) is not None:
        try:
            results.put((task, work_on(task, memes, out, device, changed)))
        except Exception:  # noqa: BLE001 one task that fails must not take the others with it
            results.put((task, {"error": traceback.format_exc()}))


def tries(row: str) -> int:
    """Return how many pairs of rates the first seed tries: one where a row has own rates or no encoder to train."""
    return 1 if row.startswith("image-") or row in OWN_SETTINGS else len(RATES["benchmark"])


def first_tasks() -> list[Task]:
    """Return the first seed's tasks on both data sets."""
    order = ("concat", "visualbert", "vilbert", "mmbt-grid", "mmbt-region", "visualbert-coco", "vilbert-cc", "text",
             "image-grid", "image-region")  # fmt: skip
    return [
        Task(data, row, SEEDS[0], rates)
        for data in ("benchmark", "harmeme")
        for row in order
        for rates in range(tries(row))
    ]


def chosen_rates(data: str, row: str, records: list[dict[str, Any]]) -> int | None:
    """Return the pair of rates with the best AUROC on dev, once the first seed has tried all; the only one where so."""
    if tries(row) == 1:
        return 0
    mine = [r for r in records if (r["data"], r["row"], r["seed"]) == (data, row, SEEDS[0])]
    if len(mine) < tries(row):
        return None
    return int(max(mine, key=lambda r: r["valid"]["auroc"])["rates"])


def next_tasks(records: list[dict[str, Any]]) -> list[Task]:
    """Return every task that can be done by now, those that were done too."""
    tasks = first_tasks()
    chosen = {}
    for data in ("benchmark", "harmeme"):
        for row in TRAINED:
            rates = chosen_rates(data, row, records)
            if rates is not None:
                chosen[data, row] = rates
                tasks += [Task(data, row, seed, rates) for seed in SEEDS[1:]]
    best = best_fusion(records)
    if best is None:
        return tasks
    rows = ("text", "concat", best)
    return tasks + [Task("both", row, seed, chosen["harmeme", row]) for seed in SEEDS for row in rows]


def best_fusion(records: list[dict[str, Any]]) -> str | None:
    """Return the fusion beyond Concat with the best mean AUROC on HarMeme's dev; None until all seeds are done."""
    means = {}
    for row in (*FUSIONS, "text", "concat"):
        rates = chosen_rates("harmeme", row, records)
        mine = [r for r in records if (r["data"], r["row"], r["rates"]) == ("harmeme", row, rates)]
        if len(mine) < len(SEEDS):
            return None
        means[row] = float(np.mean([r["valid"]["auroc"] for r in mine]))
    return max(FUSIONS, key=lambda row: means[row])


def is_chosen(record: dict[str, Any], records: list[dict[str, Any]]) -> bool:
    """Return whether a record is of the rates that dev chose: the others are the search's."""
    if record["data"] not in RATES:
        return True
    return chosen_rates(record["data"], record["row"], records) in (None, record["rates"])


def add_late_fusion(records: list[dict[str, Any]], out: Path, keep: Path) -> list[dict[str, Any]]:
    """Return records of Late Fusion where both its parts are done: the mean of their scores, nothing trained."""
    made = []
    for data in ("benchmark", "harmeme"):
        for seed in SEEDS:
            rates = [chosen_rates(data, row, records) or 0 for row in ("image-grid", "text")]
            names = [Task(data, row, seed, n).name for row, n in zip(("image-grid", "text"), rates, strict=True)]
            parts = [out / "predictions" / f"{name}.npz" for name in names]
            if not all(part.exists() for part in parts):
                continue
            image, text = (dict(np.load(part)) for part in parts)
            task = Task(data, "late-fusion", seed)
            parts_of = data_of(task, Memes(keep), load_preset("text"))
            record: dict[str, Any] = {"row": "late-fusion", "seed": seed, "data": data}
            logits = {}
            for part in image:
                mean = sum(1 / (1 + np.exp(-it[part].astype(np.float64))) for it in (image, text)) / 2
                logits[part] = np.log(mean / (1 - mean)).astype(np.float32)
                examples = parts_of[part]
                record[{"dev": "valid"}.get(part, part)] = {
                    **measure_logits(examples.labels, logits[part]), "n": len(examples)
                }  # fmt: skip
            np.savez(out / "predictions" / f"{task.name}.npz", **logits)
            made.append({**record, "predictions": f"{task.name}.npz"})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--first-model", default="concat", help="the model that comes back where not all have room")
    parser.add_argument("--quick", action="store_true", help="four updates each, to try the job out")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a setting of every training")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="some trainings, such as *.vilbert.*")
    args = parser.parse_args()
    changed = dict(each.split("=", 1) for each in args.set)
    if args.quick:
        changed |= QUICK
        global SEEDS
        SEEDS = SEEDS[:1]
        RATES.update({data: rates[:1] for data, rates in RATES.items()})
    end = time.time() + args.seconds
    state = args.keep / "done"
    for folder in (state / "predictions", state / "models", args.out):
        folder.mkdir(parents=True, exist_ok=True)
    log = state / "results.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    done = {Task(record["data"], record["row"], record["seed"], record["rates"]) for record in records}
    commit = (args.keep / "commit.txt").read_text().strip()
    print(f"commit {commit}, torch {torch.__version__}, {len(done)} tasks done before", flush=True)
    context = torch.multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    workers = [
        context.Process(target=serve_tasks, daemon=True, args=(tasks, results, args.keep, state, changed))
        for _ in range(args.workers)
    ]
    for worker in workers:
        worker.start()
    running: set[Task] = set()
    failed = 0
    while True:
        wanted = (t for t in next_tasks(records) if t not in done | running and fnmatch(t.name, args.only))
        ready = sorted(wanted, key=lambda t: t.weight)
        for task in ready[: args.workers - len(running)] if time.time() < end else ():
            running.add(task)
            tasks.put(task)
        if not running:
            break
        try:
            task, record = results.get(timeout=5)
        except Empty:
            if time.time() > end + 50 or not any(worker.is_alive() for worker in workers):
                print("given up:", *(task.name for task in running), flush=True)
                break
            continue
        running.discard(task)
        done.add(task)
        if "error" in record:
            print(task.name, record["error"] if not failed else record["error"].splitlines()[-1], flush=True)
            failed += 1
            if failed > 9 and failed > len(records):
                raise SystemExit("nearly every task fails")
            continue
        records.append(record)
        with log.open("a") as file:
            file.write(json.dumps({**record, "commit": commit}) + "\n")
        shutil.copy(log, args.out / "results.jsonl")
        figures = {part: record[part]["auroc"] for part in ("valid", "test", "benchmark") if part in record}
        print(f"{task.name:32} {figures} {record['seconds']} s, {end - time.time():.0f} s left", flush=True)
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.join(timeout=5)
    finish(records, state, args.out, args.keep, args.first_model)


def finish(records: list[dict[str, Any]], state: Path, out: Path, keep: Path, first_model: str) -> None:
    """Add Late Fusion and write everything that comes back, in eight files at most."""
    late = add_late_fusion(records, state, keep)
    with (out / "results.jsonl").open("w") as file:
        for record in [*records, *late]:
            file.write(json.dumps({**record, "chosen": record in late or is_chosen(record, records)}) + "\n")
    arrays = {}
    for file_ in sorted((state / "predictions").glob("*.npz")):
        arrays |= {f"{file_.stem}:{part}": values.astype(np.float16) for part, values in np.load(file_).items()}
    np.savez_compressed(out / "predictions.npz", **arrays)
    folders = sorted((state / "models").iterdir(), key=lambda folder: folder.name != first_model)
    for folder in folders:
        pack_model(folder, out)


def pack_model(folder: Path, out: Path, size: int = 16_700_000, most: int = 7) -> None:
    """Write a model's folder as one archive, in parts small enough to come back, where they fit beside the others."""
    archive = Path(shutil.make_archive(str(folder), "tar", folder))
    data = archive.read_bytes()
    archive.unlink()
    there = [file.stat().st_size for file in out.iterdir()]
    if len(there) + -(-len(data) // size) > most or sum(there) + len(data) > 62 * 2**20:
        print(f"{folder.name} has no room: call again with --first-model {folder.name}", flush=True)
        return
    for number, start in enumerate(range(0, len(data), size)):
        (out / f"{folder.name}.tar.{number}").write_bytes(data[start : start + size])


if __name__ == "__main__":
    sys.exit(main())
