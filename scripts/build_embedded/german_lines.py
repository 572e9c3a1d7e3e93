"""A linear model over the letters of posts, which the German network carries beside its own reading.

Posts and their labels in; a weight for each hashed n-gram and question out. The network learns from a teacher's
opinions of many texts and forgets spellings that only a few hundred insults have; this model knows those and little
else. Its share is fixed: on held-out posts, 0.4 gives GMHP7k's hate 0.016 and costs GAHD 0.008 (best macro-F1).
"""

from __future__ import annotations

import numpy as np
import torch
from corpora import Post
from german import STEPS
from german_nets import Grams, Lines
from qwen_words import encode
from tokenizers import Tokenizer

from davy.detectors.token_batches import prepare_text

BUCKETS = 2**18
SHARES = {"hate.de": 0.4, "aux.offence": 0.5}
"""How much the linear model adds to the log odds of each question."""
LEARNT = {
    "hate.de": (("gmhp7k", "hate.de", 1.0), ("gahd", "hate.de", 0.3), ("germeval", "aux.offence", 0.3)),
    "aux.offence": (("germeval", "aux.offence", 1.0), ("gmhp7k", "hate.de", 0.3)),
}
"""Which answers of which corpus a question is learnt from, and how much each counts."""


def features(grams: Grams, tokenizer: Tokenizer, texts: list[str]):
    """Return posts × n-grams, as the network sums them up."""
    from scipy import sparse

    rows, columns, values = [], [], []
    for at, ids in enumerate(encode(tokenizer, [prepare_text(text, STEPS) for text in texts])):
        keys = grams.keys(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long))
        found = torch.cat([key[0][real[0, :, 0] > 0] for key, real in keys]).numpy() % BUCKETS
        buckets, counts = np.unique(found, return_counts=True)
        rows.append(np.full(len(buckets), at))
        columns.append(buckets)
        values.append(counts / np.sqrt(1 + len(found)))
    places = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_matrix((np.concatenate(values), places), shape=(len(texts), BUCKETS))


def fit(posts: list[Post], matrix, use: np.ndarray, columns: dict[str, slice]) -> Lines:
    """Return the linear model of all questions, learnt from the posts that `use` marks."""
    from sklearn.linear_model import LogisticRegression

    weights = np.zeros((BUCKETS, len(SHARES)), dtype=np.float32)
    for place, (head, share) in enumerate(SHARES.items()):
        rows, gold, counts = [], [], []
        for corpus, answer, count in LEARNT[head]:
            its = [i for i in np.flatnonzero(use) if posts[i].corpus == corpus]
            rows += its
            gold += [posts[i].answers[answer][0] for i in its]
            counts += [count] * len(its)
        model = LogisticRegression(C=10, solver="liblinear").fit(matrix[rows], gold, sample_weight=counts)
        weights[:, place] = share * model.coef_[0]
    labels = max(columns[head].stop for head in columns)
    return Lines(torch.from_numpy(weights), [columns[head].start + 1 for head in SHARES], labels)
