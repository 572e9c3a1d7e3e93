"""A small correction at the end of a network, learnt from plain sentences, on any machine in minutes.

A model folder and sentences with answers in, the same folder with a correction in its graph out. The network's vector
of a text goes through 32 units, whose answer is added to the log odds of each yes-or-no question. On all other texts,
without their labels, it learns to change nothing. `english_correction.py` brings the English sentences.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from davy.models import folder as folders
from davy.models.early_exit import FIRST, OF, REST, WHOLE
from davy.models.onnx import OnnxScorer
from davy.models.token_batches import TokenRows

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


def insert(folder: Path, vector: str, questions: Sequence[str], correction: Correction) -> str:
    """Write the correction into the folder's graph, and into its second part where it is cut; return the version."""
    before = (folder / WHOLE).read_bytes()
    model = onnx.load_from_string(before)
    _extend(model.graph, vector, questions, correction)
    onnx.save(model, str(folder / WHOLE))
    if (folder / REST).is_file():
        rest = onnx.load(str(folder / REST), load_external_data=False)
        _extend(rest.graph, vector, questions, correction)
        _point_again(rest, folder, before)
        onnx.save(rest, str(folder / REST))
        first = onnx.load(str(folder / FIRST), load_external_data=False)
        _point_again(first, folder, before)
        onnx.save(first, str(folder / FIRST))
    return folders.write(folder, folders.read(folder, check=False)).version


def _extend(graph: Any, vector: str, questions: Sequence[str], correction: Correction) -> None:
    """Add the correction's nodes to a graph."""
    with torch.no_grad():
        first = (correction.first.weight / correction.spread).T.numpy().copy()
        shift = (correction.first.bias - (correction.first.weight * correction.mean / correction.spread).sum(1)).numpy()
        last, bias = correction.last.weight.T.numpy().copy(), correction.last.bias.numpy()
    arrays = {"first": first, "shift": shift, "root": np.float32(2**0.5), "half": np.float32(0.5), "one": np.float32(1)}
    nodes = [
        ("MatMul", [vector, "c.first"], "c.a"),
        ("Add", ["c.a", "c.shift"], "c.b"),
        ("Div", ["c.b", "c.root"], "c.c"),
    ]
    nodes += [("Erf", ["c.c"], "c.d"), ("Add", ["c.d", "c.one"], "c.e"), ("Mul", ["c.b", "c.e"], "c.f")]
    nodes += [("Mul", ["c.f", "c.half"], "c.g")]
    for column, name in enumerate(questions):
        # A no stays as it is, so that the odds of yes move by the correction.
        arrays[f"{name}.last"] = np.stack([np.zeros(UNITS, np.float32), last[:, column]], axis=1)
        arrays[f"{name}.bias"] = np.array([0, bias[column]], np.float32)
        producer = next(node for node in graph.node if name in node.output)
        producer.output[list(producer.output).index(name)] = f"{name}.before"
        nodes += [
            ("MatMul", ["c.g", f"c.{name}.last"], f"c.{name}.h"),
            ("Add", [f"c.{name}.h", f"c.{name}.bias"], f"c.{name}.i"),
        ]
        nodes += [("Add", [f"{name}.before", f"c.{name}.i"], name)]
    graph.initializer.extend(numpy_helper.from_array(np.asarray(it, np.float32), f"c.{k}") for k, it in arrays.items())
    graph.node.extend(helper.make_node(kind, inputs, [out], name=f"correct {out}") for kind, inputs, out in nodes)


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
