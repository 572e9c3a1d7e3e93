"""The type of hate in German: one linear layer over the network's vector, learnt from few texts with known types.

A network in, the same network with other weights for `type` out, and how often they are right on patterns that they
did not see. Translations of HatemojiBuild's training posts have types, and so have the sentences that grow from
`german_types.txt`. The network's own answer to `type` followed its teachers and called nearly everything derogation.
Each type counts alike.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import torch
from corpora import TYPES
from german import HERE, STEPS, Swaps
from german_nets import Reader
from german_sentences import suite_texts
from patterns import plain_text, sections
from qwen_words import encode
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer

from davy.detectors.token_batches import prepare_text

EACH, PARTS = 12, 4
"""How often a pattern is filled; each of `PARTS` of the patterns is judged by a layer that never saw it."""
LOOSE = 1e-3
"""How freely the weights may grow (scikit-learn's C)."""


def sentences(seed: int = 17) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return sentences, their types, and the pattern that each came from."""
    parts, groups = sections(HERE / "german_types.txt"), Swaps().groups
    rng, known = Random(seed), suite_texts()
    texts, types, patterns = [], [], []
    for number, heading in enumerate(parts):
        for pattern in parts[heading]:
            for group in rng.sample(groups, EACH):
                text = pattern.replace("{A}", group[0]).replace("{D}", group[1])
                if plain_text(text) not in known:
                    texts.append(text[0].upper() + text[1:])
                    types.append(number)
                    patterns.append(pattern)
    return texts, np.array(types), np.unique(patterns, return_inverse=True)[1]


def translated(prepared: Path) -> tuple[list[str], np.ndarray]:
    """Return translations of training posts that have a type."""
    given, source = np.load(prepared / "posts.npz"), np.load(prepared / "made.npz")["source"]
    texts = (prepared / "made.txt").read_text("utf-8").split("\n")
    types, dev = given["label.type"], given["dev"]
    rows = [i for i, row in enumerate(source) if row >= 0 and not dev[row] and types[row] >= 0]
    return [texts[i] for i in rows], types[source[rows]].astype(int)


@torch.no_grad()
def vectors(reader: Reader, tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    """Return what the last layer reads of each text."""
    found: list[torch.Tensor] = []
    watch = reader.out.linear.register_forward_pre_hook(lambda _, given: found.append(given[0]))
    for ids in encode(tokenizer, [prepare_text(text, STEPS) for text in texts]):
        row = torch.tensor([ids])
        reader(row, torch.ones_like(row))
    watch.remove()
    return torch.cat(found).numpy()


def teach(reader: Reader, columns: slice, prepared: Path) -> dict[str, float]:
    """Give the network its weights for `type`; return how often they are right on patterns that they did not see."""
    assert len(sections(HERE / "german_types.txt")) == len(TYPES), "headings stand in the order of the labels"
    texts, types, patterns = sentences()
    posts, labels = translated(prepared)
    read = vectors(reader, Tokenizer.from_file(str(prepared / "tokenizer.json")), [*texts, *posts])
    mean, spread = read.mean(0), read.std(0) + 1e-3
    scaled, gold = (read - mean) / spread, np.concatenate([types, labels])
    place = np.concatenate([patterns % PARTS, np.full(len(posts), -1)])
    right = np.zeros(len(texts), dtype=bool)
    for k in range(PARTS):
        here = place == k
        right[here[: len(texts)]] = fitted(scaled[~here], gold[~here]).predict(scaled[here]) == gold[here]
    whole = fitted(scaled, gold)
    with torch.no_grad():
        weight = whole.coef_ / spread
        reader.out.linear.weight[columns] = torch.tensor(weight, dtype=torch.float32)
        reader.out.linear.bias[columns] = torch.tensor(whole.intercept_ - weight @ mean, dtype=torch.float32)
    return {
        "sentences": len(texts),
        "translated": len(posts),
        "patterns not seen, right": round(float(right.mean()), 4),
    }


def fitted(vectors: np.ndarray, gold: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=LOOSE, class_weight="balanced", max_iter=1000).fit(vectors, gold)
