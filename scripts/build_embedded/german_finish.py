"""The German detector, last step, on any machine: networks become folders, and their figures.

    python german_finish.py --name every --nets DIR --prepared DIR --data DIR --out DIR

The networks of two folds are written in int8 and each scores, through a folder as a user would, posts that it never
saw: its fold of GMHP7k, and half of GAHD's dev and of GermEval's test part. Calibration and thresholds for one half
come from the other; the network that saw every post takes over those of both. No German corpus has types and targets of
hate: these are judged on machine translations of English dev posts, which no network saw.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import german_lines as lines
import german_types
import numpy as np
import polars as pl
import torch
import weights as packing
from corpora import TARGETS, TYPES, Post, labelled
from finish import target_threshold, temperature
from german import folds, gahd, germeval, gmhp7k
from german_bench import COLUMNS, HEADS, POSITIONS
from german_figures import classes_f1, macro_f1, micro_f1
from german_nets import Body, Grams, Reader, small
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer

from davy import schemes
from davy.detectors import folder as folders
from davy.detectors.joint_answers import NAMES_FILE, JointRules
from davy.detectors.onnx import OnnxScorer
from davy.detectors.token_batches import prepare_text
from davy.detectors.transformer import parent_gates
from davy.training.export import RANGE_POSTS
from davy.training.onnx.activation_ranges import fix_ranges
from davy.training.onnx.embedding_tables import RoundedEmbedding
from davy.training.onnx.write import write_onnx

HERE = Path(__file__).parent
NAMES = {"hate": "hate.de", "misogynistic": "misogynistic.de", "offensive": "aux.offence"}
"""What the folder answers with yes or no, and the head that does."""
ALSO = ("type", "target")
"""What it answers about a hateful post, learnt through English."""
WEIGHTS = Path(folders.__file__).parent / "weights"
SETTINGS = {"max_length": POSITIONS, "truncate": "windows", "prepare": ["calm capitals", "emoji names"]}
SETTINGS["unsure"] = {name: [0.3333, 0.6667] for name in NAMES}
LEAST_SLOPE = 0.02
FIGURES = (("gmhp7k", "hate"), ("gmhp7k", "misogynistic"), ("gahd", "hate"), ("germeval", "offensive"))
"""Which corpus a question is judged on."""


@dataclass(frozen=True)
class Yes:
    """How a network's odds become an answer to one question: `slope` × odds + `shift`, and yes from `threshold` on."""

    slope: float
    shift: float
    threshold: float


@dataclass(frozen=True)
class Held:
    """Posts that the network of one half never saw, their gold (-1: not asked) and what it said."""

    corpus: np.ndarray
    half: np.ndarray
    texts: list[str]
    gold: dict[str, np.ndarray]


def held_posts(data: Path) -> Held:
    """Return the held-out posts of both halves."""
    ours = gmhp7k(data)
    fold = folds(*(np.array([post.answers[name][0] for post in ours]) for name in ("hate.de", "misogynistic.de")))
    dev = [post for post in [*gahd(data), *germeval(data)] if post.part == "dev"]
    posts = [*(post for post, k in zip(ours, fold, strict=True) if k < 2), *dev]
    gold = {name: np.array([post.answers.get(head, [-1])[0] for post in posts]) for name, head in NAMES.items()}
    half = np.concatenate([fold[fold < 2], np.arange(len(dev)) % 2])
    return Held(np.array([post.corpus for post in posts]), half, [post.text for post in posts], gold)


class Linear:
    """The linear model over letters, fitted without what a network was not to see."""

    def __init__(self, args: argparse.Namespace, grams: Grams) -> None:
        self.posts = [*gmhp7k(args.data), *gahd(args.data), *germeval(args.data)]
        tokenizer = Tokenizer.from_file(str(args.prepared / "tokenizer.json"))
        self.matrix = lines.features(grams, tokenizer, [post.text for post in self.posts])
        ours = [post for post in self.posts if post.corpus == "gmhp7k"]
        fold = folds(*(np.array([post.answers[name][0] for post in ours]) for name in ("hate.de", "misogynistic.de")))
        self.fold = np.concatenate([fold, [-1] * (len(self.posts) - len(ours))])
        self.dev = np.array([post.part == "dev" for post in self.posts])

    def without(self, label: str) -> lines.Lines:
        known = np.ones(len(self.posts), dtype=bool) if label == "all" else (self.fold != int(label)) & ~self.dev
        return lines.fit(self.posts, self.matrix, known, COLUMNS)


def network(args: argparse.Namespace, label: str) -> Reader:
    """Return a network that `german_job.py mean` packed."""
    state, _ = packing.unpack((args.nets / f"{args.name}-{label}.npz").read_bytes())
    tensors = {key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in state.items()}
    given = dict(np.load(args.prepared / "use.npz"))
    kept = int(given["german"])
    vocab = [str(it) for it in given["vocab"][:kept]]
    dense = {k: v for k, v in given.items() if k not in ("table", "scale", "german", "vocab")}
    reader = small(dense, torch.zeros(kept, 512), Body(POSITIONS), HEADS, Grams(vocab))
    reader.load_state_dict(tensors)
    args.linear = args.linear or Linear(args, reader.out.grams)
    reader.out.lines = args.linear.without(label)
    return reader.eval()


def write(args: argparse.Namespace, reader: Reader, folder: Path, answers: Sequence[Yes] = ()) -> folders.Manifest:
    """Write a network as a model folder; the calibration goes into its last layer and the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = [list(range(COLUMNS[head].start, COLUMNS[head].stop)) for head in (*NAMES.values(), *ALSO)]
    with torch.no_grad():
        for (_, yes_column, *_), yes in zip(columns, answers, strict=False):
            reader.out.linear.bias[yes_column] += yes.shift / yes.slope
    for letters in (reader.out.grams, reader.out.lines):
        letters.table = RoundedEmbedding(letters.table)
    asked = questions()
    names, gates = [question.name for question in asked], parent_gates(asked)
    write_onnx(reader, names, columns, folder / "model.onnx", table_bits=args.bits, within=gates)
    fix_ranges(folder / "model.onnx", calibration(args))
    shutil.copy(args.prepared / "tokenizer.json", folder / "tokenizer.json")
    shutil.copy(HERE / "german_names.txt", folder / NAMES_FILE)
    manifest = folders.Manifest("onnx", "embedded-de", asked, languages=("de",), settings=SETTINGS)
    temperatures = {name: round(1 / yes.slope, 4) for name, yes in zip(NAMES, answers, strict=False)}
    thresholds = {name: yes.threshold for name, yes in zip(NAMES, answers, strict=False)}
    return folders.write(folder, replace(manifest, temperatures=temperatures, thresholds=thresholds))


def questions() -> tuple:
    """Return the folder's questions: GMHP7k's two, and the others as the English detectors ask them."""
    shipped = folders.read(WEIGHTS / "embedded-en")
    asked = [*schemes.load("gmhp7k").questions, *shipped.questions]
    return tuple(next(question for question in asked if question.name == name) for name in (*NAMES, *ALSO))


def calibration(args: argparse.Namespace) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return ids and mask of training posts, on which the ranges of activations are measured."""
    tokenizer = Tokenizer.from_file(str(args.prepared / "tokenizer.json"))
    posts = [*germeval(args.data)[: RANGE_POSTS // 2], *gahd(args.data)[: RANGE_POSTS // 2]]
    encoded = tokenizer.encode_batch([prepare_text(post.text, SETTINGS["prepare"]) for post in posts])
    ids = [torch.tensor([encoding.ids[: SETTINGS["max_length"]]]) for encoding in encoded]
    return [(row, torch.ones_like(row)) for row in ids]


def odds_of(folder: Path, texts: list[str]) -> dict[str, np.ndarray]:
    """Return the log odds of yes for each question, through the folder."""
    scorer = OnnxScorer(folder, folders.read(folder))
    scores = scorer.score(pl.DataFrame({"text": texts}))
    found = {}
    for name in NAMES:
        chance = scores.probabilities[name][:, 1].astype(np.float64)
        found[name] = np.log(chance.clip(1e-7, 1 - 1e-7) / (1 - chance).clip(1e-7, 1))
    return found


def out_of_fold_odds(args: argparse.Namespace, held: Held) -> dict[str, np.ndarray]:
    """Write a folder for each of two folds, and return its log odds of the posts that it never saw."""
    odds = {name: np.zeros(len(held.half)) for name in NAMES}
    for k in (0, 1):
        rows = np.flatnonzero(held.half == k)
        write(args, network(args, str(k)), args.out / f"fold-{k}")
        for name, column in odds_of(args.out / f"fold-{k}", [held.texts[i] for i in rows]).items():
            odds[name][rows] = column
    return odds


def fitted(odds: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    """Return slope and shift that make the odds honest, by a logistic regression of one feature.

    A slope is never under `LEAST_SLOPE`: odds that say nothing, or the contrary, become the share of yeses.
    """
    model = LogisticRegression(C=1e6, tol=1e-8).fit(odds[:, None], gold)
    if model.coef_[0, 0] < LEAST_SLOPE:
        return LEAST_SLOPE, float(np.log(gold.mean() / (1 - gold.mean())) - LEAST_SLOPE * odds.mean())
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def chances(odds: np.ndarray, yes: Yes) -> np.ndarray:
    return 1 / (1 + np.exp(-(yes.slope * odds + yes.shift)))


def threshold(chance: np.ndarray, gold: np.ndarray, corpus: np.ndarray) -> float:
    """Return where the mean of the corpora's macro-F1 is best, smoothed by bootstrap and by neighbours."""
    grid = np.round(np.arange(0.15, 0.66, 0.01), 2)
    rng = np.random.default_rng(5)
    total = np.zeros(len(grid))
    for name in np.unique(corpus):
        its = np.flatnonzero(corpus == name)
        for _ in range(40):
            rows = rng.choice(its, len(its))
            total += [macro_f1(gold[rows], (chance[rows] >= cut).astype(int)) for cut in grid]
    smooth = np.convolve(np.pad(total, 3, mode="edge"), np.ones(7) / 7, mode="valid")
    return float(grid[int(smooth.argmax())])


def judged(held: Held, odds: dict[str, np.ndarray], name: str, rows: np.ndarray) -> Yes:
    """Return the calibration and the threshold that the answers of these posts ask for."""
    rows = rows[held.gold[name][rows] >= 0]
    gold = held.gold[name][rows]
    slope, shift = fitted(odds[name][rows], gold)
    yes = Yes(slope, shift, 0.5)
    return replace(yes, threshold=threshold(chances(odds[name][rows], yes), gold, held.corpus[rows]))


def nested(held: Held, odds: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the chance and the answer for each post, by the calibration and threshold of the other half."""
    chance, picks = np.zeros(len(held.half)), np.zeros(len(held.half), dtype=bool)
    for k in (0, 1):
        yes = judged(held, odds, name, np.flatnonzero(held.half != k))
        here = held.half == k
        chance[here] = chances(odds[name][here], yes)
        picks[here] = chance[here] >= yes.threshold
    return chance, picks


def calibration_error(chance: np.ndarray, gold: np.ndarray, bins: int = 10) -> float:
    """Return how far the chance of yes is from the share of yeses, over bins of equal width (ECE)."""
    place = np.minimum((chance * bins).astype(int), bins - 1)
    gaps = [abs(chance[place == b].sum() - gold[place == b].sum()) for b in range(bins)]
    return float(sum(gaps) / len(gold))


def interval(gold: np.ndarray, pick: np.ndarray) -> dict[str, float]:
    """Return precision, recall and F1 of yes, and macro-F1 with the middle 95 % of 1,000 bootstrap samples."""
    rng = np.random.default_rng(11)
    draws = [macro_f1(gold[rows], pick[rows]) for rows in (rng.integers(0, len(gold), len(gold)) for _ in range(1000))]
    low, high = np.percentile(draws, [2.5, 97.5])
    hit = (pick & (gold == 1)).sum()
    found = {"macro_f1": macro_f1(gold, pick), "low": low, "high": high}
    found |= {
        "precision": hit / max(1, pick.sum()),
        "recall": hit / gold.sum(),
        "f1": 2 * hit / (pick.sum() + gold.sum()),
    }
    return {key: round(float(value), 4) for key, value in found.items()} | {"n": len(gold), "yes": int(gold.sum())}


def held_figures(held: Held, odds: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return the figures of each corpus and question, each half by the other's calibration and threshold."""
    found = {}
    for corpus, name in FIGURES:
        chance, picks = nested(held, odds, name)
        rows = (held.corpus == corpus) & (held.gold[name] >= 0)
        gold = held.gold[name][rows]
        error = {"calibration error": round(calibration_error(chance[rows], gold), 4)}
        found[f"{corpus} {name}"] = interval(gold, picks[rows]) | error
    return found


def translated_posts(args: argparse.Namespace) -> list[Post]:
    """Return the translations of English dev posts, with type, targets and, as their key, the original."""
    given, source = np.load(args.prepared / "posts.npz"), np.load(args.prepared / "made.npz")["source"]
    german = int(np.isin(given["corpus"], ("gmhp7k", "germeval", "gahd", "plain")).sum())
    originals = labelled(args.data)
    posts = []
    for text, row in zip((args.prepared / "made.txt").read_text("utf-8").split("\n"), source, strict=True):
        if row >= 0 and given["dev"][row]:
            original = originals[row - german]
            posts.append(Post(text, original.corpus, "dev", original.answers, original.text))
    return posts


def judge_translated(posts: list[Post], folder: Path, texts: list[str]) -> tuple[float, float, dict]:
    """Return the temperature of `type`, the threshold of `target`, and figures, each half by the other's threshold."""
    chances = OnnxScorer(folder, folders.read(folder)).score(pl.DataFrame({"text": texts})).probabilities
    every, gold = np.arange(len(posts)), np.array([post.answers["type"][0] for post in posts])
    meant, named = np.zeros((2, len(posts), len(TARGETS)), dtype=bool)
    for row, post in enumerate(posts):
        meant[row, post.answers["target"]] = True
    for k in (0, 1):
        others = np.flatnonzero(every % 2 != k)
        cut = target_threshold(chances["target"][others], [posts[i] for i in others])
        named[every % 2 == k] = chances["target"][every % 2 == k] >= cut
    said = chances["type"].argmax(1)
    figures = {"type, macro-F1": spread(every, lambda rows: classes_f1(gold[rows], said[rows]))}
    figures["type, accuracy"] = spread(every, lambda rows: float((gold == said)[rows].mean()))
    figures["target, micro-F1"] = spread(every, lambda rows: micro_f1(meant[rows], named[rows]))
    return temperature(chances["type"], every, gold), target_threshold(chances["target"], posts), figures


def spread(every: np.ndarray, measure: Callable[[np.ndarray], float]) -> dict[str, float]:
    """Return a figure with n and the middle 95 % of 1,000 bootstrap samples."""
    rng = np.random.default_rng(11)
    low, high = np.percentile([measure(rng.choice(every, len(every))) for _ in range(1000)], [2.5, 97.5])
    return {
        "value": round(measure(every), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "n": len(every),
    }


def joint_rules(thresholds: Mapping[str, float]) -> JointRules:
    """Return how answers are decoded together: what learnt from labels stays, and targets, which did not, follow it."""
    return JointRules(sexist_until=0.0, sexist_from=thresholds["misogynistic"], least_target=thresholds["target"])


def main() -> None:
    """Write the folder `embedded-de` and its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    for option in ("--nets", "--prepared", "--data", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--bits", type=int, default=4, help="of a value in the table of word pieces: 4 or 8")
    args = parser.parse_args()
    args.linear = None
    held = held_posts(args.data)
    odds = out_of_fold_odds(args, held)
    np.savez(args.out / "odds.npz", **odds)
    answers = [judged(held, odds, name, np.arange(len(held.half))) for name in NAMES]
    whole = network(args, "all")
    typed = german_types.teach(whole, COLUMNS["type"], args.prepared)
    manifest = write(args, whole, args.out / "embedded-de", answers)
    posts = translated_posts(args)
    warmth, named_from, ours = judge_translated(posts, args.out / "embedded-de", [post.text for post in posts])
    english = judge_translated(posts, WEIGHTS / "embedded-en", [post.key for post in posts])[2]
    temperatures, thresholds = dict(manifest.temperatures), dict(manifest.thresholds)
    thresholds |= {"target": named_from}
    settings = {**manifest.settings, "joint": asdict(joint_rules(thresholds))}
    temperatures |= {"type": warmth}
    manifest = replace(manifest, temperatures=temperatures, thresholds=thresholds, settings=settings)
    manifest = folders.write(args.out / "embedded-de", manifest)
    size = sum(path.stat().st_size for path in (args.out / "embedded-de").iterdir())
    record = {
        "version": manifest.version,
        "bytes": size,
        "name": args.name,
        "bits": args.bits,
        "figures": held_figures(held, odds),
        "translated": ours,
        "originals": english,
        "types of them": Counter(TYPES[post.answers["type"][0]] for post in posts),
        "types": typed,
        "plain": int((np.load(args.prepared / "posts.npz")["corpus"] == "plain").sum()),
    }
    record |= {"temperatures": dict(manifest.temperatures), "thresholds": dict(manifest.thresholds)}
    (args.out / "figures.json").write_text(json.dumps(record, indent=2))
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
