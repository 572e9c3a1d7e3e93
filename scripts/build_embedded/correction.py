"""A small correction at the end of a network, learnt from plain sentences, on any machine in minutes.

A model folder and sentences with answers in, the same folder with a correction in its graph out. The network's vector
of a text goes through 32 units, whose answer is added to the log odds of each yes-or-no question. On all other texts,
without their labels, it learns to change nothing. `english_correction.py` and `german_correction.py` bring sentences.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from davy.detectors import folder as folders
from davy.detectors.early_exit import FIRST, OF, REST, WHOLE
from davy.detectors.onnx import OnnxScorer
from davy.detectors.token_batches import TokenRows

UNITS, PARTS = 32, 4
"""Each of `PARTS` of the patterns is judged by a correction that never saw it."""


@dataclass(frozen=True)
class Recipe:
    """How a correction learns; `calm` is how much it counts that other texts stay as they are.

    What stays is their answer (cross entropy) or, with `keeps_odds`, their log odds (squares): that holds still, too,
    what the network is sure of. With `rate_falls` the learning rate goes down to nothing. Each step has 256 other texts
    and so many `sentences`.
    """

    epochs: int = 6
    rate: float = 1e-3
    calm: float = 4.0
    keeps_odds: bool = False
    rate_falls: bool = False
    sentences: int = 128


@dataclass(frozen=True)
class PersonEmphasis:
    """How sentences about one person weigh in what a correction learns of `offensive`.

    A pattern is drawn as if it had so many `sentences`, since many have few, and counts so often (`counts`, by kind).
    On posts that the network calls neither offensive nor hateful, `offensive` is held by `eased`, and not at all where
    the post has insulting words: it is to learn there what it missed.
    """

    sentences: int
    counts: Mapping[str, float]
    eased: float = 1.0

    def weigh(
        self, kinds: np.ndarray, group: np.ndarray, questions: Sequence[str], share: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how much each answer of a sentence counts, and how often the sentence is drawn."""
        counts = np.ones((len(kinds), len(questions)), np.float32)
        drawn = np.ones(len(kinds))
        for kind, often in self.counts.items():
            rows = kinds == kind
            counts[rows, questions.index("offensive")] = often
            drawn[rows] = self.sentences * share / np.bincount(group)[group[rows]]
        return counts, drawn

    def held(
        self, texts: Sequence[str], insult: re.Pattern[str], odds: np.ndarray, cut: np.ndarray, questions: Sequence[str]
    ) -> np.ndarray:
        """Return how much each answer on other posts is held: `offensive` less where it may be missing."""
        hold = np.ones_like(odds)
        column = questions.index("offensive")
        said = (odds >= cut)[:, [column, questions.index("hate")]].any(axis=1)
        insulting = np.array([bool(insult.search(text)) for text in texts])
        hold[~said, column] = self.eased
        hold[~said & insulting, column] = 0
        return hold


def about_one_person(
    kinds: np.ndarray, group: np.ndarray, cut: np.ndarray, odds: Mapping[str, np.ndarray], questions: Sequence[str]
) -> dict:
    """Return how often each kind of sentence about one person gets a yes, by question, in each set of `odds`."""
    found = {}
    for kind in ("insult", "threat", "harmless"):
        rows = kinds == kind
        found[kind] = {
            f"{title} {name}": interval(some[rows, k] >= cut[k], group[rows])
            for title, some in odds.items()
            for k, name in enumerate(questions)
        }
    return found


def read(folder: Path, vector: str, questions: Sequence[str], texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the network's vector of each text, and the log odds of yes to each question."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / "model"
        shutil.copytree(folder, copy)
        model = onnx.load(str(copy / WHOLE))
        model.graph.output.append(helper.make_tensor_value_info(vector, TensorProto.FLOAT, [None, None]))
        onnx.save(model, str(copy / WHOLE))
        scorer = OnnxScorer(copy, folders.read(folder))
        rows = TokenRows.of([ids[: scorer._length] for ids in scorer._encoded(texts)])
        vectors, odds = None, np.zeros((len(texts), len(questions)), np.float32)
        for batch in rows.batches(np.arange(len(rows)), tokens=1024):
            ids, mask = rows.padded(batch, scorer._padding)
            feed = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
            some, *logits = scorer._session.run([vector, *questions], feed)
            vectors = np.zeros((len(texts), some.shape[1]), np.float32) if vectors is None else vectors
            vectors[batch] = some
            odds[batch] = np.stack([block[:, 1] - block[:, 0] for block in logits], axis=1)
    assert vectors is not None, "no texts"
    return vectors, odds


class Correction(nn.Module):
    """What is added to the log odds; nothing, before it has learnt."""

    def __init__(self, vectors: np.ndarray, questions: int) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.mean, self.spread = torch.tensor(vectors.mean(0)), torch.tensor(vectors.std(0) + 1e-3)
        self.first, self.last = nn.Linear(vectors.shape[1], UNITS), nn.Linear(UNITS, questions)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return self.last(F.gelu(self.first((vectors - self.mean) / self.spread)))


def learn(plain: tuple, other: tuple, temperatures: torch.Tensor, recipe: Recipe) -> Correction:
    """Return a correction that knows plain sentences and leaves others alone.

    `plain` are vectors, odds and gold, and may go on with how much each answer counts and how often each sentence is
    drawn; `other` are vectors and odds, and may go on with how much each answer is held.
    """
    correction = Correction(other[0], len(temperatures))
    optimizer = torch.optim.AdamW(correction.parameters(), lr=recipe.rate, weight_decay=0.05)
    vectors, odds, gold, *more = (torch.tensor(np.asarray(it, np.float32)) for it in plain)
    counts, drawn = more or (torch.ones_like(gold), None)
    others, before, *rest = (torch.tensor(it) for it in other)
    hold = rest[0] if rest else torch.ones_like(before)
    kept = torch.sigmoid(before / temperatures)
    for epoch in range(recipe.epochs):
        order = torch.randperm(len(others))
        for start in range(0, len(others), 256):
            left = 1 - (epoch + start / len(others)) / recipe.epochs
            optimizer.param_groups[0]["lr"] = recipe.rate * (left if recipe.rate_falls else 1)
            rows = order[start : start + 256]
            some = _draw(len(vectors), drawn, recipe.sentences)
            said = (odds[some] + correction(vectors[some])) / temperatures
            each = F.binary_cross_entropy_with_logits(said, gold[some].clamp(min=0), reduction="none") * counts[some]
            moved = correction(others[rows])
            if recipe.keeps_odds:
                unrest = (hold[rows] * (moved / temperatures) ** 2).mean()
            else:
                unrest = F.binary_cross_entropy_with_logits((before[rows] + moved) / temperatures, kept[rows])
            loss = (each * (gold[some] >= 0)).mean() + recipe.calm * unrest
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return correction.eval()


def _draw(n: int, weights: torch.Tensor | None, size: int) -> torch.Tensor:
    """Return places of sentences at random, each alike or by weight."""
    if weights is None:
        return torch.randint(0, n, (size,))
    return torch.multinomial(weights, size, replacement=True)


@torch.no_grad()
def corrected(correction: Correction, vectors: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Return the log odds after the correction."""
    return odds + correction(torch.tensor(vectors)).numpy()


def thresholds(manifest: folders.Manifest, questions: Sequence[str]) -> tuple[torch.Tensor, np.ndarray]:
    """Return each question's temperature, and the log odds from which on the answer is yes."""
    heat = np.array([manifest.temperatures[name] for name in questions])
    cut = np.array([manifest.thresholds[name] for name in questions])
    return torch.tensor(heat, dtype=torch.float32), heat * np.log(cut / (1 - cut))


def held_out(
    plain: tuple, other: tuple, temperatures: torch.Tensor, group: np.ndarray, rng: np.random.Generator, recipe: Recipe
) -> tuple[np.ndarray, Correction]:
    """Return the odds of plain sentences, each after a correction that never saw its pattern, and the last of these."""
    part = rng.permutation(len(np.unique(group)))[np.unique(group, return_inverse=True)[1]] % PARTS
    after = np.zeros_like(plain[1])
    for k in range(PARTS):
        there = part != k
        correction = learn(tuple(it[there] for it in plain), other, temperatures, recipe)
        after[~there] = corrected(correction, plain[0][~there], plain[1][~there])
    return after, correction


def judged(gold: np.ndarray, cut: float, group: np.ndarray, before: np.ndarray, after: np.ndarray) -> dict:
    """Return how often the answers to one question are right, before and after: all, harmless and other sentences."""
    found = {}
    for title, odds in (("before", before), ("after", after)):
        for kind, rows in (("all", gold >= 0), ("harmless", gold == 0), ("yes", gold == 1)):
            right = (odds >= cut) == (gold == 1)
            found[f"{title} {kind}"] = interval(right[rows], group[rows])
    return found


def interval(right: np.ndarray, group: np.ndarray) -> list[float]:
    """Return a share and the middle 95 % of 1,000 bootstrap samples of whole patterns."""
    rng, names = np.random.default_rng(5), np.unique(group)
    rows = {name: np.flatnonzero(group == name) for name in names}
    draws = [right[np.concatenate([rows[k] for k in rng.choice(names, len(names))])].mean() for _ in range(1000)]
    return [round(float(it), 4) for it in (right.mean(), *np.percentile(draws, [2.5, 97.5]))]


def insert(folder: Path, vector: str, questions: Sequence[str], correction: Correction, prefix: str = "c") -> str:
    """Write the correction into the folder's graph, and into its second part where it is cut; return the version.

    A second correction has another `prefix` for the names of its nodes.
    """
    before = (folder / WHOLE).read_bytes()
    model = onnx.load_from_string(before)
    _extend(model.graph, vector, questions, correction, prefix)
    onnx.save(model, str(folder / WHOLE))
    if (folder / REST).is_file():
        rest = onnx.load(str(folder / REST), load_external_data=False)
        _extend(rest.graph, vector, questions, correction, prefix)
        _point_again(rest, folder, before)
        onnx.save(rest, str(folder / REST))
        first = onnx.load(str(folder / FIRST), load_external_data=False)
        _point_again(first, folder, before)
        onnx.save(first, str(folder / FIRST))
    return folders.write(folder, folders.read(folder, check=False)).version


def _extend(graph: Any, vector: str, questions: Sequence[str], correction: Correction, c: str) -> None:
    """Add the correction's nodes to a graph; their names begin with `c`."""
    assert not any(it.name == f"{c}.first" for it in graph.initializer), f"the network has a correction {c!r}"
    with torch.no_grad():
        first = (correction.first.weight / correction.spread).T.numpy().copy()
        shift = (correction.first.bias - (correction.first.weight * correction.mean / correction.spread).sum(1)).numpy()
        last, bias = correction.last.weight.T.numpy().copy(), correction.last.bias.numpy()
    arrays = {"first": first, "shift": shift, "root": np.float32(2**0.5), "half": np.float32(0.5), "one": np.float32(1)}
    nodes = [
        ("MatMul", [vector, f"{c}.first"], f"{c}.a"),
        ("Add", [f"{c}.a", f"{c}.shift"], f"{c}.b"),
        ("Div", [f"{c}.b", f"{c}.root"], f"{c}.c"),
        ("Erf", [f"{c}.c"], f"{c}.d"),
        ("Add", [f"{c}.d", f"{c}.one"], f"{c}.e"),
        ("Mul", [f"{c}.b", f"{c}.e"], f"{c}.f"),
        ("Mul", [f"{c}.f", f"{c}.half"], f"{c}.g"),
    ]
    for column, name in enumerate(questions):
        # A no stays as it is, so that the odds of yes move by the correction.
        arrays[f"{name}.last"] = np.stack([np.zeros(UNITS, np.float32), last[:, column]], axis=1)
        arrays[f"{name}.bias"] = np.array([0, bias[column]], np.float32)
        producer = next(node for node in graph.node if name in node.output)
        producer.output[list(producer.output).index(name)] = f"{c}.{name}.before"
        nodes += [
            ("MatMul", [f"{c}.g", f"{c}.{name}.last"], f"{c}.{name}.h"),
            ("Add", [f"{c}.{name}.h", f"{c}.{name}.bias"], f"{c}.{name}.i"),
            ("Add", [f"{c}.{name}.before", f"{c}.{name}.i"], name),
        ]
    constants = (numpy_helper.from_array(np.asarray(it, np.float32), f"{c}.{k}") for k, it in arrays.items())
    graph.initializer.extend(constants)
    graph.node.extend(helper.make_node(kind, inputs, [out], name=f"correct {c} {out}") for kind, inputs, out in nodes)


def _point_again(part: Any, folder: Path, before: bytes) -> None:
    """Let a part of the network that pointed into the file `before` point at the same bytes of the file now."""
    now = (folder / WHOLE).read_bytes()
    for constant in part.graph.initializer:
        if constant.data_location != TensorProto.EXTERNAL:
            continue
        place = {entry.key: entry for entry in constant.external_data}
        start, length = int(place["offset"].value), int(place["length"].value)
        place["offset"].value = str(now.index(before[start : start + length]))
    next(it for it in part.metadata_props if it.key == OF).value = hashlib.sha256(now).hexdigest()
