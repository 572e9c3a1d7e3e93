"""What every step of the German detector shares: its questions, the posts and who may know which, tokens and logits.

The folder that `german.py` wrote in; posts by corpus and fold, their labels and tokens out. With a fold, its posts of
GMHP7k, GAHD's dev and GermEval's test part are kept from every network.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from german import folds
from german_nets import GERMAN
from job import HEAD_LIST
from qwen import Teacher
from qwen_words import read_tokens
from torch import Tensor, nn

from davy.detectors.network import columns_of
from davy.training.data import Targets, Tokens, batches_longest_first
from davy.training.loop import Schedule

HEADS = (*HEAD_LIST, *GERMAN)
KIND = {head.name: head.kind for head in HEADS}
COLUMNS = columns_of(HEADS)
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
MEANT = ("hate.de", "misogynistic.de")
LENT = {"hatemojibuild": 4500, "dynahate": 8000, "edos": 4000, "guest": 1500, "davidson": 1000}
"""How many English posts of each corpus the small network learns from, too."""
POSITIONS = 128
FOLLOWED = 192
"""How many directions of the teacher's last state the small network learns to tell."""


@dataclass
class GermanBench:
    """What every step shares."""

    keep: Path
    name: str

    def __post_init__(self) -> None:
        self.posts = dict(np.load(self.keep / "posts.npz"))
        self.corpus, self.dev = self.posts["corpus"], self.posts["dev"]
        self.german = np.isin(self.corpus, ("gmhp7k", "germeval", "gahd", "plain"))
        self.ours, self.germeval, self.gahd, self.plain = (
            np.flatnonzero(self.corpus == it) for it in ("gmhp7k", "germeval", "gahd", "plain")
        )
        self.english = np.flatnonzero(~self.german & ~self.dev)
        self.fold = folds(*(self.posts[f"label.{it}"][self.ours] for it in ("hate.de", "misogynistic.de")))
        self.source = np.zeros(0, dtype=np.int64)
        if (self.keep / "made.npz").is_file():
            self._know_made()
        self.started = time.monotonic()

    def _know_made(self) -> None:
        """Give what was translated the labels of its source; what was written has none."""
        self.source = np.load(self.keep / "made.npz")["source"]
        hateful = np.isin(self.corpus, ("dynahate", "hatemojibuild"))
        for name in [it for it in self.posts if it.startswith("label.")]:
            given = self.posts[name]
            if name == "label.hate.de":
                given = np.where(hateful, self.posts["label.hate"][: len(hateful)], -1)
            more = np.where(self.source >= 0, given[self.source], -1).astype(np.int8)
            self.posts[name] = np.concatenate([self.posts[name], more])
        for name in ("target", "target_asked"):
            there = self.source >= 0
            more = self.posts[name][self.source]
            more[~there] = False
            self.posts[name] = np.concatenate([self.posts[name], more])

    @property
    def judging(self) -> np.ndarray:
        """Which made texts translate English dev posts: nothing learns from them, they judge type and target."""
        return (self.source >= 0) & self.dev[self.source]

    @property
    def translated(self) -> np.ndarray:
        return len(self.corpus) + np.flatnonzero((self.source >= 0) & ~self.judging)

    def known(self, label: str) -> dict[str, np.ndarray]:
        """Return the posts whose labels a run may know, by corpus."""
        if label == "all":
            return {"gmhp7k": self.ours, "gahd": self.gahd, "germeval": self.germeval, "plain": self.plain}
        rest = {"plain": self.plain}
        rest |= {"gahd": self.gahd[~self.dev[self.gahd]], "germeval": self.germeval[~self.dev[self.germeval]]}
        return {"gmhp7k": self.ours[self.fold != int(label)]} | rest

    def held(self, label: str) -> np.ndarray:
        """Return the posts that a run is judged on."""
        known = np.concatenate(list(self.known(label).values()))
        return np.setdiff1d(np.flatnonzero(self.german), known)

    def tell(self, record: dict[str, Any]) -> None:
        line = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()})
        print(f"{self.name} {time.monotonic() - self.started:.0f}s {line}", flush=True)

    def label(self, head: str, rows: np.ndarray) -> np.ndarray:
        return self.posts[f"label.{head}"][rows].astype(np.int64)

    def tokens(self, name: str) -> Tokens:
        """Return all posts' tokens on the device: those of the corpora, then those that were written."""
        flat, sizes = read_tokens(self.keep / f"{name}.tokens")
        sizes = sizes[: len(self.corpus)]
        parts = [(flat[: int(sizes.sum(dtype=np.int64))], sizes)]
        if (self.keep / "made.npz").is_file():
            parts.append(read_tokens(self.keep / f"made-{name}.tokens"))
        return on_device(parts)

    def pool(self) -> np.ndarray:
        """Return the rows that teachers give their opinion of: German, some English, and written ones."""
        rng = np.random.default_rng(7)
        lent = []
        for corpus, most in LENT.items():
            rows = self.english[self.corpus[self.english] == corpus]
            lent.append(rng.permutation(rows)[:most])
        made = len(self.corpus) + np.flatnonzero(~self.judging)
        return np.concatenate([np.flatnonzero(self.german), *lent, made])


def on_device(parts: list[tuple[np.ndarray, np.ndarray]]) -> Tokens:
    flat = np.concatenate([part[0] for part in parts]).astype(np.int32)
    sizes = np.concatenate([part[1] for part in parts]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return Tokens(*(torch.from_numpy(a).to(DEVICE) for a in (flat, starts, sizes)), 0)


@torch.inference_mode()
def read(network: nn.Module, tokens: Tokens, rows: np.ndarray, batch: int = 512, *, exact: bool = False) -> Tensor:
    """Return logits for some posts, on the device."""
    network.eval()
    lengths = tokens.lengths.cpu().numpy()[rows]
    out: Tensor | None = None
    for part in batches_longest_first(lengths, batch):
        index = torch.from_numpy(rows[part]).to(DEVICE)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=not exact and (CUDA or isinstance(network, Teacher))):
            logits = network(*tokens.batch(index, int(lengths[part].max()))).float()
        out = logits.new_empty(len(rows), logits.shape[1]) if out is None else out
        out[torch.from_numpy(part.copy()).to(DEVICE)] = logits
    assert out is not None
    return out


def answer(bench: GermanBench, targets: Targets, head: str, rows: np.ndarray, weight: float) -> None:
    """Set hard answers; a rare yes to the rarest question counts more, by the root of how rare it is."""
    gold = bench.label(head, rows)
    rows, gold = rows[gold >= 0], gold[gold >= 0]
    counts = np.bincount(gold).clip(1)
    rare = (counts.max() / counts) ** 0.5 if head == "misogynistic.de" else np.ones(len(counts))
    share = torch.from_numpy((weight * rare[gold]).astype(np.float32))
    targets.answer(head, torch.from_numpy(rows), torch.from_numpy(gold), share)


def answer_targets(bench: GermanBench, targets: Targets, rows: np.ndarray, weight: float) -> None:
    """Set who is hated, where that is known."""
    rows = rows[bench.posts["target_asked"][rows]]
    targets.answer("target", torch.from_numpy(rows), torch.from_numpy(bench.posts["target"][rows]), weight)


def plan(args: argparse.Namespace) -> Schedule:
    large = args.step in ("english", "writer", "cv")
    return Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=args.head_rate, average=args.average, weight_decay=0.01,
        precision="bf16" if large or CUDA else "fp32", seconds=args.seconds,
    )  # fmt: skip
