"""Train the model that tells the language of a text of a few words, on a CPU in some minutes.

    python short_languages.py --data DATA [--write]

It learns from runs of one to six words of the detectors' corpora. First it is measured on posts of corpora that it did
not learn from, beside the model of all languages; then it learns from all, and `--write` puts it into the package.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from corpora import dynahate, edos, hatemojibuild, unlabelled
from german import gahd, germeval, gmhp7k
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import davy.text.short_language as short
from davy.text.language import detect_many
from davy.text.short_language import BUCKETS, SHORT, ShortLanguageModel, is_short, ngram_buckets, words_of

LENGTHS = (1, 1, 2, 2, 3, 4, 6)
EACH = 250_000
"""Runs of words a language."""
LANGUAGES = ("de", "en")
FALLBACK = "en"
"""What a text in doubt is read as."""
OTHERS_SURE = 0.3
"""From which probability on the model of all languages was believed before."""
_PLACEHOLDER = re.compile(r"@\S+|https?\S+|\[\w+\]|&\w+;|\|LBR\|")


def word_runs(texts: Sequence[str], count: int, seed: int) -> list[list[str]]:
    """Return runs of words, each from a random place of a random text."""
    chance, runs = random.Random(seed), []
    while len(runs) < count:
        words = words_of(_PLACEHOLDER.sub(" ", chance.choice(texts)))
        length = chance.choice(LENGTHS)
        if len(words) >= length:
            start = chance.randrange(len(words) - length + 1)
            runs.append(words[start : start + length])
    return runs


def features(runs: Sequence[list[str]]) -> csr_matrix:
    """Return n-gram counts, each row divided by its length as a vector."""
    indices, values, ends = [], [], [0]
    for run in runs:
        buckets, counts = np.unique(ngram_buckets(run), return_counts=True)
        indices.append(buckets)
        values.append(counts / np.sqrt((counts**2).sum()))
        ends.append(ends[-1] + len(buckets))
    return csr_matrix((np.concatenate(values), np.concatenate(indices), ends), shape=(len(runs), BUCKETS))


def train(texts: dict[str, list[str]], each: int) -> ShortLanguageModel:
    """Return a model that has learnt from the texts of each language."""
    runs = [word_runs(texts[lang], each, seed) for seed, lang in enumerate(LANGUAGES)]
    labels = np.repeat(np.arange(len(LANGUAGES)), each)
    learnt = LogisticRegression(C=30, max_iter=150).fit(features([run for part in runs for run in part]), labels)
    half = learnt.coef_[0] / 2  # of two languages scikit-learn keeps the difference
    bias = float(learnt.intercept_[0]) / 2
    return ShortLanguageModel(LANGUAGES, np.stack([-half, half], axis=1).astype(np.float32), np.array([-bias, bias]))


def measure(model: ShortLanguageModel, texts: list[str], lang: str) -> None:
    """Print how often short posts are read by the detector of their language, by the number of words."""
    for count in range(1, SHORT):
        posts = sorted({text for text in texts if len(words_of(text)) == count and is_short(words_of(text))})
        if not posts:
            continue
        ours = [(model.language(words_of(text)) or FALLBACK) == lang for text in posts]
        theirs = [
            (found if found in LANGUAGES and share >= OTHERS_SURE else FALLBACK) == lang
            for found, share in detect_many(posts)
        ]
        print(f"  {lang}, {count} words, n = {len(posts)}: {np.mean(theirs):.3f} → {np.mean(ours):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--each", type=int, default=EACH)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    readers = {"de": (gmhp7k, germeval, gahd), "en": (edos, unlabelled, dynahate, hatemojibuild)}
    texts = {
        reader.__name__: [_PLACEHOLDER.sub(" ", post.text) for post in reader(args.data)][:160_000]
        for of_lang in readers.values()
        for reader in of_lang
    }
    for held in (("gahd", "dynahate", "hatemojibuild"), ("gmhp7k", "edos")):
        print("held out:", ", ".join(held))
        learnt = {
            lang: [text for reader in of_lang if reader.__name__ not in held for text in texts[reader.__name__]]
            for lang, of_lang in readers.items()
        }
        model = train(learnt, args.each)
        for lang, of_lang in readers.items():
            measure(model, [t for reader in of_lang if reader.__name__ in held for t in texts[reader.__name__]], lang)
    if args.write:
        everything = {
            lang: [t for reader in of_lang for t in texts[reader.__name__]] for lang, of_lang in readers.items()
        }
        train(everything, args.each).save(Path(short.__file__).with_name(short.FILE))


if __name__ == "__main__":
    main()
