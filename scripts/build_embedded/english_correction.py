"""The correction of an English network for plain sentences about people (`correction.py` says how it works).

    python english_correction.py --data DIR --folder DIR [--before DIR] [--cache DIR] [--share 0.3] [--write]

The folder's network has no correction yet. Learns from `english_sentences.py` and keeps calm on training posts of the
corpora and on Reddit's. Prints what a correction says of patterns that it never saw, and how dev changes, also beside
the folder that it is to replace (`--before`). With `--write` it goes into the folder's graph; teach its screen and exit
again then (`screen_again.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from corpora import Post, labelled, unlabelled
from correction import (
    PersonEmphasis,
    Recipe,
    about_one_person,
    corrected,
    held_out,
    insert,
    judged,
    learn,
    read,
    thresholds,
)
from english_sentences import EACH_PERSON, insulting_words, patterns, sentences
from job import macro_f1

from davy.detectors import folder as folders

QUESTIONS = ("hate", "offensive", "sexist")
DEV = {
    "hate, R1–4": ("dynahate", "hate"),
    "hate, R5–7": ("hatemojibuild", "hate"),
    "sexist, EDOS A": ("edos", "sexist"),
    "offensive": ("davidson", "offensive"),
}
MOST = {"dynahate": 26_000, "hatemojibuild": 4728, "edos": 9000, "davidson": 3000, "founta2018": 2000,
        "kennedy2020": 3000, "guest": 1000, "gender": 3000, "top": 4000}  # fmt: skip
"""How many posts of each kind the correction must leave alone."""
WITH_EMOJI = 4
"""Posts of rounds 5–7 count so often: no pattern has emoji, so nothing is to change there."""
RECIPE = Recipe(epochs=12, rate=1e-2, calm=7.5, keeps_odds=True, rate_falls=True, sentences=256)
"""Chosen on dev and on held-out patterns: docs/runs/embedded-en.md."""
ONE_PERSON = PersonEmphasis(sentences=15, counts={"insult": 3.0, "threat": 3.0, "harmless": 2.0}, eased=0.12)
BENCHMARK = 100_000
"""Reddit's last posts are left to benchmarks."""


def vector_of(folder: Path) -> str:
    """Return the name of what the last layer of a network that Davy wrote reads."""
    return next(
        node.input[0] for node in reversed(onnx.load(folder / "model.onnx").graph.node) if node.op_type == "Gemm"
    )


def kept_calm(data: Path, share: float) -> tuple[list[str], np.ndarray]:
    """Return training posts and Reddit's whose answers are to stay, and how often each counts."""
    posts = [post for post in labelled(data) if post.part == "train"] + unlabelled(data)[:-BENCHMARK]
    rng, found, times = np.random.default_rng(3), [], []
    for corpus, most in MOST.items():
        some = [post.text for post in posts if post.corpus == corpus]
        drawn = rng.choice(len(some), min(int(most * share), len(some)), replace=False)
        found += [some[i] for i in drawn]
        times += [WITH_EMOJI if corpus == "hatemojibuild" else 1] * len(drawn)
    return found, np.array(times)


def read_once(folder: Path, texts: list[str], cache: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors and log odds, from the cache where they are there: a large network takes minutes."""
    digest = hashlib.sha256("\0".join([folders.read(folder).version, *texts]).encode()).hexdigest()[:16]
    path = cache / f"vectors-{digest}.npz" if cache else None
    if path and path.is_file():
        held = np.load(path)
        return held["vectors"], held["odds"]
    vectors, odds = read(folder, vector_of(folder), QUESTIONS, texts)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, vectors=vectors, odds=odds)
    return vectors, odds


def dev_change(posts: list[Post], before: np.ndarray, after: np.ndarray, cut: np.ndarray) -> dict:
    """Return macro-F1 on dev before and after, each head alone, and the share of answers that stay."""
    found = {}
    for title, (corpus, question) in DEV.items():
        rows, column = [i for i, post in enumerate(posts) if post.corpus == corpus], QUESTIONS.index(question)
        gold = np.array([posts[i].answers[question][0] for i in rows])
        said = [(odds[rows, column] >= cut[column]).astype(int) for odds in (before, after)]
        f1 = [round(macro_f1(gold, it), 4) for it in said]
        found[title] = {"before": f1[0], "after": f1[1], "unchanged": round(float((said[0] == said[1]).mean()), 4)}
    same = [(before[:, k] >= cut[k]) == (after[:, k] >= cut[k]) for k in range(len(QUESTIONS))]
    found["unchanged"] = {name: round(float(it.mean()), 4) for name, it in zip(QUESTIONS, same, strict=True)}
    return found


def main() -> None:
    """Judge the correction on held-out patterns and on dev; with --write, put it into the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--folder"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="how much of sentences and posts a slow network reads")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    temperatures, cut = thresholds(folders.read(args.folder), QUESTIONS)
    rng = np.random.default_rng(0)
    posts = [post for post in sentences() if rng.random() < args.share]
    dev = [post for post in labelled(args.data) if post.part == "dev" and post.corpus in dict(DEV.values())]
    gold = np.array([[post.answers[name][0] for name in QUESTIONS] for post in posts])
    heading = {pattern: name for name, lines in patterns().items() for pattern in lines}
    kinds = np.array([heading[post.key] for post in posts])
    group = np.unique([post.key for post in posts], return_inverse=True)[1]
    plain = (
        *read_once(args.folder, [post.text for post in posts], args.cache),
        gold,
        *ONE_PERSON.weigh(kinds, group, QUESTIONS, args.share),
    )
    texts, times = kept_calm(args.data, args.share)
    other = read_once(args.folder, texts, args.cache)
    hold = ONE_PERSON.held(texts, insulting_words(), other[1], cut, QUESTIONS)
    other = tuple(np.repeat(it, times, axis=0) for it in (*other, hold))
    # As many steps, however many texts there are.
    recipe = replace(RECIPE, epochs=round(RECIPE.epochs / args.share))
    after, _ = held_out(plain, other, temperatures, group, rng, recipe)
    whole = learn(plain, other, temperatures, recipe)
    there = np.flatnonzero(~np.isin(kinds, list(EACH_PERSON)))
    record = {
        name: judged(gold[there, k], cut[k], group[there], plain[1][there, k], after[there, k])
        for k, name in enumerate(QUESTIONS)
    }
    texts_dev = [post.text for post in dev]
    vectors, odds = read_once(args.folder, texts_dev, args.cache)
    new = corrected(whole, vectors, odds)
    found = {"sentences": len(posts), "patterns": int(group.max() + 1), "others": len(texts), "held out": record,
             "held out, about one person": about_one_person(
                 kinds, group, cut, {"before": plain[1], "after": after}, QUESTIONS),
             "dev": dev_change(dev, odds, new, cut)}  # fmt: skip
    if args.before:
        found["dev, beside --before"] = dev_change(dev, read_once(args.before, texts_dev, args.cache)[1], new, cut)
    if args.write:
        found["version"] = insert(args.folder, vector_of(args.folder), QUESTIONS, whole)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
