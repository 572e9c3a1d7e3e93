"""The posts that networks learn on from, on a device: batches, what each post's answers should be, and figures.

What `learn_on_data.py` packed in; batches of token ids, targets with a weight for each question, and the figures of
answers out. Of `offensive` every corpus counts alike, and within it yes and no, so that none decides alone.
"""

from __future__ import annotations

import io
import lzma
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

TRAIN, DEV, COPY, POOL = range(4)
ATTRIBUTE = "attribute"
OURS = ("dynahate", "hatemojibuild", "plain", "gmhp7k", "gahd")
"""Whose idea of hate is the detectors'."""
SOURCES = {"olid": 1.0, "davidson": 1.0, "plain": 1.0, "germeval": 1.0, "germeval2021": 1.0}
OTHERS = 0.3
"""How much a corpus counts for `offensive`; the others have yeses alone."""
YES_ALONE = ("founta2018",)
"""Corpora that teach yeses alone: their no says "not hateful" (a quarter of Founta's has coarse words, OLID's 3 %)."""
SHARE = {"type": 0.5, "target": 8.0}
PARENT = {"type": "hate", "target": "hate", "category": "sexist", "vector": "sexist"}


class Posts:
    """Tokens and labels on a device."""

    def __init__(self, path: Path, device: torch.device) -> None:
        held = np.load(io.BytesIO(lzma.decompress(path.read_bytes())))
        self.device = device
        lengths = held["lengths"].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        self.flat = torch.from_numpy(held["flat"].astype(np.int32)).to(device)
        self.starts, self.lengths = torch.from_numpy(starts).to(device), torch.from_numpy(lengths).to(device)
        self.sizes = lengths
        self.corpus, self.part = held["corpora"][held["corpus"]], held["part"]
        self.apart = held["apart"]
        self.labels = {key.removeprefix("label."): held[key] for key in held.files if key.startswith("label.")}
        offensive = self.labels["offensive"]
        self.labels["offensive"] = np.where(np.isin(self.corpus, YES_ALONE) & (offensive == 0), -1, offensive)
        self.attributes, self.asked = held["attributes"], held["asked"]
        self.target = np.unpackbits(held["target"], axis=1)

    def __len__(self) -> int:
        return len(self.part)

    def batch(self, rows: np.ndarray, padding: int) -> tuple[Tensor, Tensor]:
        """Return ids and mask of some posts."""
        index = torch.from_numpy(rows).to(self.device)
        places = torch.arange(int(self.sizes[rows].max()), device=self.device)
        mask = places[None] < self.lengths[index, None]
        ids = self.flat[(self.starts[index, None] + places).clamp(max=len(self.flat) - 1)]
        return torch.where(mask, ids, padding).long(), mask.long()

    def batches(self, rows: np.ndarray, size: int, rng: np.random.Generator | None = None) -> list[np.ndarray]:
        """Return batches of posts of nearly one length, in random order; without `rng` the longest first."""
        noise = np.exp(rng.normal(0, 0.1, len(rows))) if rng else 1.0
        order = rows[np.argsort(-self.sizes[rows] * noise, kind="stable")]
        found = [order[at : at + size] for at in range(0, len(order), size)]
        return [found[i] for i in rng.permutation(len(found))] if rng else found


class Wanted:
    """What answers should be: a distribution and a weight for each post and question."""

    def __init__(
        self, posts: Posts, questions: dict[str, int], *, natural: float, without: tuple[str, ...] = ()
    ) -> None:
        n, device = len(posts), posts.device
        self.posts = posts
        known = ~np.isin(posts.corpus, without)
        self.values: dict[str, Tensor] = {}
        self.weights: dict[str, Tensor] = {}
        for name, labels in questions.items():
            if name == ATTRIBUTE:
                given = np.where(known[:, None], posts.attributes, -1)
                value, weight = np.maximum(given, 0), (given >= 0) * _rare(given)
            elif name == "target":
                value = posts.target[:, :labels]
                weight = (posts.asked & known).astype(np.float32)
            else:
                column = np.where(known, posts.labels.get(name, np.full(n, -1)), -1)
                value = np.eye(labels, dtype=np.float32)[np.maximum(column, 0)]
                weight = self._weight(name, column, labels, natural)
            self.values[name] = torch.from_numpy(np.asarray(value, dtype=np.float32)).half().to(device)
            self.weights[name] = torch.from_numpy(np.asarray(weight, dtype=np.float32)).to(device)

    def _weight(self, name: str, column: np.ndarray, labels: int, natural: float) -> np.ndarray:
        corpus, weight = self.posts.corpus, (column >= 0).astype(np.float32)
        if name == "hate":
            weight[~np.isin(corpus, OURS)] *= natural
        elif name == "offensive":
            weight = balanced(corpus, column)
        elif labels > 2:
            counts = np.bincount(column[column >= 0], minlength=labels).clip(1)
            weight *= ((counts.mean() / counts) ** 0.5)[np.maximum(column, 0)]
        if name != "offensive":
            weight[corpus == "plain"] *= 0.5  # they are alike
        return weight * SHARE.get(name, 1.0)

    def follow(
        self, opinions: dict[str, Tensor], *, hard: float, weights: dict[str, float], sure: tuple[str, ...] = ()
    ) -> None:
        """Mix in what teachers say of every post: alone where a corpus says nothing, else with `hard` for the corpus.

        In the questions of `sure` the corpora's labels stay whole.
        """
        for name, soft in opinions.items():
            if name not in weights:
                continue
            value, weight = self.values[name].float(), self.weights[name]
            told = (weight > 0).unsqueeze(1) if weight.dim() == 1 else weight > 0
            share = 1.0 if name in sure else hard
            self.values[name] = torch.where(told, share * value + (1 - share) * soft, soft).half()
            least = torch.full_like(weight, weights[name] * SHARE.get(name, 1.0))
            if name in PARENT and PARENT[name] in opinions:
                yes = opinions[PARENT[name]][:, 1] + 0.1
                least = least * (yes if weight.dim() == 1 else yes.unsqueeze(1))
            self.weights[name] = torch.maximum(weight, least)

    def loss(self, answers: dict[str, Tensor], rows: np.ndarray) -> Tensor:
        """Return the loss of a batch, the sum over its questions."""
        index = torch.from_numpy(rows).to(self.posts.device)
        total = torch.zeros((), device=self.posts.device)
        for name, value in self.values.items():
            wanted, weight = value[index].float(), self.weights[name][index]
            logits = answers[name].float()
            if name in ("target", ATTRIBUTE):
                each = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
                each = each * weight if weight.dim() == 2 else each * weight.unsqueeze(1)
                total = total + each.mean(1).sum() / len(rows)
            else:
                total = total - ((wanted * logits.log_softmax(1)).sum(1) * weight).sum() / len(rows)
        return total


def balanced(corpus: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return weights by which each corpus counts as `SOURCES` says, and its yeses as much as its nos."""
    weight = np.zeros(len(column), dtype=np.float32)
    names = [name for name in np.unique(corpus) if ((corpus == name) & (column >= 0)).any()]
    each = (column >= 0).sum() / max(1, len(names))
    for name in names:
        sides = [(corpus == name) & (column == side) for side in (0, 1)]
        there = [side for side in sides if side.any()]
        for side in there:
            weight[side] = SOURCES.get(name, OTHERS) * each / len(there) / side.sum()
    return weight.clip(max=4.0)


def _rare(given: np.ndarray) -> np.ndarray:
    """Return how much a yes or a no to each attribute counts: what is rare more, up to five times."""
    yes, no = (given == 1).sum(0).clip(1), (given == 0).sum(0).clip(1)
    return np.where(given == 1, np.sqrt(no / yes).clip(1, 5), 1.0)


def auroc(gold: np.ndarray, score: np.ndarray) -> float:
    """Return how often a yes is above a no; ties count half."""
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    first, last = np.searchsorted(ranked, score, "left"), np.searchsorted(ranked, score, "right")
    rank = (first + last + 1) / 2
    yes, no = int((gold == 1).sum()), int((gold == 0).sum())
    if not yes or not no:
        return float("nan")
    return float((rank[gold == 1].sum() - yes * (yes + 1) / 2) / (yes * no))


def macro_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    """Return the mean F1 over the labels that occur."""
    scores = [
        2 * ((gold == label) & (pick == label)).sum() / max(1, (gold == label).sum() + (pick == label).sum())
        for label in np.unique(gold)
    ]
    return float(np.mean(scores)) if scores else float("nan")


def figures(posts: Posts, said: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, float]:
    """Return figures on some posts: macro-F1 of the likelier answer and, for offence, AUROC by corpus."""
    found: dict[str, float] = {}
    corpus = posts.corpus[rows]
    for name, column in posts.labels.items():
        if name not in said:
            continue
        gold = column[rows]
        for kind in np.unique(corpus[gold >= 0]):
            its = (corpus == kind) & (gold >= 0)
            if len(np.unique(gold[its])) > 1:
                found[f"{name} {kind} f1"] = macro_f1(gold[its], said[name][its].argmax(1))
                if name == "offensive":
                    found[f"{name} {kind} auroc"] = auroc(gold[its], said[name][its, 1])
    for place in range(posts.attributes.shape[1]):
        gold = posts.attributes[rows, place]
        its = (gold >= 0) & (posts.labels["offensive"][rows] == 1)
        found[f"attribute {place} auroc"] = auroc(gold[its], said[ATTRIBUTE][its, place])
    return {key: round(value, 4) for key, value in found.items()}
