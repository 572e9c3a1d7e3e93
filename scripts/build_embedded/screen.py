"""The screen of an embedded detector: what a linear model can clear, so that the encoder need not read it.

    python screen.py teach --folder DIR --data DIR --out DIR     the detector's own scores for many posts (slow)
    python screen.py make  --folder DIR --taught DIR             learn from them, set the marks, add it to the folder

It learns from the detector, not from labels. Marks are set on texts that it did not
learn from, for each kind of text apart (Reddit, and each labelled set's train part),
so that of the posts which the detector flags, ninety-nine in a hundred are still read.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
import torch.nn.functional as F
from corpora import labelled, unlabelled
from torch import Tensor

from davy.models import folder as folders
from davy.models.onnx import OnnxScorer
from davy.models.screen import FILE, pair_places

QUESTIONS = ("hate", "offensive", "sexist")
PAIRS = 2**17
HELD_BACK = 0.12
MISSED = 0.01
"""The share of flagged posts that the screen may clear, for each question and kind of text."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("teach", "make"))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--taught", type=Path)
    parser.add_argument("--reddit", type=int, default=110_000)
    parser.add_argument("--labelled", type=int, default=40_000)
    args = parser.parse_args()
    if args.step == "teach":
        teach(args.folder, texts(args.data, args.reddit, args.labelled), args.out)
    else:
        make(args.folder, args.taught)


def texts(data: Path, reddit: int, others: int, seed: int = 5) -> pl.DataFrame:
    """Return posts to learn from: unlabelled ones, and train parts of the labelled sets; the last quarter of
    the unlabelled ones is left alone, so that a benchmark can take it."""
    chance = random.Random(seed)
    loose = unlabelled(data)
    loose = chance.sample(loose[: len(loose) * 3 // 4], reddit)
    known = [post for post in labelled(data) if post.part == "train"]
    known = chance.sample(known, others)
    rows = [(post.text, post.corpus) for post in (*loose, *known)]
    chance.shuffle(rows)
    return pl.DataFrame(rows, schema=["text", "kind"], orient="row")


def teach(folder: Path, posts: pl.DataFrame, out: Path) -> None:
    """Write the posts with the detector's probabilities."""
    scorer = OnnxScorer(folder)
    parts = []
    for number, part in enumerate(posts.iter_slices(4096)):
        scores = scorer.score(part)
        parts.append(part.with_columns(pl.Series(name, scores.positive(name)) for name in QUESTIONS))
        print(f"{(number + 1) * 4096} of {len(posts)}", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    pl.concat(parts).write_parquet(out / "taught.parquet")


def make(folder: Path, taught: Path, seed: int = 0) -> None:
    """Learn, set the marks and write the screen into the folder; print what it clears and what it misses."""
    posts = pl.read_parquet(taught / "taught.parquet")
    manifest = folders.read(folder)
    scorer = OnnxScorer(folder, manifest)
    thresholds = np.array([manifest.thresholds.get(name, 0.5) for name in QUESTIONS], dtype=np.float32)
    rows = scorer._encoded(posts["text"].to_list())
    taught_p = posts.select(QUESTIONS).to_numpy().astype(np.float32)
    held = np.random.default_rng(seed).random(len(posts)) < HELD_BACK
    wary = wary_pieces(folder)
    model = learn(rows, taught_p, thresholds, ~held, len(wary), seed)
    logits, flags = model.logits(rows), taught_p >= thresholds
    careful = np.array([wary[row].any() for row in rows])
    marks, report = set_marks(logits[held], flags[held], careful[held], posts["kind"].to_numpy()[held])
    np.savez_compressed(
        folder / FILE,
        pieces=model.pieces.astype(np.float16),
        pairs=model.pairs.astype(np.float16),
        bias=model.bias.astype(np.float32),
        wary=wary.astype(np.uint8),
    )
    settings = {**manifest.settings, "screen": {name: float(mark) for name, mark in zip(QUESTIONS, marks, strict=True)}}
    written = folders.write(folder, replace(manifest, settings=settings))
    print(json.dumps({"version": written.version, "marks": settings["screen"], "held back": report}, indent=2))


def wary_pieces(folder: Path) -> np.ndarray:
    """Return yes for pieces whose posts are always read: emoji and other added tokens, unknown words, odd letters."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    pieces = dict(tokenizer["model"]["vocab"])
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    wary = np.zeros(max([*pieces.values(), *added.values()]) + 1, dtype=bool)
    plain = {"[CLS]", "[SEP]", "[PAD]", "[MASK]", "<s>", "</s>", "<pad>", "<mask>"}
    for text, place in {**pieces, **added}.items():
        wary[place] = (text in added and text not in plain) or not text.isascii()
    return wary


class Linear:
    """Weights that are being learned."""

    def __init__(self, pieces: int) -> None:
        self.table = torch.zeros(pieces + PAIRS, len(QUESTIONS), requires_grad=True)
        self.offset = torch.full((len(QUESTIONS),), -4.0, requires_grad=True)
        self.size = pieces

    pieces = property(lambda self: self.table.detach().numpy()[: self.size])
    pairs = property(lambda self: self.table.detach().numpy()[self.size :])
    bias = property(lambda self: self.offset.detach().numpy())

    def places(self, row: list[int]) -> np.ndarray:
        ids = np.asarray(row)
        return np.concatenate([ids, pair_places(ids[:-1], ids[1:], PAIRS) + self.size])

    def forward(self, places: list[np.ndarray], lengths: Tensor) -> Tensor:
        flat = torch.from_numpy(np.concatenate(places))
        starts = torch.tensor([0, *np.cumsum([len(it) for it in places])[:-1]])
        summed = F.embedding_bag(flat, self.table, starts, mode="sum")
        return summed / lengths.sqrt()[:, None] + self.offset

    def logits(self, rows: list[list[int]]) -> np.ndarray:
        found = []
        with torch.no_grad():
            for at in range(0, len(rows), 8192):
                part = rows[at : at + 8192]
                found.append(self.forward([self.places(row) for row in part], torch.tensor([len(r) for r in part])))
        return torch.cat(found).numpy()


def learn(
    rows: list[list[int]], p: np.ndarray, thresholds: np.ndarray, chosen: np.ndarray, pieces: int, seed: int
) -> Linear:
    """Return a linear model of the detector's probabilities; posts that it flags weigh more."""
    torch.manual_seed(seed)
    model = Linear(pieces)
    places = [model.places(row) for row in rows]
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.float32)
    wanted = torch.from_numpy(p)
    weights = 1 + 6 * (wanted >= torch.from_numpy(thresholds)).float()
    optimiser = torch.optim.Adam([model.table, model.offset], lr=0.03)
    order = np.flatnonzero(chosen)
    epochs, size = 8, 2048
    steps = epochs * (len(order) // size + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.03, total_steps=steps)
    for epoch in range(epochs):
        np.random.default_rng(seed + epoch).shuffle(order)
        total = 0.0
        for at in range(0, len(order), size):
            part = order[at : at + size]
            found = model.forward([places[i] for i in part], lengths[part])
            loss = F.binary_cross_entropy_with_logits(found, wanted[part], weights[part])
            (loss + 2e-7 * model.table.square().sum()).backward()
            optimiser.step()
            optimiser.zero_grad()
            schedule.step()
            total += loss.item() * len(part)
        print(f"epoch {epoch + 1}: {total / len(order):.4f}", flush=True)
    return model


def set_marks(
    logits: np.ndarray, flags: np.ndarray, careful: np.ndarray, kinds: np.ndarray
) -> tuple[np.ndarray, dict[str, dict[str, float]]]:
    """Return the highest marks at which each kind of text loses at most its share of flagged posts."""
    marks = np.full(len(QUESTIONS), np.inf)
    for kind in np.unique(kinds):
        for place in range(len(QUESTIONS)):
            flagged = (kinds == kind) & flags[:, place] & ~careful
            if flagged.sum() >= 50:
                everyone = (kinds == kind) & flags[:, place]
                lost = int(MISSED * everyone.sum())
                marks[place] = min(marks[place], np.sort(logits[flagged, place])[lost])
    read = careful | (logits >= marks).any(axis=1)
    report = {}
    for kind in [*np.unique(kinds), None]:
        among = np.ones(len(kinds), dtype=bool) if kind is None else kinds == kind
        any_flag = flags.any(axis=1) & among
        report[str(kind or "all")] = {
            "posts": int(among.sum()),
            "cleared": round(float((~read & among).sum() / among.sum()), 4),
            "flagged": int(any_flag.sum()),
            "flagged and cleared": round(float((any_flag & ~read).sum() / max(1, any_flag.sum())), 4),
        }
    return marks, report


if __name__ == "__main__":
    main()
