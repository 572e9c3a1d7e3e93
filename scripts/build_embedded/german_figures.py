"""Figures of the German networks on what they have not seen, for a first look; `german_finish.py` has those that count.

Logits and labels in; AUROC and the best macro-F1 over thresholds out.
"""

from __future__ import annotations

import argparse

import numpy as np
from german_bench import COLUMNS, MEANT, GermanBench, read
from torch import nn

from davy.training.data import Tokens


def judge(bench: GermanBench, network: nn.Module, tokens: Tokens) -> dict[str, float]:
    """Return how well a network does on English dev, and on GMHP7k without having seen it (nothing is chosen by it)."""
    found = {}
    for head, corpus in (("hate", "dynahate"), ("hate", "hatemojibuild"), ("sexist", "edos")):
        rows = np.flatnonzero((bench.corpus == corpus) & bench.dev)[:1500]
        if len(rows):
            pick = read(network, tokens, rows)[:, COLUMNS[head]].argmax(1).cpu().numpy()
            found[corpus] = float((pick == bench.label(head, rows)).mean())
    like = {"hate.de": "hate", "misogynistic.de": "sexist"}
    for rows, asked in ((bench.ours, MEANT), (bench.gahd[bench.dev[bench.gahd]], MEANT[:1])):
        logits = read(network, tokens, rows).cpu().numpy()
        for gold in asked:
            no, yes = logits[:, COLUMNS[like[gold]]].T
            found[f"zero {gold} {bench.corpus[rows[0]]}"] = auroc(bench.label(gold, rows), yes - no)
    return found


def figures(bench: GermanBench, rows: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """Return AUROC and the best macro-F1 over thresholds of each corpus and question, for a first look only."""
    found = {}
    asked = (("gmhp7k", "hate.de"), ("gmhp7k", "misogynistic.de"), ("gahd", "hate.de"), ("germeval", "aux.offence"))
    for corpus, head in asked:
        these = bench.corpus[rows] == corpus
        if these.any():
            block = logits[these][:, COLUMNS[head]].astype(np.float64)
            gold, odds = bench.label(head, rows[these]), block[:, 1] - block[:, 0]
            best = max(macro_f1(gold, (odds >= cut).astype(int)) for cut in np.linspace(-4, 3, 71))
            found |= {f"{corpus} {head} auc": auroc(gold, odds), f"{corpus} {head} f1": best}
    return found


def auroc(gold: np.ndarray, score: np.ndarray) -> float:
    """Return the chance that a yes scores above a no."""
    ranks = score.argsort().argsort() + 1
    yes = gold == 1
    return float((ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / max(1, yes.sum() * (~yes).sum()))


def macro_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    """Return the mean of the F1 of no and of yes."""
    both = [2 * ((gold == k) & (pick == k)).sum() / max(1, (gold == k).sum() + (pick == k).sum()) for k in (0, 1)]
    return float(np.mean(both))


def classes_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    """Return the mean F1 over the classes that occur."""
    return float(np.mean([micro_f1(gold == k, pick == k) for k in np.unique(gold)]))


def micro_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    return float(2 * (gold & pick).sum() / max(1, gold.sum() + pick.sum()))


def total(args: argparse.Namespace) -> None:
    """Print the figures of each variant over the folds that are there, a fold's GAHD and GermEval beside another's."""
    bench = GermanBench(args.keep, "total")
    for name in sorted({path.stem.removeprefix("oof-").rpartition("-")[0] for path in args.keep.glob("oof-*-?.npz")}):
        parts = [dict(np.load(path)) for path in sorted(args.keep.glob(f"oof-{name}-?.npz"))]
        rows, logits = (np.concatenate([part[key] for part in parts]) for key in ("rows", "logits"))
        bench.tell({"variant": name, "n": len(rows)} | figures(bench, rows, logits))
