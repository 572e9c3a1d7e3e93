"""Offence in each corpus, as detectors see it that may have learnt from it, beside a bag of words that has not.

    python leave_one_out.py --data DIR --cache DIR --out FILE.json [--model NAME|FOLDER …] [--said FILE=NAME …]

Each corpus with a label of offence is judged apart: AUROC, and macro-F1 at the detector's own threshold, with 95 %
bootstrap intervals. Whether a detector learnt from a corpus says its index (`learnt.npy`). The bag of words learns from
the other corpora of its language; its threshold is the best one there. `--said` gives what networks of `learn_on.py`
said of a corpus that they never saw (`said-….npz`); their threshold is 0.5.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
from corpora import Post, binary, davidson
from german import gahd, germeval, gmhp7k
from learn_on_posts import auroc, balanced, macro_f1
from offence import germeval2021, offensive_of, olid

from davy.detectors.load import load

sys.path.insert(0, str(Path(__file__).parents[1]))
from detector_scores import score_texts

MOST = 4000
"""How many posts of a corpus are judged; a large detector reads fewer (`MOST_LARGE`)."""
MOST_LARGE = 1500
GRID = np.round(np.arange(0.05, 0.96, 0.01), 2)
LANGUAGE = {"olid": "en", "davidson": "en", "founta2018": "en", "kennedy2020": "en",
            "germeval": "de", "germeval2021": "de", "gmhp7k": "de", "gahd": "de"}  # fmt: skip
MEAN = {"en": ("olid", "davidson", "founta2018", "kennedy2020"), "de": ("germeval", "germeval2021")}
"""Which corpora the mean is over. GMHP7k and GAHD ask for hate, not for offence: they stand beside."""


def corpora(data: Path) -> dict[str, list[Post]]:
    """Return every corpus with a label of offence, or of hate where that is the nearest."""
    english = {"olid": olid(data), "davidson": davidson(data), "founta2018": binary(data, "founta2018", "aux.founta"),
               "kennedy2020": binary(data, "kennedy2020", "aux.kennedy")}  # fmt: skip
    german = {
        "germeval": germeval(data),
        "germeval2021": germeval2021(data),
        "gmhp7k": gmhp7k(data),
        "gahd": gahd(data),
    }
    return english | german


def gold_of(post: Post) -> int:
    """Return whether a post is offensive; where a corpus asks for hate alone, whether it is hateful."""
    found = offensive_of(post)
    return max(found, 0)


def drawn(posts: list[Post], most: int) -> list[Post]:
    """Return so many posts, the same each time."""
    rng = np.random.default_rng(9)
    return [posts[i] for i in sorted(rng.choice(len(posts), min(most, len(posts)), replace=False))]


def interval(gold: np.ndarray, score: np.ndarray, cut: float, draws: int = 500) -> dict[str, list[float]]:
    """Return AUROC and macro-F1 at a threshold, each with the middle 95 % of bootstrap samples."""
    rng = np.random.default_rng(11)
    rows = [rng.integers(0, len(gold), len(gold)) for _ in range(draws)]
    found = {}
    for name, measure in {
        "auroc": lambda g, s: auroc(g, s),
        "macro_f1": lambda g, s: macro_f1(g, (s >= cut).astype(int)),
    }.items():
        low, high = np.percentile([measure(gold[its], score[its]) for its in rows], [2.5, 97.5])
        found[name] = [round(float(it), 4) for it in (measure(gold, score), low, high)]
    return found


def best_cut(parts: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the threshold with the best mean of the parts' macro-F1."""
    means = [np.mean([macro_f1(gold, (score >= cut).astype(int)) for gold, score in parts]) for cut in GRID]
    return float(GRID[int(np.argmax(np.convolve(np.pad(means, 2, mode="edge"), np.ones(5) / 5, mode="valid")))])


def bag_of_words(every: dict[str, list[Post]], left: str) -> dict:
    """Return the figures of a bag of words on one corpus, learnt from the others of its language."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    others = [name for name in every if name != left and LANGUAGE[name] == LANGUAGE[left]]
    posts = [post for name in others for post in drawn(every[name], 3 * MOST)]
    gold = np.array([gold_of(post) for post in posts])
    weight = balanced(np.array([post.corpus for post in posts]), gold)
    reader = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    matrix = reader.fit_transform([post.text for post in posts])
    apart = np.arange(len(posts)) % 5 == 0
    model = LogisticRegression(C=5, max_iter=300).fit(matrix[~apart], gold[~apart], sample_weight=weight[~apart])
    chance = model.predict_proba(matrix[apart])[:, 1]
    named = np.array([post.corpus for post in posts])[apart]
    cut = best_cut([(gold[apart][named == name], chance[named == name]) for name in np.unique(named)])
    mine = drawn(every[left], MOST)
    score = model.predict_proba(reader.transform([post.text for post in mine]))[:, 1]
    truth = np.array([gold_of(post) for post in mine])
    return {**interval(truth, score, cut), "n": len(mine), "threshold": cut, "learnt": "the other corpora"}


def judged(name: str, every: dict[str, list[Post]], cache: Path) -> dict[str, dict]:
    """Return a detector's figures on each corpus of its languages."""
    scorer = load(name)
    languages = scorer.abilities.languages or ("en", "de")
    index = scorer.abilities.learnt
    found = {}
    for corpus, posts in every.items():
        if LANGUAGE[corpus] not in languages:
            continue
        mine = drawn(posts, MOST_LARGE if "large" in name else MOST)
        texts = [post.text for post in mine]
        chance = score_texts(scorer, texts, cache).yes("offensive")
        cut = float(scorer.score(pl.DataFrame({"text": texts[:1]})).thresholds.get("offensive", 0.5))
        gold = np.array([gold_of(post) for post in mine])
        known = "" if index is None else f"{float(np.mean(index(texts))):.3f}"
        found[corpus] = {**interval(gold, chance, cut), "n": len(mine), "threshold": cut, "learnt": known,
                         "version": scorer.version}  # fmt: skip
    return found


def left_out(files: list[Path]) -> dict[str, dict]:
    """Return the figures, at 0.5, of networks that never saw a corpus."""
    found = {}
    for path in files:
        held, corpus = np.load(path), path.stem.split("-")[-1]
        its = (held["corpus"] == corpus) & (held["gold"] >= 0)
        gold, score = held["gold"][its], held["of offensive"][its][:, 1]
        if len(np.unique(gold)) > 1:
            found[corpus] = {**interval(gold, score, 0.5), "n": len(gold), "threshold": 0.5, "learnt": "not"}
    return found


def table(record: dict[str, dict[str, dict]]) -> str:
    """Return a Markdown table: a row a corpus and detector."""
    lines = ["| corpus | detector | learnt from it | AUROC | macro-F1 | threshold | n |", "|" + " --- |" * 7]
    for name, figures in record.items():
        for corpus, it in figures.items():
            cells = [f"{it[key][0]:.3f} [{it[key][1]:.3f}, {it[key][2]:.3f}]" for key in ("auroc", "macro_f1")]
            lines.append(
                f"| {corpus} | {name} | {it['learnt']} | {' | '.join(cells)} | {it['threshold']:.2f} | {it['n']:,} |"
            )
        for language, corpora_ in MEAN.items():
            there = [figures[it] for it in corpora_ if it in figures]
            if len(there) == len(corpora_):
                means = [f"{np.mean([it[key][0] for it in there]):.3f}" for key in ("auroc", "macro_f1")]
                lines.append(f"| **mean, {language}** | {name} | | {' | '.join(means)} | | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--cache", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--said", action="append", default=[], help="NAME=FOLDER/said-fresh-new-*.npz")
    parser.add_argument("--bag", action="store_true", help="the bag of words too")
    args = parser.parse_args()
    every = corpora(args.data)
    record: dict[str, dict[str, dict]] = json.loads(args.out.read_text()) if args.out.is_file() else {}
    for name in args.model:
        record[Path(name).name] = judged(name, every, args.cache)
    for given in args.said:
        name, _, pattern = given.partition("=")
        record[name] = left_out(sorted(Path(pattern).parent.glob(Path(pattern).name)))
    if args.bag:
        record["bag of words"] = {corpus: bag_of_words(every, corpus) for corpus in every}
    args.out.write_text(json.dumps(record, indent=1))
    print(table(record))


if __name__ == "__main__":
    main()
