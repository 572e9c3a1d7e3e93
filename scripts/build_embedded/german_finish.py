"""The German detector, last step, on any machine: networks become folders, and their figures a card.

    python german_finish.py --names distil.cnn,second.cnn --nets DIR --prepared DIR --data DIR --out DIR

Each fold's network is written in int8 and scores the posts that it never saw, through a
folder as a user would. Calibration, thresholds and figures come from those scores; the
network that saw every post takes the calibration over. Several names are averaged.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
import weights as packing
from german import FOLDS, folds, germeval, gmhp7k
from german_job import macro_f1
from german_nets import GERMAN, Grams, Reader, small
from tokenizers import Tokenizer

from davy import schemes
from davy.models import folder as folders
from davy.models.onnx import OnnxScorer
from davy.models.text_steps import prepare_text
from davy.train.export import RANGE_POSTS
from davy.train.onnx.activation_ranges import fix_ranges
from davy.train.onnx.embedding_tables import RoundedEmbedding
from davy.train.onnx.write import write_onnx

NAMES = ("hate", "misogynistic")
SETTINGS = {"max_length": 128, "truncate": "head+tail", "prepare": ["calm capitals", "emoji names"]}


@dataclass(frozen=True)
class Yes:
    """How a network's odds become an answer to one question: `slope` × odds + `shift`, and yes from `threshold` on."""

    slope: float
    shift: float
    threshold: float


def network(args: argparse.Namespace, label: str) -> Reader:
    """Return the small network of one fold, the mean of those that `--names` lists."""
    states = []
    for name in args.names.split(","):
        state, _ = packing.unpack((args.nets / f"{name}-{label}.npz").read_bytes())
        states.append({key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in state.items()})
    mean = {key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]}
    given = dict(np.load(args.prepared / "use.npz"))
    kept = int(given["german"])
    vocab = [str(it) for it in given["vocab"][:kept]]
    dense = {k: v for k, v in given.items() if k not in ("table", "scale", "german", "vocab")}
    reader = small(dense, torch.zeros(kept, 512), GERMAN, Grams(vocab))
    reader.load_state_dict(mean)
    return reader.eval()


def write(args: argparse.Namespace, reader: Reader, folder: Path, answers: Sequence[Yes] = ()) -> folders.Manifest:
    """Write a network as a model folder; the calibration goes into its last layer and the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        for i, yes in enumerate(answers):
            reader.out.linear.bias[2 * i + 1] += yes.shift / yes.slope
    table = reader.out.grams.table
    reader.out.grams.table = RoundedEmbedding(table)
    write_onnx(
        reader, NAMES, [[0, 1], [2, 3]], folder / "model.onnx", table_bits=args.bits,
        frequent=torch.arange(reader.encoder.words.num_embeddings) < args.loud if args.loud else None,
    )  # fmt: skip
    reader.out.grams.table = table
    fix_ranges(folder / "model.onnx", calibration(args))
    shutil.copy(args.prepared / "tokenizer.json", folder / "tokenizer.json")
    questions = tuple(question for question in schemes.load("gmhp7k").questions if question.name in NAMES)
    manifest = folders.Manifest("onnx", "embedded-de", questions, languages=("de",), settings=SETTINGS)
    temperatures = {name: round(1 / yes.slope, 4) for name, yes in zip(NAMES, answers, strict=False)}
    thresholds = {name: yes.threshold for name, yes in zip(NAMES, answers, strict=False)}
    return folders.write(folder, replace(manifest, temperatures=temperatures, thresholds=thresholds))


def calibration(args: argparse.Namespace) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return ids and mask of some of GermEval's posts, on which the ranges of activations are measured."""
    tokenizer = Tokenizer.from_file(str(args.prepared / "tokenizer.json"))
    texts = [prepare_text(post.text, SETTINGS["prepare"]) for post in germeval(args.data)[:RANGE_POSTS]]
    posts = [torch.tensor([encoding.ids[: SETTINGS["max_length"]]]) for encoding in tokenizer.encode_batch(texts)]
    return [(ids, torch.ones_like(ids)) for ids in posts]


def odds_of(folder: Path, texts: list[str]) -> np.ndarray:
    """Return the log odds of yes for both questions, through the folder."""
    scores = OnnxScorer(folder, folders.read(folder)).score(pl.DataFrame({"text": texts}))
    chance = np.stack([scores.probabilities[name][:, 1] for name in NAMES], axis=1).astype(np.float64)
    return np.log(chance.clip(1e-7, 1 - 1e-7) / (1 - chance).clip(1e-7, 1))


def fitted(odds: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    """Return slope and shift that make the odds honest: a logistic regression of one feature, by Newton's method."""
    x = np.stack([odds, np.ones(len(odds))], axis=1)
    weight = np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ weight))
        step = np.linalg.solve((x * (chance * (1 - chance))[:, None]).T @ x, x.T @ (gold - chance))
        weight = weight + step
    return float(weight[0]), float(weight[1])


def threshold(chance: np.ndarray, gold: np.ndarray) -> float:
    """Return where macro-F1 is best, on a curve smoothed by bootstrap and by its neighbours."""
    grid = np.round(np.arange(0.15, 0.66, 0.01), 2)
    rng = np.random.default_rng(5)
    total = np.zeros(len(grid))
    for _ in range(40):
        rows = rng.integers(0, len(gold), len(gold))
        total += [macro_f1(gold[rows], (chance[rows] >= cut).astype(int)) for cut in grid]
    smooth = np.convolve(np.pad(total, 3, mode="edge"), np.ones(7) / 7, mode="valid")
    return float(grid[int(smooth.argmax())])


def judged(odds: np.ndarray, gold: np.ndarray) -> Yes:
    """Return the calibration and the threshold that these answers ask for."""
    slope, shift = fitted(odds, gold)
    return Yes(slope, shift, threshold(1 / (1 + np.exp(-(slope * odds + shift))), gold))


def said(odds: np.ndarray, yes: Yes) -> np.ndarray:
    return 1 / (1 + np.exp(-(yes.slope * odds + yes.shift))) >= yes.threshold


def nested(odds: np.ndarray, gold: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Return a yes or no for each post by the calibration and threshold of the other folds."""
    picks = np.zeros(len(gold), dtype=bool)
    for k in range(FOLDS):
        picks[fold == k] = said(odds[fold == k], judged(odds[fold != k], gold[fold != k]))
    return picks


def interval(gold: np.ndarray, pick: np.ndarray) -> dict[str, float]:
    """Return precision, recall and F1 of yes, and macro-F1 with the middle 95 % of 1,000 bootstrap samples."""
    rng = np.random.default_rng(11)
    draws = [macro_f1(gold[rows], pick[rows]) for rows in (rng.integers(0, len(gold), len(gold)) for _ in range(1000))]
    low, high = np.percentile(draws, [2.5, 97.5])
    hit = (pick & (gold == 1)).sum()
    found = {"macro_f1": macro_f1(gold, pick), "low": low, "high": high}
    found |= {"precision": hit / pick.sum(), "recall": hit / gold.sum(), "f1": 2 * hit / (pick.sum() + gold.sum())}
    return {key: round(float(value), 4) for key, value in found.items()} | {"n": len(gold), "yes": int(gold.sum())}


def main() -> None:
    """Write the folder `embedded-de` and its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", required=True)
    for option in ("--nets", "--prepared", "--data", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--loud", type=int, default=0, help="so many of the most frequent pieces keep 8 bits")
    args = parser.parse_args()
    posts = gmhp7k(args.data)
    texts = [post.text for post in posts]
    gold = np.array([[post.answers[f"{name}.de"][0] for name in NAMES] for post in posts])
    fold = folds(gold[:, 0], gold[:, 1])
    odds = np.zeros((len(posts), 2))
    for k in range(FOLDS):
        rows = np.flatnonzero(fold == k)
        write(args, network(args, str(k)), args.out / f"fold-{k}")
        odds[rows] = odds_of(args.out / f"fold-{k}", [texts[i] for i in rows])
    np.savez(args.out / "odds.npz", odds=odds, gold=gold, fold=fold)

    answers = [judged(odds[:, i], gold[:, i]) for i in range(2)]
    picks = np.stack([nested(odds[:, i], gold[:, i], fold) for i in range(2)], axis=1)
    figures = {name: interval(gold[:, i], picks[:, i]) for i, name in enumerate(NAMES)}
    figures["misogynistic where hate says yes too"] = interval(gold[:, 1], picks.all(axis=1))
    manifest = write(args, network(args, "all"), args.out / "embedded-de", answers)
    size = sum(path.stat().st_size for path in (args.out / "embedded-de").iterdir())
    record = {"version": manifest.version, "bytes": size, "names": args.names, "figures": figures}
    record |= {"temperatures": dict(manifest.temperatures), "thresholds": dict(manifest.thresholds)}
    (args.out / "figures.json").write_text(json.dumps(record, indent=2))
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
