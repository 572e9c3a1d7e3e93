"""Step 3, on any machine: a student becomes a model folder, and its figures a card.

`python finish.py --of minilm --name embedded-en --prepared DIR --students DIR --data DIR --out DIR`

Writes the int8 graph, sets temperatures and thresholds on dev, scores dev through the
folder as a user would, with bootstrap intervals, and compares with the exact weights.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import job
import numpy as np
import polars as pl
import torch
from corpora import CATEGORIES, HEADS, TARGETS, TYPES, VECTORS, Post, labelled, unlabelled
from prepare import leaky

from davy import schemes
from davy.core.scheme import Question
from davy.detectors import folder as folders
from davy.detectors.joint_answers import NAMES_FILE, JointRules
from davy.detectors.network import Network, columns_of
from davy.detectors.onnx import OnnxScorer
from davy.detectors.transformer import parent_gates
from davy.training.data import Tokens
from davy.training.fit import predict
from davy.training.onnx.activation_ranges import measure_ranges
from davy.training.onnx.write import write_onnx

HERE = Path(__file__).parent
LABELS = {"type": TYPES, "target": TARGETS, "category": CATEGORIES, "vector": VECTORS}
BAND = (0.3333, 0.6667)
"""Answers with a probability of yes in between are marked unsure."""
CORPORA = {"hate": ("dynahate", "hatemojibuild"), "offensive": ("davidson",), "sexist": ("edos",)}


def main() -> None:
    """Write the folder and `figures.json` beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", required=True, choices=("minilm", "mpnet"))
    parser.add_argument("--name", required=True)
    for option in ("--prepared", "--data", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--students", type=Path, action="append", required=True, help="again: their weights' mean")
    parser.add_argument("--table-bits", type=int, default=8)
    parser.add_argument("--matrix-bits", type=int, default=8)
    parser.add_argument("--exact", action="store_true", help="score dev with the exact weights too (slow)")
    args = parser.parse_args()
    folder = args.out / args.name
    folder.mkdir(parents=True, exist_ok=True)

    network = job.load_student(args.prepared, args.students, args.of)
    questions = asked()
    columns = columns_of(job.HEAD_LIST)
    places = [list(range(columns[q.name].start, columns[q.name].stop)) for q in questions]
    everything = labelled(args.data)
    measure_ranges(network, sample(everything, unlabelled(args.data), args.prepared / "tokenizer.json"))
    write_onnx(
        network,
        [q.name for q in questions],
        places,
        folder / "model.onnx",
        table_bits=args.table_bits,
        matrix_bits=args.matrix_bits,
        within=parent_gates(questions),
        frequent=loud_rows(network),
    )
    tokenizer = json.loads((args.prepared / "tokenizer.json").read_text(encoding="utf-8"))
    compact = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(compact, encoding="utf-8")
    shutil.copy(HERE / "english_names.txt", folder / NAMES_FILE)
    settings = {
        "max_length": job.MAX_LENGTH,
        "truncate": "windows",
        "prepare": [],
        "unsure": {name: list(BAND) for name in CORPORA},
    }
    manifest = folders.Manifest("onnx", args.name, questions, languages=("en",), settings=settings)
    folders.write(folder, manifest)

    twins = leaky(everything, len(everything))
    dev = [(post, bool(twin)) for post, twin in zip(everything, twins, strict=True) if post.part == "dev"]
    posts = [post for post, _ in dev]
    frame = pl.DataFrame({"text": [post.text for post in posts]})
    raw = OnnxScorer(folder, folders.read(folder)).score(frame).probabilities
    temperatures = {q.name: temperature(raw[q.name], *gold_of(posts, q.name)) for q in questions if q.kind == "one"}
    folders.write(folder, replace(manifest, temperatures=temperatures))
    cooled = OnnxScorer(folder, folders.read(folder)).score(frame).probabilities
    thresholds = {name: threshold(cooled[name][:, 1], *gold_of(posts, name)) for name in CORPORA}
    thresholds["target"] = target_threshold(cooled["target"], posts)
    # Answers are decoded together last: temperatures are those of each head alone.
    together = {**settings, "joint": asdict(JointRules())}
    calibrated = replace(manifest, temperatures=temperatures, thresholds=thresholds, settings=together)
    full = folders.write(folder, calibrated)
    decoded = OnnxScorer(folder, folders.read(folder)).score(frame).probabilities

    figures = {"model": full.name, "version": full.version, "bytes": size(folder), "temperatures": temperatures}
    figures |= {"thresholds": thresholds, "dev": report(decoded, thresholds, dev)}
    if args.exact:
        figures["int8 against exact"] = compare(network, raw, folder, posts)
    args.out.joinpath(f"{args.name}.figures.json").write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures, indent=2))


def sample(posts: list[Post], loose: list[Post], tokenizer: Path) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return up to a thousand train posts and as many of Reddit's, tokenised, for the ranges of activations."""
    rng = np.random.default_rng(3)
    train = [post for post in posts if post.part == "train"]
    early = loose[: len(loose) // 2]  # benchmarks take the last ones
    texts = [
        some[i].text for some in (train, early) for i in rng.choice(len(some), min(1000, len(some)), replace=False)
    ]
    rows = (torch.tensor([ids]) for ids in job.encoded(tokenizer, texts))
    return [(ids, torch.ones_like(ids)) for ids in rows]


def loud_rows(network: Network) -> torch.Tensor:
    """Return which tokens keep 8 bits where the table has 4: BERT's most frequent pieces come first, our emoji last."""
    rows = network.encoder.get_input_embeddings().num_embeddings  # type: ignore[operator]
    place = torch.arange(rows)
    return (place < 5000) | (place >= rows - 1941)


def asked() -> tuple[Question, ...]:
    """Return the questions of the scheme `embedded-en`, each with the labels that the network has, in its order."""
    scheme = schemes.load("embedded-en")
    found = []
    for question in scheme.questions:
        if question.name not in HEADS:
            continue
        names = LABELS.get(question.name)
        labels = tuple(question.label(name) for name in names) if names else question.labels
        if names is None and question.labels[1].name != question.positive:
            raise SystemExit(f"{question.name}: the second label is not the positive one")
        found.append(replace(question, labels=labels))
    return tuple(found)


def gold_of(posts: list[Post], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return which posts have an answer to a question that counts here, and those answers."""
    rows = [i for i, p in enumerate(posts) if name in p.answers and (name not in CORPORA or p.corpus in CORPORA[name])]
    return np.array(rows), np.array([posts[i].answers[name][0] for i in rows])


def temperature(chances: np.ndarray, rows: np.ndarray, gold: np.ndarray) -> float:
    """Return the temperature with the lowest log loss."""
    logs = np.log(np.clip(chances[rows], 1e-9, 1))
    losses = {}
    for value in np.linspace(0.6, 3.0, 49):
        scaled = logs / value
        scaled -= np.log(np.exp(scaled - scaled.max(1, keepdims=True)).sum(1, keepdims=True)) + scaled.max(
            1, keepdims=True
        )
        losses[round(float(value), 3)] = -scaled[np.arange(len(gold)), gold].mean()
    return min(losses, key=losses.__getitem__)


def threshold(chances: np.ndarray, rows: np.ndarray, gold: np.ndarray) -> float:
    """Return a threshold half-way between 0.5 and the one with the best mean macro-F1 over bootstrap samples.

    The curve is flat near its top: a gain under 0.003 moves nothing, and half-way keeps less of dev's luck.
    """
    grid = np.round(np.arange(0.30, 0.71, 0.01), 2)
    rng = np.random.default_rng(5)
    totals = np.zeros(len(grid))
    for _ in range(60):
        sample = rng.integers(0, len(rows), len(rows))
        picked, truth = chances[rows][sample], gold[sample]
        totals += [job.macro_f1(truth, (picked >= cut).astype(int)) for cut in grid]
    smooth = np.convolve(np.pad(totals, 3, mode="edge"), np.ones(7) / 7, mode="valid")
    middle = int(np.argmin(np.abs(grid - 0.5)))
    if smooth.max() - smooth[middle] < 0.003 * 60:
        return 0.5
    return round(0.5 + (float(grid[int(smooth.argmax())]) - 0.5) / 2, 3)


def target_threshold(chances: np.ndarray, posts: list[Post]) -> float:
    """Return the threshold with the best micro-F1 over the targets of hateful posts."""
    rows, gold = gold_targets(posts)
    scores = {float(cut): micro_f1(gold, chances[rows] >= cut) for cut in np.round(np.arange(0.1, 0.71, 0.02), 2)}
    return max(scores, key=scores.__getitem__)


def report(chances: dict, thresholds: dict, dev: list[tuple[Post, bool]]) -> dict:
    """Return each dev figure with its n and its 95 % bootstrap interval."""
    posts = [post for post, _ in dev]
    found = {}
    for corpus in ("dynahate", "hatemojibuild", "kennedy2020"):
        for clean in (False, True):
            rows = [i for i, (p, twin) in enumerate(dev) if p.corpus == corpus and not (clean and twin)]
            gold = np.array([posts[i].answers["hate"][0] for i in rows])
            pick = (chances["hate"][rows, 1] >= thresholds["hate"]).astype(int)
            name = f"hate, {corpus}{', no twin in train' if clean else ''}"
            found[f"{name}, accuracy"] = interval(gold, pick, lambda g, p: float((g == p).mean()))
            found[f"{name}, macro-F1"] = interval(gold, pick, job.macro_f1)
    rows = np.array([i for i, post in enumerate(posts) if post.corpus == "olid"], dtype=int)
    if len(rows):
        gold = np.array([min(posts[i].answers["aux.olid"][0], 1) for i in rows])
        pick = (chances["offensive"][rows, 1] >= thresholds["offensive"]).astype(int)
        found["offensive, OLID, macro-F1"] = interval(gold, pick, job.macro_f1)
    for name in ("offensive", "sexist", "category", "vector", "type"):
        rows, gold = gold_of(posts, name)
        block = chances[name][rows]
        pick = (block[:, 1] >= thresholds[name]).astype(int) if name in thresholds else block.argmax(1)
        found[f"{name}, macro-F1"] = interval(gold, pick, job.macro_f1)
        if name == "vector":
            parents = np.array([int(it[0]) - 1 for it in VECTORS])
            inside = np.where(parents == chances["category"][rows].argmax(1)[:, None], block, -1)
            found["vector under the chosen category, macro-F1"] = interval(gold, inside.argmax(1), job.macro_f1)
        if name == "category":
            parents = np.array([[int(it[0]) - 1 == c for it in VECTORS] for c in range(4)])
            both = block + chances["vector"][rows] @ parents.T
            found["category with the vectors' sum, macro-F1"] = interval(gold, both.argmax(1), job.macro_f1)
    rows, named = gold_targets(posts)
    found["target, micro-F1"] = interval(named, chances["target"][rows] >= thresholds["target"], micro_f1)
    return found


def gold_targets(posts: list[Post]) -> tuple[np.ndarray, np.ndarray]:
    """Return which posts have targets, and which of all targets each has."""
    rows = np.array([i for i, p in enumerate(posts) if "target" in p.answers])
    gold = np.zeros((len(rows), len(TARGETS)), dtype=bool)
    for line, i in enumerate(rows):
        gold[line, posts[i].answers["target"]] = True
    return rows, gold


def micro_f1(gold: np.ndarray, picks: np.ndarray) -> float:
    """Return micro-F1 over the cells of two tables."""
    return float(2 * (picks & gold).sum() / max(1, picks.sum() + gold.sum()))


def interval(gold: np.ndarray, pick: np.ndarray, measure: Callable[[np.ndarray, np.ndarray], float]) -> dict:
    """Return a figure with n and the middle 95 % of 1,000 bootstrap samples."""
    rng = np.random.default_rng(11)
    draws = [measure(gold[s], pick[s]) for s in (rng.integers(0, len(gold), len(gold)) for _ in range(1000))]
    low, high = np.percentile(draws, [2.5, 97.5])
    return {"value": round(measure(gold, pick), 4), "low": round(low, 4), "high": round(high, 4), "n": len(gold)}


def compare(network: Network, raw: dict, folder: Path, posts: list[Post]) -> dict:
    """Return how far int8 scores are from the exact ones, and how many labels differ."""
    scorer = OnnxScorer(folder, folders.read(folder))
    exact = predict(network, Tokens.of(scorer._encoded([p.text for p in posts]), 1), batch=32)
    found = {}
    columns = columns_of(job.HEAD_LIST)
    for name in CORPORA:
        true = torch.softmax(exact[:, columns[name]], 1).numpy()[:, 1]
        gap = np.abs(true - raw[name][:, 1])
        rows, gold = gold_of(posts, name)
        found[name] = {
            "mean gap": round(float(gap.mean()), 4),
            "largest gap": round(float(gap.max()), 4),
            "labels that differ at 0.5": round(float(((true >= 0.5) != (raw[name][:, 1] >= 0.5)).mean()), 4),
            "exact macro-F1 at 0.5": round(job.macro_f1(gold, (true[rows] >= 0.5).astype(int)), 4),
            "int8 macro-F1 at 0.5": round(job.macro_f1(gold, (raw[name][rows, 1] >= 0.5).astype(int)), 4),
        }
    return found


def size(folder: Path) -> int:
    """Return the bytes of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
